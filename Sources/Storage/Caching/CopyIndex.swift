/// Which copies a cache has, who needs them now, and which go first when room is needed.
///
/// A value; what it says of the disk its owner makes true.
struct CopyIndex: Sendable {
    private struct Entry: Sendable {
        /// What it takes on the disk: whole units of 4 KiB.
        var room: Int64
        /// Grows from use to use.
        var usedAt: UInt64
        var isProven: Bool
    }

    /// So many entries are about 20 MB of memory; an archive has at most 65,535 files.
    static let fileCountMax = 90_000

    private var entries: [String: Entry] = [:]
    /// How many need a copy now, whether it is there or still comes.
    private var pins: [String: Int] = [:]
    private var clock: UInt64 = 0
    /// What all files take, in bytes, those that change among them.
    var room: Int64 = 0

    var count: Int { entries.count }

    /// Whether a copy was compared with its name; `nil` if there is none.
    func isProven(_ name: String) -> Bool? { entries[name]?.isProven }

    /// Whether all copies are there, and were compared with their names.
    func hasAll(_ names: [String]) -> Bool {
        names.allSatisfy { entries[$0]?.isProven ?? false }
    }

    /// Takes a copy that has just come, or that an earlier process has left.
    mutating func add(_ name: String, byteCount: Int64, isProven: Bool) {
        remove(name)
        clock += 1
        let units = (byteCount + 4095) / 4096
        entries[name] = Entry(room: units * 4096, usedAt: clock, isProven: isProven)
        room += units * 4096
    }

    /// Notes that a copy is what its name says, unless it has gone since.
    mutating func prove(_ name: String) { entries[name]?.isProven = true }

    /// Takes a copy that is gone.
    mutating func remove(_ name: String) {
        if let gone = entries.removeValue(forKey: name) { room -= gone.room }
    }

    /// Keeps copies, or ends that with a `change` of -1.
    mutating func pin(_ names: [String], _ change: Int = 1) {
        clock += 1
        for name in names {
            let left = pins[name, default: 0] + change
            pins[name] = left > 0 ? left : nil
            entries[name]?.usedAt = clock
        }
    }

    /// Whether a copy may go: it is there, and nobody needs it.
    func mayGo(_ name: String) -> Bool { entries[name] != nil && pins[name] == nil }

    /// What has to go so that a tenth of the limit becomes free, used longest ago first.
    func leaving(_ limit: Int64, count limitCount: Int = fileCountMax) -> [String] {
        var (room, count) = (room, count)
        guard room > limit || count > limitCount else { return [] }
        return entries.filter { pins[$0.key] == nil }
            .sorted { $0.value.usedAt < $1.value.usedAt }
            .prefix { _, entry in
                defer { (room, count) = (room - entry.room, count - 1) }
                return room > limit / 10 * 9 || count > limitCount * 9 / 10
            }.map(\.key)
    }
}
