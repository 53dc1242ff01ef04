extension Int64 {
    /// The sum, or the largest number if it has more than 63 bits.
    ///
    /// For sizes that several manifests claim: each is bounded on its own, their sum is not, and no
    /// publisher may end a program by a claim.
    package func addingClamped(_ other: Int64) -> Int64 {
        let (sum, isTooLarge) = addingReportingOverflow(other)
        return isTooLarge ? .max : sum
    }
}
