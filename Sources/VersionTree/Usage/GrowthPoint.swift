import CASStore

/// How much there was after a version came.
///
/// Counts the versions that are registered now: retired ones are not remembered.
package struct GrowthPoint: Sendable, Hashable {
    /// The version that came.
    package var version: String
    /// When, in seconds since 1970; the order is that of the versions, whatever their clocks said.
    package var createdAt: Int64
    /// What it brought that no older version has.
    package var newBytes: Int64
    /// What retiring it would free.
    package var uniqueBytes: Int64
    /// What it and all older versions show: the size of plain copies.
    package var apparentBytes: Int64
    /// What it and all older versions take in the store.
    package var objectBytes: Int64
    /// What it brought that no older version has, on disk, with its directories and its manifest; 0 like the
    /// next three if nobody looked at the disk.
    package var newDiskBytes: Int64
    /// What it and all older versions take on disk.
    package var diskBytes: Int64
    /// What comes back on disk when it is retired and collected.
    package var uniqueDiskBytes: Int64
    /// What plain copies of it and all older versions would take on disk.
    package var plainDiskBytes: Int64
}

extension UsageSurvey {
    /// - Parameters:
    ///   - usages: what the versions of the table use, in the same order.
    ///   - sums: what their objects come to.
    static func growth(
        _ table: UsageTable, _ usages: [VersionUsage], _ sums: [UsageTable.Sums]
    ) -> [GrowthPoint] {
        let newBytes = table.newBytes()
        var point = GrowthPoint(
            version: "", createdAt: 0, newBytes: 0, uniqueBytes: 0, apparentBytes: 0,
            objectBytes: 0, newDiskBytes: 0, diskBytes: 0, uniqueDiskBytes: 0, plainDiskBytes: 0)
        return table.versions.indices.reversed().map { place in
            let row = table.versions[place]
            let disk = usages[place].disk
            point.version = row.name
            point.createdAt = row.createdAt
            point.newBytes = newBytes[place].bytes
            point.uniqueBytes = row.uniqueByteCount
            point.apparentBytes = point.apparentBytes.addingClamped(row.byteCount)
            point.objectBytes += newBytes[place].bytes
            // What no other version can have: its directories, its manifest, files that are no links.
            let own = (disk?.uniqueBytes ?? 0) - sums[place].uniqueDiskBytes
            point.newDiskBytes = newBytes[place].diskBytes + own
            point.diskBytes += point.newDiskBytes
            point.uniqueDiskBytes = disk?.uniqueBytes ?? 0
            point.plainDiskBytes = point.plainDiskBytes.addingClamped(disk?.plainBytes ?? 0)
            return point
        }
    }
}
