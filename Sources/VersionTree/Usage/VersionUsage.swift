package import CASStore

/// Who uses how much: one version.
package struct VersionUsage: Sendable, Hashable {
    package var version: String
    /// When it was registered, in seconds since 1970.
    package var createdAt: Int64
    package var files: Int
    /// What its tree shows: the sum of the sizes of its files.
    package var apparentBytes: Int64
    /// What retiring it would free.
    package var uniqueBytes: Int64
    /// What it shares with other versions, each object once.
    package var sharedBytes: Int64
    /// What it names and the store lacks, each object once.
    package var missingBytes: Int64
    /// What it takes on disk; `nil` if nobody looked.
    package var disk: DiskShare?

    init(_ row: VersionRow, present: Int64, missing: Int64, disk: DiskShare?) {
        version = row.name
        createdAt = row.createdAt
        files = Int(row.fileCount)
        apparentBytes = row.byteCount
        uniqueBytes = row.uniqueByteCount
        sharedBytes = present - row.uniqueByteCount
        missingBytes = missing
        self.disk = disk
    }
}

extension VersionStore {
    /// What each version uses; all of them, newest first, or the named ones.
    ///
    /// Named versions cost what they show; all of them cost one pass over the index, and one over the disk.
    /// - Throws: `.noVersion`.
    package func usage(of names: [String] = []) throws(StoreError) -> [VersionUsage] {
        guard !names.isEmpty else { return try usages(store.usageTable(looksAtDisk: true)).all }
        var found: [(row: VersionRow, usage: VersionUsage)] = []
        // Names of versions are ASCII.
        for name in names where !found.contains(where: { $0.row.name == name }) {
            guard let (row, present, missing) = try store.namedBytes(of: name) else {
                throw StoreError.noVersion(name)
            }
            let usage = VersionUsage(
                row, present: present, missing: missing, disk: try diskShare(of: row))
            found.append((row, usage))
        }
        return found.sorted { ($0.row.ordinal, $0.row.name) > ($1.row.ordinal, $1.row.name) }
            .map(\.usage)
    }

    /// What each version of a table uses, newest first, and what their objects come to.
    func usages(
        _ table: UsageTable
    ) throws(StoreError) -> (all: [VersionUsage], sums: [UsageTable.Sums]) {
        let sums = table.versions.indices.map { table.sums(of: $0) }
        let disk = try diskShares(table, sums)
        let all = table.versions.indices.map { place in
            VersionUsage(
                table.versions[place], present: sums[place].bytes,
                missing: table.missingBytes[place], disk: disk.isEmpty ? nil : disk[place])
        }
        return (all, sums)
    }
}
