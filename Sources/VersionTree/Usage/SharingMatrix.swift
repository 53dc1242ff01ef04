import CASStore

/// What pairs of versions have in common, in bytes, each object once.
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

    /// What two versions have in common; for one version and itself, everything that it has.
    package subscript(row: Int, column: Int) -> Int64 { bytes[row * versions.count + column] }
}
