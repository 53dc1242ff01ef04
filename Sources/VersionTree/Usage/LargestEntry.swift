package import CASStore

/// A large object and where it is shown.
package struct LargestEntry: Sendable, Hashable {
    /// The object.
    package var object: LargeObject
    /// Where versions show it, as `version:path`, newest version first.
    package var paths: [String]
    /// Whether these are all.
    package var arePathsComplete: Bool
}

extension VersionStore {
    /// The largest objects and where they are shown.
    ///
    /// Manifests are read newest first until as many entries were read as allowed; from then on only
    /// those that tell of an object which has no path yet. Damaged manifests show nothing.
    package func largest(
        limit: Int, entriesReadMax: Int = .max
    ) throws(StoreError) -> [LargestEntry] {
        try entries(for: store.largestObjects(limit: limit), entriesReadMax: entriesReadMax)
    }

    /// Where objects are shown, as ``largest(limit:entriesReadMax:)`` looks for it.
    func entries(
        for objects: [LargeObject], entriesReadMax: Int
    ) throws(StoreError) -> [LargestEntry] {
        // How many versions are still to be found that name an object.
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
