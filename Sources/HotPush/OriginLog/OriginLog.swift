import Buckets
import CASStore
import VersionTree

/// The log of an origin in a bucket: finds the newest entry, and reads any.
///
/// Entries never change, so what was read once is not asked for again. Belongs to one thread.
final class OriginLog {
    let bucket: any Bucket
    private var read: [Int64: LogEntry] = [:]

    /// More entries than these are not read for what they keep: a store that shows ever more has no end.
    private static let keptCountMax: Int64 = 1_000_000

    init(_ bucket: any Bucket) { self.bucket = bucket }

    /// An entry; `nil` if there is none under the number.
    /// - Throws: `.damagedOrigin`, `.unsupportedFormat`; what reading throws. A store that does not answer has never
    ///   "no entry".
    func entry(_ number: Int64) throws(StoreError) -> LogEntry? {
        guard number > 0 else { return nil }
        if let known = read[number] { return known }
        let request = ReadRequest(byteCountMax: Int64(LogEntry.byteCountMax))
        let (outcome, bytes) = try bucket.bytes(OriginLayout.logEntry(number), request)
        guard case .found = outcome else { return nil }
        let entry = try LogEntry(parsing: bytes, number: number)
        read[number] = entry
        return entry
    }

    /// Whether an error says that an entry is there, and is none.
    static func saysEntryIsBad(_ error: StoreError) -> Bool {
        [.damagedOrigin, .tooLarge].contains(error.code)
    }

    /// Takes over an entry that has just been written.
    func note(_ entry: LogEntry, _ number: Int64) { read[number] = entry }

    /// An entry that a later one refers to.
    /// - Throws: also `.damagedOrigin` if it is not there.
    func pastEntry(_ number: Int64) throws(StoreError) -> LogEntry {
        guard let entry = try entry(number) else {
            throw StoreError(
                .damagedOrigin,
                "entry \(number) of the log is not in \(bucket.place), and later ones refer to it; "
                    + "restore \(OriginLayout.logEntry(number))")
        }
        return entry
    }

    /// The newest entry and its number; `nil` if there is no log.
    ///
    /// Entries have no gaps. A store that shows late what was written may show an older end: a commit upon it is refused.
    /// - Parameter hint: an entry that is thought to be there; 0 for none.
    func end(from hint: Int64) throws(StoreError) -> (number: Int64, entry: LogEntry)? {
        // The last that is there, and the first that is not. A hint came from a pointer that anybody may have written.
        var found: Int64 = 0
        if 1...LogEntry.numberMax ~= hint, try entry(hint) != nil { found = hint }
        var step: Int64 = 1
        var missing = LogEntry.numberMax + 1
        while found + step < missing {
            if try entry(found + step) != nil {
                found += step
                step *= 2
            } else {
                missing = found + step
            }
        }
        while missing - found > 1 {
            let middle = found + (missing - found) / 2
            if try entry(middle) != nil { found = middle } else { missing = middle }
        }
        return try entry(found).map { (found, $0) }
    }

    /// What the origin is after its newest entry; `nil` if there is no log.
    func state(from hint: Int64) throws(StoreError) -> OriginState? {
        guard let (number, entry) = try end(from: hint) else { return nil }
        return try state(at: number, entry)
    }

    /// What the origin is after an entry.
    func state(at number: Int64, _ entry: LogEntry) throws(StoreError) -> OriginState {
        var pointers: [ChannelName: ChannelPointer] = [:]
        for (channel, place) in entry.channels {
            let past = place == number ? entry : try pastEntry(place)
            guard let pointer = past.pointers[channel] else {
                throw StoreError(
                    .damagedOrigin,
                    "entry \(number) of the log in \(bucket.place) places channel \(channel) in entry \(place), "
                        + "which has no pointer of it")
            }
            pointers[channel] = pointer
        }
        return OriginState(number: number, entry: entry, pointers: pointers)
    }

    /// Every release that the entries from ``LogEntry/keptFrom`` on offer: none of their files may go.
    func liveReleases(
        keptFrom: Int64, upTo state: OriginState
    ) throws(StoreError) -> Set<LiveRelease> {
        var live = Set(state.pointers.values.flatMap(\.liveReleases))
        guard keptFrom < state.number else { return live }
        guard state.number - keptFrom <= Self.keptCountMax else {
            throw StoreError(
                .damagedOrigin,
                "entry \(state.number) of the log in \(bucket.place) keeps all since entry \(keptFrom), more than "
                    + "\(Self.keptCountMax)")
        }
        let first = try pastEntry(keptFrom)
        let before = try self.state(at: keptFrom, first)
        live.formUnion(before.pointers.values.flatMap(\.liveReleases))
        for number in keptFrom + 1..<state.number {
            live.formUnion(try pastEntry(number).pointers.values.flatMap(\.liveReleases))
        }
        return live
    }
}

/// What an origin is after an entry of its log.
struct OriginState: Sendable {
    /// The number of the entry.
    let number: Int64
    let entry: LogEntry
    /// The pointers of all channels.
    let pointers: [ChannelName: ChannelPointer]
}

/// A release and where its files stand: two offers of the same files are equal.
struct LiveRelease: Sendable, Hashable {
    let version: PublishedVersion
    let delivery: PublishedDelivery?

    /// `nil` for what was shipped with the app.
    init?(_ offered: OfferedRelease) {
        guard let version = offered.version else { return nil }
        self.version = version
        delivery = offered.delivery
    }
}

extension ChannelPointer {
    var liveReleases: [LiveRelease] { releases.compactMap(LiveRelease.init) }
}
