import CASStore

/// The contents of a map while manifests are read: each path with each content that it has had.
struct MapContents {
    struct Leaf {
        var pathStart: UInt32
        var pathLength: UInt16
        var address: ObjectID
        var byteCount: Int64
        var diskByteCount: Int64 = 0
        var copyByteCount: Int64 = 0
        /// The last run of versions that show it, and where the earlier runs are kept.
        var first: UInt32
        var last: UInt32
        var olderRuns: Int32 = -1
        var references: UInt32 = 0
        var object: UInt32 = 0
        var files: UInt32 = 1
    }

    // A path as a keyed hash of its bytes, a content as the beginning of its address: an attacker who makes two
    // collide merely has one rectangle drawn for two files.
    private struct Key: Hashable {
        var path: Int
        var content: UInt64
    }

    private(set) var leaves: [Leaf] = []
    private var paths: [UInt8] = []
    private var known: [Key: UInt32] = [:]
    private var olderRuns: [[ClosedRange<Int>]] = []

    /// Adds the entries of a version; versions come in ascending order.
    mutating func add(_ manifest: Manifest, version: Int) {
        for position in 0..<manifest.count {
            let record = manifest.records[position]
            manifest.withPath(position) { path in
                var hasher = Hasher()
                hasher.combine(bytes: UnsafeRawBufferPointer(path))
                let key = Key(path: hasher.finalize(), content: record.address.w0)
                if let place = known[key] {
                    extend(Int(place), to: UInt32(version))
                    return
                }
                known[key] = UInt32(leaves.count)
                leaves.append(
                    Leaf(
                        pathStart: UInt32(paths.count), pathLength: UInt16(path.count),
                        address: record.address, byteCount: record.byteCount,
                        first: UInt32(version), last: UInt32(version)))
                paths.append(contentsOf: path)
            }
        }
    }

    private mutating func extend(_ place: Int, to version: UInt32) {
        let leaf = leaves[place]
        leaves[place].last = version
        guard leaf.last + 1 < version else { return }
        leaves[place].first = version
        let run = Int(leaf.first)...Int(leaf.last)
        if leaf.olderRuns < 0 {
            leaves[place].olderRuns = Int32(olderRuns.count)
            olderRuns.append([run])
        } else {
            olderRuns[Int(leaf.olderRuns)].append(run)
        }
    }

    func versions(of leaf: Leaf) -> [ClosedRange<Int>] {
        let older = leaf.olderRuns < 0 ? [] : olderRuns[Int(leaf.olderRuns)]
        return older + [Int(leaf.first)...Int(leaf.last)]
    }

    func withPath<R>(of leaf: Leaf, _ body: (UnsafeBufferPointer<UInt8>) -> R) -> R {
        paths.withUnsafeBufferPointer {
            body($0.path(at: leaf.pathStart, length: leaf.pathLength))
        }
    }

    // MARK: Objects

    /// The distinct objects sorted by address, each with its first leaf and the number of its leaves.
    mutating func objectOrder() -> [(first: UInt32, count: Int)] {
        known = [:]
        sortByPath()
        let order = (0..<UInt32(leaves.count)).sorted {
            let (left, right) = (leaves[Int($0)].address, leaves[Int($1)].address)
            return left == right ? $0 < $1 : left < right
        }
        var result: [(first: UInt32, count: Int)] = []
        var number: UInt32 = 0
        for place in order {
            let isNext =
                result.last.map { leaves[Int($0.first)].address != leaves[Int(place)].address }
                ?? true
            if isNext {
                result.append((place, 1))
                continue
            }
            let first = Int(result[result.count - 1].first)
            if leaves[first].object == 0 {
                number += 1
                leaves[first].object = number
            }
            leaves[Int(place)].object = leaves[first].object
            result[result.count - 1].count += 1
        }
        return result
    }

    /// Notes how many versions name each object, and its disk usage.
    mutating func note(
        _ referenceCounts: [UInt32], in order: [(first: UInt32, count: Int)],
        diskBytes: (ObjectID, Int64) -> (own: Int64, copy: Int64)
    ) {
        // The first leaf of each object that has several.
        var ofShared: [UInt32: Leaf] = [:]
        for (place, object) in order.enumerated() {
            let first = Int(object.first)
            leaves[first].references = referenceCounts[place]
            (leaves[first].diskByteCount, leaves[first].copyByteCount) = diskBytes(
                leaves[first].address, leaves[first].byteCount)
            if object.count > 1 { ofShared[leaves[first].object] = leaves[first] }
        }
        for place in leaves.indices where leaves[place].object != 0 {
            guard let known = ofShared[leaves[place].object] else { continue }
            leaves[place].references = known.references
            leaves[place].diskByteCount = known.diskByteCount
            leaves[place].copyByteCount = known.copyByteCount
        }
    }

