package import CASStore

/// A snapshot of a store's usage, from which a page, a table and a JSON document are made.
package struct UsageSurvey: Sendable {
    /// The store's directory, as it was given.
    package internal(set) var path = ""
    /// In seconds since 1970.
    package internal(set) var takenAt: Int64 = 0
    package internal(set) var store = StoreUsage()
    /// The disk usage of plain copies of all versions, in bytes; `nil` if the disk was not examined.
    package internal(set) var plainDiskBytes: Int64?
    /// The requested versions, newest first.
    package internal(set) var versions: [VersionUsage] = []
    /// How the store grew, oldest version first; always covers all versions.
    package internal(set) var growth: [GrowthPoint] = []
    /// The content that pairs of versions share.
    package internal(set) var sharing = SharingMatrix()
    package internal(set) var largest: [LargestEntry] = []
    package internal(set) var retirement: Retirement?
    package internal(set) var lifecycle = Lifecycle()
    /// The versions that cannot be retired now, and why; ignores pages that a server shows.
    package internal(set) var kept: [RetentionPlan.Verdict] = []
    /// The known good versions that can be rolled back to, newest first: complete and not banned.
    package internal(set) var usableGood: [String] = []
    package internal(set) var banned: [String] = []
    /// The sizes of all files, if requested.
    package internal(set) var map: UsageMap?
}

package struct SurveyOptions: Sendable {
    /// The versions to cover; all if empty.
    package var versions: [String] = []
    /// The versions that may be retired together.
    package var retiring: [String] = []
    package var largestMax = 10
    /// How many manifest entries are read at most to find where the largest objects are shown.
    package var entriesReadMax = 200_000
    /// How many versions the sharing matrix has at most: the newest ones.
    package var sharingMax = 48
    /// How many files the map has at most; 0 for no map.
    package var mapFilesMax = 0
    /// Whether to examine the disk; otherwise the store's figures come from the index alone.
    package var looksAtDisk = true

    /// All versions, ten objects, no map.
    package init() {}
}

extension VersionStore {
    /// Takes a survey of the store, in one pass over the index; manifests are read only for paths.
    /// - Throws: `.noVersion`; `.badManifest` if the map was requested and a manifest that it needs is damaged.
    package func survey(
        _ options: SurveyOptions = SurveyOptions()
    ) throws(StoreError) -> UsageSurvey {
        let table = try store.usageTable(
            largestMax: options.largestMax, looksAtDisk: options.looksAtDisk)
        let chosen = try Self.positions(of: options.versions, in: table)
        var survey = UsageSurvey()
        survey.path = store.path
        survey.takenAt = secondsNow()
        survey.store = table.usage
        let lifecycle = try lifecycle()
        survey.lifecycle = lifecycle
        survey.kept = try kept(lifecycle)
        survey.banned = table.versions.filter { lifecycle.ban(of: $0.content) != nil }.map(\.name)
        let usable = table.versions.filter {
            $0.isComplete && lifecycle.ban(of: $0.content) == nil
        }
        .map(\.name)
        survey.usableGood = lifecycle.knownGood.filter { usable.contains($0) }
        let (all, sums) = try usages(table)
        survey.versions = chosen.map { all[$0] }
        survey.growth = UsageSurvey.growth(table, all, sums)
        survey.plainDiskBytes = options.looksAtDisk ? survey.growth.last?.plainDiskBytes ?? 0 : nil
        survey.sharing = SharingMatrix(table, of: chosen, limit: options.sharingMax)
        if !options.retiring.isEmpty {
            survey.retirement = try retirement(of: options.retiring)
        }
        survey.largest = try entries(
            for: table.largest, entriesReadMax: options.entriesReadMax)
        if options.mapFilesMax > 0 {
            survey.map = try map(
                of: chosen.map { table.versions[$0].name }, filesMax: options.mapFilesMax,
                diskBytes: table.diskBytes(of:))
        }
        return survey
    }

    /// A survey of the named versions, the lifecycle, and what retiring would free; costs what they name.
    ///
    /// If none is named, it covers the current version, else the newest.
    /// - Throws: `.noVersion`.
    package func briefSurvey(_ options: SurveyOptions) throws(StoreError) -> UsageSurvey {
        var survey = UsageSurvey()
        survey.path = store.path
        survey.takenAt = secondsNow()
        survey.lifecycle = try lifecycle()
        var names = options.versions
        if names.isEmpty, options.retiring.isEmpty {
            var name = survey.lifecycle.current
            if name == nil { name = try versions().first?.version }
            names = name.map { [$0] } ?? []
        }
        if !names.isEmpty { survey.versions = try usage(of: names) }
        if !options.retiring.isEmpty { survey.retirement = try retirement(of: options.retiring) }
        return survey
    }

