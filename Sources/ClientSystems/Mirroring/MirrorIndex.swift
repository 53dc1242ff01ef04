import HotPush

/// Which immutable files a mirror has, who needs them now, and which go first when room is needed.
///
/// A value; what it says of the disk its owner makes true. A copy is counted with the room that it takes: whole units
/// of 4 KiB.
struct MirrorIndex: Sendable {
    typealias Name = OriginKey

    /// How much a mirror may take on the disk.
    struct Limit: Sendable, Hashable {
        var byteCount: Int64
        /// So many entries are about 10 MB of memory; an archive has at most 65,535 files.
        var fileCount = 90_000
    }

    private struct Entry: Sendable {
        var room: Int64 = 0
        /// Grows from use to use.
        var usedAt: UInt64 = 0
        /// How many need it now; what they wait for has an entry, too.
        var pinCount: Int32 = 0
        var state = State.absent

        var mayGo: Bool { state != .absent && pinCount == 0 }
    }

    /// What is known of a copy.
    enum State: Sendable {
        /// It is not there.
        case absent
        /// An earlier process has left it: whether it is what its name says is not known.
        case left
        /// It was compared with its name.
        case whole
    }

    private var entries: [Name: Entry] = [:]
    private var clock: UInt64 = 0
    private var taken: Int64 = 0
    /// What the files take that change, in bytes.
    var besides: Int64 = 0
    /// How many copies are there.
    private(set) var count = 0

    /// What all files take, in bytes.
    var room: Int64 { taken + besides }

    /// What is known of a copy.
    func state(of name: Name) -> State { entries[name]?.state ?? .absent }

    /// Takes a copy that is there, or has just come.
    mutating func add(_ name: Name, byteCount: Int64, _ state: State) {
        remove(name)
        clock += 1
        var entry = entries[name] ?? Entry()
        entry.room = (byteCount + 4095) / 4096 * 4096
        entry.usedAt = clock
        entry.state = state
        entries[name] = entry
        taken += entry.room
        count += 1
    }

    /// Notes that a copy is what its name says, unless it has gone since.
    mutating func prove(_ name: Name) {
        if state(of: name) == .left { entries[name]?.state = .whole }
    }

    /// Takes a copy that is gone.
    mutating func remove(_ name: Name) {
        guard var entry = entries[name], entry.state != .absent else { return }
        taken -= entry.room
        count -= 1
        entry.state = .absent
        entries[name] = entry.pinCount > 0 ? entry : nil
    }

    // MARK: Who needs them

    /// Keeps copies, whether they are there or still come.
    mutating func pin(_ names: some Sequence<Name>) {
        clock += 1
        for name in names {
            entries[name, default: Entry()].pinCount += 1
            entries[name]?.usedAt = clock
        }
    }

    /// Ends that.
    mutating func unpin(_ names: some Sequence<Name>) {
        clock += 1
        for name in names {
            guard var entry = entries[name] else { continue }
            entry.pinCount -= 1
            entry.usedAt = clock
            entries[name] = entry.pinCount > 0 || entry.state != .absent ? entry : nil
        }
    }

    // MARK: Room

    /// Whether something has to go.
    func isOver(_ limit: Limit) -> Bool { room > limit.byteCount || count > limit.fileCount }

    /// Whether a copy may go: it is there, and nobody needs it.
    func mayGo(_ name: Name) -> Bool { entries[name]?.mayGo ?? false }

    /// What has to go so that a tenth of the limit becomes free, used longest ago first.
    func leaving(_ limit: Limit) -> [Name] {
        guard isOver(limit) else { return [] }
        let candidates = entries.filter { $0.value.mayGo }
            .sorted { $0.value.usedAt < $1.value.usedAt }
        var (room, count) = (room, count)
        return candidates.prefix { _, entry in
            guard room > limit.byteCount / 10 * 9 || count > limit.fileCount * 9 / 10 else {
                return false
            }
            room -= entry.room
            count -= 1
            return true
        }.map(\.key)
    }
}
