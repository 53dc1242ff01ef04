import CASStore

extension MapContents {
    /// The tree of the leaves, which are sorted by path.
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

    /// The directories with what is directly in them; the first is the root.
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
