extension Range<Int> {
    /// The first of these positions that is found, or the end; behind it all are, before it none is.
    func firstPosition(where isFound: (Int) -> Bool) -> Int {
        var (low, high) = (lowerBound, upperBound)
        while low < high {
            let middle = (low + high) / 2
            if isFound(middle) { high = middle } else { low = middle + 1 }
        }
        return low
    }
}
