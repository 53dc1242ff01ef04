import CASStore

/// How many files, and their bytes.
package struct FileFigures: Sendable, Hashable {
    package var count = 0
    package var byteCount: Int64 = 0

    /// None.
    package init() {}

    /// Counts one more.
    mutating func add(_ byteCount: Int64) {
        count += 1
        self.byteCount = self.byteCount.addingClamped(byteCount)
    }

    /// Counts those of both.
    package static func + (left: FileFigures, right: FileFigures) -> FileFigures {
        var sum = left
        sum.count += right.count
        sum.byteCount = sum.byteCount.addingClamped(right.byteCount)
        return sum
    }
}
