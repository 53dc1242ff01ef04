extension RandomAccessCollection where Index == Int {
    /// The position of the first element for which `isBefore` is false; the end if there is none.
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
