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

/// The disk usage of a version in bytes: blocks of files and directories, as du(1) counts.
package struct DiskShare: Sendable, Hashable {
    /// The usage of a plain copy on this file system: its directories, and each file as often as it is shown.
    package var plainBytes: Int64 = 0
    /// The space that retiring and collecting it frees: its own objects, directories and manifest.
    package var uniqueBytes: Int64 = 0
    /// The space it shares with other versions, each object once.
    package var sharedBytes: Int64 = 0
    package var directoryBytes: Int64 = 0
    /// Whether `plainBytes` is computed from sizes, because there is no tree to be measured.
    package var isEstimated = false

    package init() {}
}

extension VersionStore {
    /// How many manifest entries are read at most, if versions have no trees to measure.
    private static var untreedEntriesMax: Int { 10_000 }

    /// The disk usage of each version of a table; empty if the table does not know the disk.
    /// - Parameter sums: the totals of each version's objects.
    func diskShares(
        _ table: UsageTable, _ sums: [UsageTable.Sums]
    ) throws(StoreError) -> [DiskShare] {
        guard table.knowsDisk else { return [] }
        let disk = table.usage.disk
        var copies = PlainCopies(
            versions: self, unit: try store.allocationUnit(), directoryBytes: disk.leastDirectory,
            entriesLeft: Self.untreedEntriesMax)
        var result: [DiskShare] = []
        for (place, row) in table.versions.enumerated() {
            let (all, unique) = (sums[place].diskBytes, sums[place].uniqueDiskBytes)
            var share = DiskShare()
            share.sharedBytes = all - unique
            share.uniqueBytes = unique + (disk.manifests[StoreLayout.manifest(row.name)] ?? 0)
            if let tree = disk.trees[row.name] {
                share.plainBytes = tree.copyBytes
                share.uniqueBytes += tree.ownBytes
                share.directoryBytes = tree.directoryBytes
            } else {
                share.plainBytes = try copies.bytes(of: row, distinctBytes: all)
                share.isEstimated = true
            }
            result.append(share)
        }
        return result
    }

    /// The disk usage of one version, at a cost independent of what else the store holds.
    func diskShare(of row: VersionRow) throws(StoreError) -> DiskShare {
        let own = Set(try store.freed(retiring: [row.name]).objects)
        var tree = TreeMeasure()
        try tree.add(directories.versions.raw, row.name, in: store)
        var files: [FileStatus] = []
        var share = DiskShare()
        for reference in try store.references(of: row.name) {
            let statuses = try objectFiles(of: reference.address)
            if own.contains(reference.address) {
                files += statuses
            } else {
                share.sharedBytes += statuses.reduce(0) { $0 + $1.blocks * 512 }
            }
        }
        share.uniqueBytes = try tree.freedBytes(with: files) + manifestDiskBytes(of: row)
        share.directoryBytes = tree.directoryBytes
        share.plainBytes = tree.copyBytes
        guard try !isMaterialized(row.name) else { return share }
        let directory = try min(
            fileSystem.status(directories.staging.raw).blocks,
            fileSystem.status(directories.quarantine.raw).blocks)
        var copies = PlainCopies(
            versions: self, unit: try store.allocationUnit(), directoryBytes: directory * 512,
            entriesLeft: .max)
        share.plainBytes = try copies.bytes(
            of: row,
            distinctBytes: share.sharedBytes + files.reduce(0) { $0 + $1.blocks * 512 })
        share.isEstimated = true
        return share
    }

    /// The disk space freed when versions are retired together and the objects that only they name are collected.
    func freedOnDisk(
        retiring rows: [VersionRow], _ objects: [ObjectID]
    ) throws(StoreError) -> Int64 {
        var trees = TreeMeasure()
        var files: [FileStatus] = []
        var manifests: Int64 = 0
        for row in rows {
            try trees.add(directories.versions.raw, row.name, in: store)
            manifests += try manifestDiskBytes(of: row)
        }
        for address in objects { files += try objectFiles(of: address) }
        return trees.freedBytes(with: files) + manifests
    }

    /// The disk space freed when versions are retired together, before anything is collected.
    package func treesOnDisk(retiring names: [String]) throws(StoreError) -> Int64 {
        var rows: [VersionRow] = []
        for name in names {
            if let row = try store.versionRow(name) { rows.append(row) }
        }
        return try freedOnDisk(retiring: rows, [])
    }

    private func objectFiles(of address: ObjectID) throws(StoreError) -> [FileStatus] {
        let own = try store.objects.status(address)
        let executableCopy = try store.objects.status(address, executable: true)
        return [own, executableCopy].compactMap { $0 }
    }

    private func manifestDiskBytes(of row: VersionRow) throws(StoreError) -> Int64 {
        (try manifestStatus(row.name)?.blocks ?? 0) * 512
    }
}

struct PlainCopies {
    let versions: VersionStore
    let unit: AllocationUnit
    let directoryBytes: Int64
    /// How many more entries of manifests may be read.
    var entriesLeft: Int

    /// The estimated disk usage of a plain copy, with files rounded as the file system does, and small directories.
    /// - Parameter distinctBytes: the total of its objects, each once: the answer if the manifest cannot be read.
    mutating func bytes(
        of row: VersionRow, distinctBytes: Int64
    ) throws(StoreError) -> Int64 {
        guard Int(row.fileCount) <= entriesLeft, let manifest = try versions.readable(row.name)
        else { return max(distinctBytes, row.byteCount) }
        entriesLeft -= manifest.count
        // Includes the root.
        let directories = (Int64(manifest.directoryCount) + 1) * directoryBytes
        return manifest.records.reduce(directories) {
            $0.addingClamped(unit.diskBytes($1.byteCount))
        }
    }
}
