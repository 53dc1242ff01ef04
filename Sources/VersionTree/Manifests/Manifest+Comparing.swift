extension Manifest {
    /// What two manifests say of one path, by its positions in them.
    package enum Difference {
        /// Only the older one has it.
        case removed(Int)
        /// Only the newer one has it.
        case added(Int)
        /// Its content or its executable bit differs.
        case changed(from: Int, to: Int)
    }

    /// Calls `body` for each path of which an older manifest says something else, in the order of paths.
    ///
    /// Takes time by the number of entries, and no memory.
    package func forEachDifference(from old: Manifest, _ body: (Difference) -> Void) {
        var (left, right) = (0, 0)
        while left < old.count || right < count {
            let order = order(old, left, right)
            if order < 0 {
                body(.removed(left))
                left += 1
            } else if order > 0 {
                body(.added(right))
                right += 1
            } else {
                let (before, after) = (old.records[left], records[right])
                if before.address != after.address || before.isExecutable != after.isExecutable {
                    body(.changed(from: left, to: right))
                }
                left += 1
                right += 1
            }
        }
    }

    private func order(_ old: Manifest, _ left: Int, _ right: Int) -> Int {
        guard left < old.count else { return 1 }
        guard right < count else { return -1 }
        return old.withPath(left) { first in withPath(right) { first.compare($0) } }
    }

    /// Whether a path is that of a directory: files lie below it.
    package func hasFiles(below directory: TreePath) -> Bool {
        let prefix = Array("\(directory)/".utf8)
        var (low, high) = (0, count)
        while low < high {
            let middle = (low + high) / 2
            if withPath(middle, { $0.lexicographicallyPrecedes(prefix) }) {
                low = middle + 1
            } else {
                high = middle
            }
        }
        return low < count && withPath(low) { $0.starts(with: prefix) }
    }
}
