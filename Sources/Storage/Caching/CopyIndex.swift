/// A value that says which copies a cache has, who needs them, and which go first; its owner applies it to the disk.
struct CopyIndex: Sendable {
    private struct Entry: Sendable {
        /// Its space on the disk, in whole units of 4 KiB.
        var space: Int64
        var usedAt: UInt64
        var isProven: Bool
    }

    /// This many entries take about 20 MB of memory; an archive has at most 65,535 files.
    static let fileCountMax = 90_000

    private var entries: [String: Entry] = [:]
    /// How many users a copy has, whether it exists or is still to come.
    private var pins: [String: Int] = [:]
    private var clock: UInt64 = 0
    /// The space of all files, including those that change.
    var space: Int64 = 0

    var count: Int { entries.count }

    func isProven(_ name: String) -> Bool? { entries[name]?.isProven }

    func hasAll(_ names: [String]) -> Bool {
        names.allSatisfy { entries[$0]?.isProven ?? false }
    }

    mutating func add(_ name: String, byteCount: Int64, isProven: Bool) {
        remove(name)
        clock += 1
        let units = (byteCount + 4095) / 4096
        entries[name] = Entry(space: units * 4096, usedAt: clock, isProven: isProven)
        space += units * 4096
    }

    /// Notes that a copy matches its name, unless it has gone since.
    mutating func prove(_ name: String) { entries[name]?.isProven = true }

    mutating func remove(_ name: String) {
        if let gone = entries.removeValue(forKey: name) { space -= gone.space }
    }

    /// Pins copies, or unpins them with a `change` of -1.
    mutating func pin(_ names: [String], _ change: Int = 1) {
        clock += 1
        for name in names {
            let left = pins[name, default: 0] + change
            pins[name] = left > 0 ? left : nil
            entries[name]?.usedAt = clock
        }
    }

    func mayGo(_ name: String) -> Bool { entries[name] != nil && pins[name] == nil }

    /// The least recently used copies, whose removal brings the cache to nine tenths of the limit.
    func leaving(_ limit: Int64, count limitCount: Int = fileCountMax) -> [String] {
        var (space, count) = (space, count)
        guard space > limit || count > limitCount else { return [] }
        return entries.filter { pins[$0.key] == nil }
            .sorted { $0.value.usedAt < $1.value.usedAt }
            .prefix { _, entry in
                defer { (space, count) = (space - entry.space, count - 1) }
                return space > limit / 10 * 9 || count > limitCount * 9 / 10
            }.map(\.key)
    }
}
