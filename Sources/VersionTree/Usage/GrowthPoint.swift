import CASStore

/// How much there was after a version came.
///
/// Counted over the versions that are registered now: what was retired is not remembered.
public struct GrowthPoint: Sendable, Hashable {
    /// The version that came.
    public var version: String
    /// When, in seconds since 1970; the order is that of the versions, whatever their clocks said.
    public var createdAt: Int64
    /// What it brought that no older version has.
    public var newBytes: Int64
    /// What retiring it would free.
    public var uniqueBytes: Int64
    /// What it and all older versions show: what plain copies would take.
    public var apparentBytes: Int64
    /// What it and all older versions take in the store.
    public var objectBytes: Int64
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
