package import CASStore

/// The usage within one version of a directory with everything below it, or of a type of file.
package struct PathUsage: Sendable, Hashable {
    /// The directory's path, empty for the whole tree; or the extension in lower case, empty for files without one.
    package var name: String
    package var files = 0
    package var apparentBytes: Int64 = 0
    /// The part that no other version has, each object once.
    package var uniqueBytes: Int64 = 0
    /// The part that other versions have too, each object once.
    package var sharedBytes: Int64 = 0
    /// The part that is missing in the store, each object once.
    package var missingBytes: Int64 = 0
}

package enum PathGrouping: String, Sendable, CaseIterable {
    /// By directory, each with everything below it.
    case directory
    case type
}

extension VersionStore {
    /// The usage of the directories or file types of a version, largest first; costs what the version shows.
    ///
    /// An object that is shown in two directories counts once in each, and once in each directory above both.
    /// - Throws: `.noVersion`; `.badManifest`.
    package func usage(
        of name: String, by grouping: PathGrouping
    ) throws(StoreError) -> [PathUsage] {
        _ = try row(of: name)
        let manifest = try manifest(of: name)
        var order = (0..<UInt32(manifest.count)).map { $0 }
        Manifest.sortByAddress(&order, manifest.records)
        let distinct = Manifest.distinct(order, manifest.records)
        let referenceCounts = try store.referenceCounts(
            of: Manifest.references(distinct, of: manifest.records))
        var groups = PathGroups(manifest, grouping)
        var place = 0
        for (index, first) in distinct.enumerated() {
            let address = manifest.records[Int(first)].address
            while place < order.count, manifest.records[Int(order[place])].address == address {
                groups.add(
                    Int(order[place]), manifest.records[Int(first)].byteCount,
                    referenceCounts[index],
                    object: index)
                place += 1
            }
        }
        return groups.usages.sorted {
            $0.apparentBytes != $1.apparentBytes
                ? $0.apparentBytes > $1.apparentBytes
                : $0.name.utf8.lexicographicallyPrecedes($1.name.utf8)
        }
    }
}

private struct PathGroups {
    private(set) var usages: [PathUsage] = []
    /// A group's parent: the parent of its directory.
    private var above: [Int?] = []
    /// The object that was last counted for a group.
    private var counted: [Int] = []
    private var groups: [Int] = []

    init(_ manifest: Manifest, _ grouping: PathGrouping) {
        groups.reserveCapacity(manifest.count)
        switch grouping {
        case .directory: groupByDirectory(manifest)
        case .type: groupByType(manifest)
        }
    }

    /// Counts a file, and its object unless that is already counted.
    mutating func add(_ file: Int, _ bytes: Int64, _ references: UInt32, object: Int) {
        var next: Int? = groups[file]
        while let group = next {
            usages[group].files += 1
            usages[group].apparentBytes += bytes
            if counted[group] != object {
                counted[group] = object
                if references == 0 {
                    usages[group].missingBytes += bytes
                } else if references > 1 {
                    usages[group].sharedBytes += bytes
                } else {
                    usages[group].uniqueBytes += bytes
                }
            }
            next = above[group]
        }
    }

    private mutating func append(_ name: String, above group: Int?) -> Int {
        usages.append(PathUsage(name: name))
        above.append(group)
        counted.append(-1)
        return usages.count - 1
    }

    // By name, because in byte order "a!b" may come between the files of the directory "a".
    private mutating func groupByDirectory(_ manifest: Manifest) {
        var known: [[UInt8]: Int] = [[]: append("", above: nil)]
        for position in 0..<manifest.count {
            let group = manifest.withPath(position) { path in
                let end = path.lastIndex(of: 47) ?? 0
                return directory(Array(path[..<end]), &known)
            }
            groups.append(group)
        }
    }

    private mutating func directory(_ path: [UInt8], _ known: inout [[UInt8]: Int]) -> Int {
        if let group = known[path] { return group }
        let above = directory(Array(path[..<(path.lastIndex(of: 47) ?? 0)]), &known)
        let group = append(String(decoding: path, as: UTF8.self), above: above)
        known[path] = group
        return group
    }

    private mutating func groupByType(_ manifest: Manifest) {
        var known: [String: Int] = [:]
        for position in 0..<manifest.count {
            let type = manifest.withPath(position) { Self.type(of: $0) }
            groups.append(known[type] ?? append(type, above: nil))
            known[type] = groups[position]
        }
    }

    private static func type(of path: UnsafeBufferPointer<UInt8>) -> String {
        let name = path[((path.lastIndex(of: 47) ?? -1) + 1)...]
        guard let dot = name.lastIndex(of: 46), dot > name.startIndex, dot + 1 < name.endIndex
        else { return "" }
        return String(decoding: name[(dot + 1)...], as: UTF8.self).lowercased()
    }
}
