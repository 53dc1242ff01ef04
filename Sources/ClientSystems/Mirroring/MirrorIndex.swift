/// Which immutable files a mirror has, who needs them now, and which go first when room is needed.
///
/// A value; what it says of the disk its owner makes true. A file is counted with the room that it takes: whole units
/// of 4 KiB.
struct MirrorIndex: Sendable {
    /// How much a mirror may take on the disk.
    struct Limit: Sendable, Hashable {
        var byteCount: Int64
        /// So many entries are about 8 MB of memory; an archive has at most 65,535 files.
        var fileCount = 90_000
    }

    private struct Entry: Sendable {
        var room: Int64 = 0
        /// Grows from use to use.
        var usedAt: UInt64 = 0
        /// How many need it now; what they wait for has an entry, too.
        var holdCount: Int32 = 0
        var isPresent = false
        /// Whether its bytes were compared with its name since this process began.
        var isProven = false
    }

    private var entries: [PlacedFile.Name: Entry] = [:]
    private var clock: UInt64 = 0
    /// What files take that are there, in bytes, with those that change.
    var room: Int64 { taken + besides }
    private var taken: Int64 = 0
    /// What the files take that change: pointers, histories, configurations.
    private var besides: Int64 = 0
    /// How many are there.
    private(set) var count = 0
    /// What answers depend on as long as the pointers are what they are.
    private var needed: Set<PlacedFile.Name> = []

    private static let unit: Int64 = 4096

    /// Whether a file is there.
    func has(_ name: PlacedFile.Name) -> Bool { entries[name]?.isPresent ?? false }

    /// Whether a file is there, and its bytes were compared with its name.
    func isProven(_ name: PlacedFile.Name) -> Bool {
        guard let entry = entries[name] else { return false }
        return entry.isPresent && entry.isProven
    }

    /// Takes a file that is there, or has just come.
    mutating func add(_ name: PlacedFile.Name, byteCount: Int64, isProven: Bool) {
        remove(name)
        clock += 1
        var entry = entries[name] ?? Entry()
        entry.room = (byteCount + Self.unit - 1) / Self.unit * Self.unit
        entry.usedAt = clock
        entry.isPresent = true
        entry.isProven = isProven
        entries[name] = entry
        taken += entry.room
        count += 1
    }

    /// Notes that a file's bytes were found to be what its name says.
    mutating func prove(_ name: PlacedFile.Name) { entries[name]?.isProven = true }

    /// Takes a file that is gone.
    mutating func remove(_ name: PlacedFile.Name) {
        guard var entry = entries[name], entry.isPresent else { return }
        taken -= entry.room
        count -= 1
        (entry.isPresent, entry.isProven) = (false, false)
        entries[name] = entry.holdCount > 0 ? entry : nil
    }

    // MARK: Holds

    /// Keeps files, whether they are there or still come.
    mutating func hold(_ names: some Sequence<PlacedFile.Name>) {
        clock += 1
        for name in names {
            entries[name, default: Entry()].holdCount += 1
            entries[name]?.usedAt = clock
        }
    }

    /// Ends a hold.
    mutating func release(_ names: some Sequence<PlacedFile.Name>) {
        clock += 1
        for name in names {
            guard var entry = entries[name] else { continue }
            entry.holdCount -= 1
            entry.usedAt = clock
            entries[name] = entry.holdCount > 0 || entry.isPresent ? entry : nil
        }
    }

    /// Says what must stay as long as the pointers are what they are.
    /// - Parameter besides: what the files take that change, in bytes.
    mutating func need(_ names: Set<PlacedFile.Name>, besides: Int64 = 0) {
        needed = names
        self.besides = besides
    }

    /// Says what must stay besides, until that is said anew.
    mutating func need(also names: some Sequence<PlacedFile.Name>) { needed.formUnion(names) }

    // MARK: Room

    /// Whether something has to go.
    func isOver(_ limit: Limit) -> Bool { room > limit.byteCount || count > limit.fileCount }

    /// Whether a file may go: it is there, nobody sends or needs it.
    func mayGo(_ name: PlacedFile.Name) -> Bool {
        guard let entry = entries[name] else { return false }
        return entry.isPresent && entry.holdCount == 0 && !needed.contains(name)
    }

    /// What has to go so that a tenth of the limit becomes free, used longest ago first.
    func leaving(_ limit: Limit) -> [PlacedFile.Name] {
        let candidates = entries.filter {
            $0.value.isPresent && $0.value.holdCount == 0 && !needed.contains($0.key)
        }.sorted { $0.value.usedAt < $1.value.usedAt }
        var (room, count) = (room, count)
        var leaving: [PlacedFile.Name] = []
        for (name, entry) in candidates {
            guard room > limit.byteCount / 10 * 9 || count > limit.fileCount * 9 / 10 else { break }
            room -= entry.room
            count -= 1
            leaving.append(name)
        }
        return leaving
    }
}
