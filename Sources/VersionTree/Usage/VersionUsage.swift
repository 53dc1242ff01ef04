package import CASStore

/// The usage of one version.
package struct VersionUsage: Sendable, Hashable {
    package var version: String
    /// In seconds since 1970.
    package var createdAt: Int64
    package var files: Int
    /// The sum of the sizes of the files in its tree.
    package var apparentBytes: Int64
    /// What retiring it would free.
    package var uniqueBytes: Int64
    /// What it shares with other versions, each object once.
    package var sharedBytes: Int64
    /// What is missing of it in the store, each object once.
    package var missingBytes: Int64
    /// `nil` if the disk was not examined.
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
    /// The usage of the named versions, or of all, newest first.
    ///
    /// Named versions cost what they show; all of them cost one pass over index and disk.
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

    /// The usage of each version of a table, newest first, and the totals of their objects.
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
