extension Range<Int> {
    /// The first position that `isFound` accepts, or the end; it accepts all after it and none
    /// before it.
    func firstPosition(where isFound: (Int) -> Bool) -> Int {
        var (low, high) = (lowerBound, upperBound)
        while low < high {
            let middle = (low + high) / 2
            if isFound(middle) { high = middle } else { low = middle + 1 }
        }
        return low
    }
}
