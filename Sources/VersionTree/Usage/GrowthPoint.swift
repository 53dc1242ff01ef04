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
}

extension UsageSurvey {
    static func growth(_ table: UsageTable) -> [GrowthPoint] {
        let newBytes = table.newBytes()
        var (apparent, stored): (Int64, Int64) = (0, 0)
        return table.versions.indices.reversed().map { place in
            let row = table.versions[place]
            apparent = apparent.addingClamped(row.byteCount)
            stored += newBytes[place]
            return GrowthPoint(
                version: row.name, createdAt: row.createdAt, newBytes: newBytes[place],
                uniqueBytes: row.uniqueByteCount, apparentBytes: apparent, objectBytes: stored)
        }
    }
}
