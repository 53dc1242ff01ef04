package import CASStore

/// The sizes of all files of several versions, in one tree of paths.
///
/// A leaf is a path with one content, shown by a set of versions, so the tree describes each version and all
/// together. Kept in columns, because there may be a hundred thousand leaves.
package struct UsageMap: Sendable {
    package struct Leaf: Sendable, Hashable {
        package var byteCount: Int64
        /// In bytes.
        package var diskByteCount: Int64
        /// The disk usage of its executable copy in the store, in bytes.
        package var copyByteCount: Int64
        /// How many versions of the whole store name the object; 0 if the object is missing.
        package var references: Int
        /// The position in ``UsageMap/versionSets`` of the versions that show it.
        package var versionSet: Int
        /// A number from 1 on for leaves that share an object, of which the first is its home; 0 if it is alone.
        package var object: Int
        /// How many files it represents: more than one if small files were merged.
        package var files = 1
    }

    package struct Node: Sendable, Hashable {
        /// The last component of its path; empty for the root and for merged small files.
        package var name: String
        /// How many of the following nodes are directly in it; 0 for a leaf.
        package var childCount: Int
    }

    /// Oldest first.
    package internal(set) var versions: [String] = []
    /// How many older versions are not in the map.
    package internal(set) var omittedVersionCount = 0
    /// The nodes in depth-first order; the first is the root.
    package internal(set) var nodes: [Node] = []
    /// The nodes without children, in their order.
    package internal(set) var leaves: [Leaf] = []
    /// Sets of positions in ``versions``, as ascending ranges.
    package internal(set) var versionSets: [[ClosedRange<Int>]] = []
    /// The file system's allocation unit, in bytes.
    package internal(set) var unit: Int64 = 1

    package init() {}
}

extension VersionStore {
    /// Makes the map of versions.
    /// - Parameters:
    ///   - names: the versions, newest first; each is read from its manifest.
    ///   - filesMax: the approximate limit of leaves, beyond which the smallest files of a directory are merged.
    ///   - entriesMax: how many entries are read at most; versions beyond that are left out.
    ///   - diskBytes: the disk usage of an object, if known; otherwise it is computed from the size.
    /// - Throws: `.noVersion`; `.badManifest`.
    package func map(
        of names: [String], filesMax: Int = 100_000, entriesMax: Int = 4_000_000,
        diskBytes: (ObjectID) -> (own: Int64, copy: Int64)? = { _ in nil }
    ) throws(StoreError) -> UsageMap {
        var taken: [String] = []
        var entryCount = 0
        for name in names {
            let row = try row(of: name)
            entryCount += Int(row.fileCount)
            if !taken.isEmpty, entryCount > entriesMax { break }
            taken.append(name)
        }
        taken.reverse()
        var contents = MapContents()
        for (place, name) in taken.enumerated() {
            contents.add(try manifest(of: name), version: place)
        }
        let order = contents.objectOrder()
        let referenceCounts = try store.referenceCounts(
            of: References(
                count: order.count, position: { Int(order[$0].first) },
                element: { [leaves = contents.leaves] place in
                    let leaf = leaves[Int(order[place].first)]
                    return Reference(address: leaf.address, byteCount: leaf.byteCount)
                }))
        let unit = try store.allocationUnit()
        contents.note(referenceCounts, in: order) {
            diskBytes($0) ?? (unit.diskBytes($1), 0)
        }
        contents.fold(toAbout: filesMax)
        var map = contents.map()
        map.versions = taken
        map.unit = unit.byteCount
        map.omittedVersionCount = names.count - taken.count
        return map
    }
}
