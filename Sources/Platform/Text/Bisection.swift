extension RandomAccessCollection where Index == Int {
    /// The position of the first element that does not come before what is looked for; the end if all do.
    ///
    /// - Parameter isBefore: true for the elements up to some position, false from there on.
    package func firstPosition(unless isBefore: (Element) -> Bool) -> Int {
        var (low, high) = (startIndex, endIndex)
        while low < high {
            let middle = low + (high - low) / 2
            if isBefore(self[middle]) { low = middle + 1 } else { high = middle }
        }
        return low
    }
}
