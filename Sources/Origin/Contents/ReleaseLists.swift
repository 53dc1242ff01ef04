import HotPush

/// The files of many releases, as positions in a table.
///
/// A release shares most files with the one before it, so a list is held as its difference from a recent one, or
/// whole if it resembles none. 10,000 releases of 10,000 files would take 400 MB, and take 17 if one file in a
/// hundred is new. Belongs to one thread.
struct ReleaseLists {
    typealias Position = KeyTable.Position

    private struct Entry {
        /// The other list; `nil` if this one is held whole.
        var base: Int?
        var depth = 0
        let difference: Difference
        let others: [OriginKey]
    }

    private static let depthMax = 64
    /// A list is compared with at most this many others, which together have at most this many files.
    private static let recentCountMax = 4
    private static let recentFileCountMax = 1 << 20
    /// Shorter lists are held whole.
    private static let comparedCountMin = 32

    private var entries: [Entry] = []
    /// The newest last.
    private var recent: [(number: Int, positions: [Position])] = []

    var heldCount: Int {
        entries.reduce(recent.reduce(0) { $0 + $1.positions.count }) { $0 + $1.difference.count }
    }

    mutating func add(_ files: ListedFiles) -> Int {
        let number = entries.count
        let positions = files.positions
        guard positions.count >= Self.comparedCountMin else {
            entries.append(Entry(difference: .whole(positions), others: files.others))
            return number
        }
        var nearest: (place: Int, difference: Difference)?
        for place in recent.indices.reversed() {
            let most = nearest?.difference.count ?? positions.count / 2
            let base = recent[place].positions
            if let found = Difference(from: base, to: positions, countMax: most) {
                nearest = (place, found)
            }
        }
        if let nearest {
            // The next lists are compared with this one instead.
            let base = recent.remove(at: nearest.place).number
            entries.append(
                Entry(
                    base: base, depth: entries[base].depth + 1, difference: nearest.difference,
                    others: files.others))
        } else {
            entries.append(Entry(difference: .whole(positions), others: files.others))
        }
        guard entries[number].depth < Self.depthMax else { return number }
        recent.append((number, positions))
        while recent.count > 1, isTooMuchRecent { recent.removeFirst() }
        return number
    }

    private var isTooMuchRecent: Bool {
        recent.count > Self.recentCountMax
            || recent.reduce(0) { $0 + $1.positions.count } > Self.recentFileCountMax
    }

    /// In ascending order.
    func positions(_ number: Int) -> [Position] {
        guard let base = entries[number].base else { return entries[number].difference.added }
        return entries[number].difference.applied(to: positions(base))
    }

    func insert(_ numbers: Set<Int>, into set: inout KeySet) {
        for number in numbers {
            let entry = entries[number]
            let isCovered = entry.base.map(numbers.contains) ?? true
            set.insert(isCovered ? entry.difference.added : positions(number))
            set.insert(entry.others)
        }
    }
}

extension ReleaseLists {
    /// What each of two lists has and the other has not, in ascending order.
    fileprivate struct Difference {
        private(set) var added: [Position]
        private(set) var removed: [Position] = []

        var count: Int { added.count + removed.count }

        static func whole(_ positions: [Position]) -> Difference { Difference(added: positions) }

        private init(added: [Position]) { self.added = added }

        /// - Returns: `nil` if more than `countMax` files differ.
        init?(from base: [Position], to list: [Position], countMax: Int) {
            guard abs(base.count - list.count) <= countMax else { return nil }
            self.init(added: [])
            var (old, new) = (0, 0)
            while old < base.count || new < list.count {
                if new == list.count || old < base.count && base[old] < list[new] {
                    removed.append(base[old])
                    old += 1
                } else if old == base.count || list[new] < base[old] {
                    added.append(list[new])
                    new += 1
                } else {
                    (old, new) = (old + 1, new + 1)
                    continue
                }
                guard count <= countMax else { return nil }
            }
            // Copies drop the spare capacity.
            (added, removed) = (added.map { $0 }, removed.map { $0 })
        }

        func applied(to base: [Position]) -> [Position] {
            var list: [Position] = []
            list.reserveCapacity(base.count + added.count - removed.count)
            var (gone, new) = (0, 0)
            for position in base {
                while new < added.count, added[new] < position {
                    list.append(added[new])
                    new += 1
                }
                if gone < removed.count, removed[gone] == position {
                    gone += 1
                } else {
                    list.append(position)
                }
            }
            return list + added[new...]
        }
    }
}
