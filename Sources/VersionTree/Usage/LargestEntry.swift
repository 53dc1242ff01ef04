package import CASStore

/// A large object and the places where it is shown.
package struct LargestEntry: Sendable, Hashable {
    package var object: LargeObject
    /// Where versions show it, as `version:path`, newest version first.
    package var paths: [String]
    package var arePathsComplete: Bool
}

extension VersionStore {
    /// The largest objects and the places where they are shown.
    ///
    /// Beyond the allowed number of entries, reads only manifests that name an object without a path so far.
    func entries(
        for objects: [LargeObject], entriesReadMax: Int
    ) throws(StoreError) -> [LargestEntry] {
        // For each object, how many versions that name it are still to be found.
        var wanted: [ObjectID: Int] = [:]
        for object in objects where object.references > 0 {
            wanted[object.address] = object.references
        }
        var paths: [ObjectID: [String]] = [:]
        var incomplete: Set<ObjectID> = []
        var entriesRead = 0
        if !wanted.isEmpty {
            for (row, named) in try store.naming(Array(wanted.keys)) {
                let isAllowed = entriesRead + Int(row.fileCount) <= entriesReadMax
                guard isAllowed || named.contains(where: { paths[$0] == nil }) else {
                    incomplete.formUnion(named)
                    continue
                }
                guard let manifest = try readable(row.name) else { continue }
                entriesRead += manifest.count
                for position in 0..<manifest.count {
                    let address = manifest.records[position].address
                    guard wanted[address] != nil else { continue }
                    paths[address, default: []].append("\(row.name):\(manifest.path(position))")
                }
            }
        }
        return objects.map {
            LargestEntry(
                object: $0, paths: paths[$0.address] ?? [],
                arePathsComplete: !incomplete.contains($0.address))
        }
    }
}
