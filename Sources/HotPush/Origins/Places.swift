/// In which epochs the objects of a manifest stand, where many machines publish to one origin.
///
/// A value: for each object, by its number (the rank of its address among the distinct addresses of the manifest's
/// entries, sorted), the epoch in which it was written. Immutable as a file, and named by the SHA-256 of its bytes:
/// `e/<epoch>/places/<address>.json`. A release without one has all its objects in its own epoch.
package struct Places: Sendable, Hashable {
    /// The version of the format.
    static let formatVersion: Int64 = 1
    /// The largest file, in bytes.
    package static let byteCountMax: Int64 = 4 << 20
    /// How deep its text may nest.
    static let depthMax = 8

    /// The epoch of each run of neighbours; two runs in a row have different ones.
    private(set) var epochs: [Int64] = []
    /// The number after the last object of each run.
    private(set) var ends: [Int] = []

    /// Makes places of objects in the order of their numbers.
    /// - Parameter epochs: for each object the epoch in which it stands.
    package init(_ epochs: some Sequence<Int64>) {
        for epoch in epochs { append(1, in: epoch) }
    }

    /// No objects.
    init() {}

    /// Adds objects that follow those before.
    mutating func append(_ count: Int, in epoch: Int64) {
        let end = self.count + count
        if epochs.last == epoch {
            ends[ends.count - 1] = end
        } else {
            epochs.append(epoch)
            ends.append(end)
        }
    }

    /// How many objects there are.
    package var count: Int { ends.last ?? 0 }

    /// The epoch of an object.
    /// - Parameter number: less than ``count``.
    package func epoch(of number: Int) -> Int64 {
        var (low, high) = (0, ends.count)
        while low < high {
            let middle = (low + high) / 2
            if ends[middle] <= number { low = middle + 1 } else { high = middle }
        }
        return epochs[low]
    }

    /// Whether a release of that epoch needs them: some object stands in another one.
    package func areNeeded(in epoch: Int64) -> Bool { epochs.contains { $0 != epoch } }
}