    /// By path, and within a path the newest content first.
    private mutating func sortByPath() {
        paths.withUnsafeBufferPointer { bytes in
            leaves.sort { left, right in
                let order = bytes.path(at: left.pathStart, length: left.pathLength).compare(
                    bytes.path(at: right.pathStart, length: right.pathLength))
                return order == 0 ? left.last > right.last : order < 0
            }
        }
    }

    // MARK: Merging small files

    /// Merges the smallest files of each directory that the same versions show.
    mutating func fold(toAbout filesMax: Int) {
        guard leaves.count > filesMax else { return }
        let sizes = leaves.map(\.byteCount).sorted(by: >)
        let least = sizes[filesMax]
        struct Pile: Hashable {
            var directory: [UInt8]
            var versions: [ClosedRange<Int>]
            var references: UInt32
        }
        var piles: [Pile: Int] = [:]
        var kept: [Leaf] = []
        var homes: Set<UInt32> = []
        for var leaf in leaves {
            let isHome = leaf.object == 0 || homes.insert(leaf.object).inserted
            guard leaf.byteCount <= least else {
                kept.append(leaf)
                continue
            }
            // Content that is also shown elsewhere counts only where it is first.
            if !isHome { (leaf.byteCount, leaf.diskByteCount, leaf.copyByteCount) = (0, 0, 0) }
            leaf.object = 0
            let directory = withPath(of: leaf) { path in
                Array(path[..<(path.lastIndex(of: 47).map { $0 + 1 } ?? 0)])
            }
            let pile = Pile(
                directory: directory, versions: versions(of: leaf), references: leaf.references)
            if let place = piles[pile] {
                // A missing object may claim any size.
                kept[place].byteCount = kept[place].byteCount.addingClamped(leaf.byteCount)
                kept[place].diskByteCount =
                    kept[place].diskByteCount.addingClamped(leaf.diskByteCount)
                kept[place].copyByteCount += leaf.copyByteCount
                kept[place].files += 1
            } else {
                piles[pile] = kept.count
                leaf.pathLength = UInt16(directory.count)
                kept.append(leaf)
            }
        }
        leaves = kept
        sortByPath()
    }
}

extension MapContents {
    func map() -> UsageMap {
        var map = UsageMap()
        var sets: [[ClosedRange<Int>]: Int] = [:]
        let tree = directories()
        map.nodes.reserveCapacity(leaves.count + tree.count)
        map.leaves.reserveCapacity(leaves.count)
        // Depth first, with a stack of what is still to come: paths are at most 128 deep.
        func visit(_ place: Int) {
            let directory = tree[place]
            map.nodes.append(
                UsageMap.Node(
                    name: directory.name, childCount: directory.inner.count + directory.files.count
                ))
            for inner in directory.inner { visit(inner) }
            for file in directory.files {
                let leaf = leaves[file]
                let versions = versions(of: leaf)
                let set = sets[versions] ?? map.versionSets.count
                if set == map.versionSets.count {
                    sets[versions] = set
                    map.versionSets.append(versions)
                }
                map.nodes.append(UsageMap.Node(name: name(of: leaf), childCount: 0))
                map.leaves.append(
                    UsageMap.Leaf(
                        byteCount: leaf.byteCount, diskByteCount: leaf.diskByteCount,
                        copyByteCount: leaf.copyByteCount,
                        references: Int(leaf.references),
                        versionSet: set, object: Int(leaf.object), files: Int(leaf.files)))
            }
        }
        visit(0)
        return map
    }

    private struct Directory {
        var name: String
        var inner: [Int] = []
        var files: [Int] = []
    }

    private func name(of leaf: Leaf) -> String {
        withPath(of: leaf) { path in
            let start = path.lastIndex(of: 47).map { $0 + 1 } ?? 0
            return String(decoding: path[start...], as: UTF8.self)
        }
    }

    /// The directories with their direct content; the first is the root.
    private func directories() -> [Directory] {
        var result = [Directory(name: "")]
        var known: [[UInt8]: Int] = [[]: 0]
        func place(_ path: [UInt8]) -> Int {
            if let there = known[path] { return there }
            let slash = path.lastIndex(of: 47)
            let above = place(Array(path[..<(slash ?? 0)]))
            let made = result.count
            result.append(
                Directory(
                    name: String(
                        decoding: path[(slash.map { $0 + 1 } ?? 0)...], as: UTF8.self)))
            result[above].inner.append(made)
            known[path] = made
            return made
        }
        var last: [UInt8] = []
        var lastPlace = 0
        for (file, leaf) in leaves.enumerated() {
            let directory = withPath(of: leaf) { Array($0[..<($0.lastIndex(of: 47) ?? 0)]) }
            if directory != last {
                last = directory
                lastPlace = place(directory)
            }
            result[lastPlace].files.append(file)
        }
        return result
    }
}