    /// The positions of versions in the table, newest first; all of them if none is named.
    static func positions(
        of names: [String], in table: UsageTable
    ) throws(StoreError) -> [Int] {
        guard !names.isEmpty else { return Array(table.versions.indices) }
        var places: [[UInt8]: Int] = [:]
        for (place, row) in table.versions.enumerated() { places[Array(row.name.utf8)] = place }
        var result: Set<Int> = []
        for name in names {
            guard let place = places[Array(name.utf8)] else { throw StoreError.noVersion(name) }
            result.insert(place)
        }
        return result.sorted()
    }
}

/// The content that pairs of versions share, in bytes, each object once.
package struct SharingMatrix: Sendable, Hashable {
    /// The versions, newest first.
    package private(set) var versions: [String] = []
    /// How many older versions were left out.
    package private(set) var omittedCount = 0
    // Row by row.
    private var bytes: [Int64] = []

    init() {}

    init(_ table: UsageTable, of chosen: [Int], limit: Int) {
        let shown = Array(chosen.prefix(limit))
        omittedCount = chosen.count - shown.count
        versions = shown.map { table.versions[$0].name }
        bytes = Array(repeating: 0, count: shown.count * shown.count)
        for (row, first) in shown.enumerated() {
            for column in row..<shown.count {
                let common = table.commonBytes(of: first, shown[column])
                bytes[row * shown.count + column] = common
                bytes[column * shown.count + row] = common
            }
        }
    }

    /// What two versions share; for a version and itself, its total.
    package subscript(row: Int, column: Int) -> Int64 { bytes[row * versions.count + column] }
}

/// The state of the store after a version was registered; retired versions are not remembered.
package struct GrowthPoint: Sendable, Hashable {
    package var version = ""
    /// In seconds since 1970; the points are ordered like the versions, whatever their clocks said.
    package var createdAt: Int64 = 0
    /// Its content that no older version has.
    package var newBytes: Int64 = 0
    /// What retiring it would free.
    package var uniqueBytes: Int64 = 0
    /// The size of plain copies of it and all older versions.
    package var apparentBytes: Int64 = 0
    /// The size of the objects of it and all older versions.
    package var objectBytes: Int64 = 0
    /// The disk usage of its new content, directories and manifest; 0, like the next three, if not examined.
    package var newDiskBytes: Int64 = 0
    /// The disk usage of it and all older versions.
    package var diskBytes: Int64 = 0
    /// The disk space freed when it is retired and collected.
    package var uniqueDiskBytes: Int64 = 0
    /// The disk usage of plain copies of it and all older versions.
    package var plainDiskBytes: Int64 = 0
}

extension UsageSurvey {
    /// - Parameters:
    ///   - usages: the usage of each version of the table, in the same order.
    ///   - sums: the totals of their objects.
    static func growth(
        _ table: UsageTable, _ usages: [VersionUsage], _ sums: [UsageTable.Sums]
    ) -> [GrowthPoint] {
        let newBytes = table.newBytes()
        var point = GrowthPoint()
        return table.versions.indices.reversed().map { place in
            let row = table.versions[place]
            let disk = usages[place].disk
            point.version = row.name
            point.createdAt = row.createdAt
            point.newBytes = newBytes[place].bytes
            point.uniqueBytes = row.uniqueByteCount
            point.apparentBytes = point.apparentBytes.addingClamped(row.byteCount)
            point.objectBytes += newBytes[place].bytes
            // What no other version can have: its directories, its manifest, files that are not links.
            let own = (disk?.uniqueBytes ?? 0) - sums[place].uniqueDiskBytes
            point.newDiskBytes = newBytes[place].diskBytes + own
            point.diskBytes += point.newDiskBytes
            point.uniqueDiskBytes = disk?.uniqueBytes ?? 0
            point.plainDiskBytes = point.plainDiskBytes.addingClamped(disk?.plainBytes ?? 0)
            return point
        }
    }
}

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
