public import CASStore

/// Who uses how much: one version.
public struct VersionUsage: Sendable, Hashable {
    /// The version.
    public var version: String
    /// Its files.
    public var files: Int
    /// What its tree shows.
    public var apparentBytes: Int64
    /// What retiring it would free.
    public var uniqueBytes: Int64
    /// What it shares with other versions, each object once.
    public var sharedBytes: Int64
}

/// A large object and where it is shown.
public struct LargestEntry: Sendable, Hashable {
    /// The object.
    public var object: LargeObject
    /// Where versions show it, as `version:path`.
    public var paths: [String]
}

extension VersionStore {
    /// What each version uses; all of them, newest first, or those named.
    /// - Throws: `.noVersion`.
    public func usage(of names: [String] = []) throws(StoreError) -> [VersionUsage] {
        let rows = try store.versionSizes()
        for name in names where !rows.contains(where: { $0.row.name == name }) {
            throw Self.noVersion(name)
        }
        return rows.filter { names.isEmpty || names.contains($0.row.name) }.map { row, distinct in
            VersionUsage(
                version: row.name, files: Int(row.fileCount), apparentBytes: row.byteCount,
                uniqueBytes: row.uniqueByteCount, sharedBytes: distinct - row.uniqueByteCount)
        }
    }

    /// The largest objects and where they are shown.
    public func largest(limit: Int) throws(StoreError) -> [LargestEntry] {
        let objects = try store.largestObjects(limit: limit)
        let wanted = Set(objects.filter { $0.references > 0 }.map(\.address))
        var paths: [ObjectID: [String]] = [:]
        if !wanted.isEmpty {
            for (row, _) in try store.versionRows() {
                guard let manifest = try readable(row.name) else { continue }
                for position in 0..<manifest.count {
                    let address = manifest.records[position].address
                    guard wanted.contains(address) else { continue }
                    paths[address, default: []].append("\(row.name):\(manifest.path(position))")
                }
            }
        }
        return objects.map { LargestEntry(object: $0, paths: paths[$0.address] ?? []) }
    }
}
