extension BidirectionalCollection {
    /// The part without the elements at both ends that are blank.
    package func trimmed(where isBlank: (Element) -> Bool) -> SubSequence {
        guard let first = firstIndex(where: { !isBlank($0) }),
            let last = lastIndex(where: { !isBlank($0) })
        else { return self[endIndex...] }
        return self[first...last]
    }
}
