/// How a file system rounds: what files of a size take on it, where nobody looks at the files themselves.
package struct AllocationUnit: Sendable, Hashable {
    /// The unit, in bytes.
    package let byteCount: Int64

    /// - Parameter unit: as the file system tells it. What is larger than any file system's clusters is the size in
    ///   which a network sends.
    init(_ unit: Int64) { byteCount = (512...(1 << 17)).contains(unit) ? unit : 4096 }

    /// What a file of so many bytes takes; of sizes that nobody has, the largest number.
    package func diskBytes(_ bytes: Int64) -> Int64 {
        let units = bytes / byteCount + (bytes % byteCount > 0 ? 1 : 0)
        let (product, isTooLarge) = units.multipliedReportingOverflow(by: byteCount)
        return isTooLarge ? .max : product
    }
}

extension Store {
    /// How the store's file system rounds.
    package func allocationUnit() throws(StoreError) -> AllocationUnit {
        AllocationUnit(try fileSystem.freeSpace(directories.root.raw).unit)
    }
}

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
