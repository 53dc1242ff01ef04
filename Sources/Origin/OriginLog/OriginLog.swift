import CASStore
package import HotPush
import Storage
import Synchronization
import VersionTree

/// The log of an origin: finds the newest entry, and reads any.
///
/// Entries never change, so recent ones are cached, in memory that does not grow with the log. Belongs to one thread.
final class OriginLog {
    let storage: any ObjectStorage
    private var held: [Int64: LogEntry] = [:]
    private(set) var heldByteCount = 0
    private var live: LiveReleases?
    var heldReleaseCount: Int { live?.endedCount ?? 0 }
    /// The last state, which shares most pointers with the next one.
    private var last: OriginState?
    private let heldByteCountMax: Int
    private let tags: TagMeaning
    /// Bounds the size of the pointers' files of all channels together; see ``PointerCapacity``.
    let pointerByteCountMax: Int
    /// Whether a trusted key has signed a pointer; `nil` if nobody can tell.
    let trusts: ((SignedBytes) throws(StoreError) -> Bool)?
    /// Whether a pointer that trusted keys have signed may give way to one that they have not.
    let givesWay: (ChannelPointer, _ other: ChannelPointer) throws(StoreError) -> Bool
    /// Whether numbers without an entry are passed over, if nothing shows that there was one.
    let passesGaps: Bool
    /// Whether to compare the newest entry with the one before it if nobody can tell who has signed it.
    let isWary: Bool
    let mayUnsign: Bool
    let notice: (String) -> Void
    private var said: Set<String> = []
    var judged: Judged?
    /// Whether the storage was seen to answer only the names of files that it has.
    var isAnsweringFiles = false
    /// Entries without a pointer that a trusted key has signed for them: of many, each is judged once.
    var strangers: Set<Int64> = []

    /// - Parameters:
    ///   - tags: what other readers of the bucket have found out.
    ///   - notice: gets which entries are passed over.
    ///   - heldByteCountMax: bounds the size of the cached entries' files; the last entry is always cached.
    init(
        _ storage: any ObjectStorage, _ tags: TagMeaning = TagMeaning(),
        trusts: ((SignedBytes) throws(StoreError) -> Bool)? = nil,
        givesWay: @escaping (ChannelPointer, ChannelPointer) throws(StoreError) -> Bool = {
            (_, _) throws(StoreError) in true
        },
        passesGaps: Bool = false,
        isWary: Bool = false, mayUnsign: Bool = false,
        notice: @escaping (String) -> Void = { _ in },
        heldByteCountMax: Int = 4 << 20,
        pointerByteCountMax: Int = PointerCapacity.byteCountMax
    ) {
        self.storage = storage
        self.tags = tags
        self.trusts = trusts
        self.givesWay = givesWay
        self.passesGaps = passesGaps || trusts != nil
        self.isWary = isWary
        self.mayUnsign = mayUnsign
        self.notice = notice
        self.heldByteCountMax = heldByteCountMax
        self.pointerByteCountMax = pointerByteCountMax
    }

    /// Reads an entry; `nil` if there is none.
    /// - Throws: `.damagedOrigin`, `.unsupportedFormat`; reading errors. A missing answer never means "no entry".
    func entry(_ number: Int64) throws(StoreError) -> LogEntry? {
        switch try reading(number) {
        case .entry(let entry): entry
        case .refused(let error): throw advised(error, number)
        case nil: nil
        }
    }

    private func advised(_ error: StoreError, _ number: Int64) -> StoreError {
        guard Self.saysEntryIsBad(error) else { return error }
        return StoreError(
            error.code,
            "\(error.message); restore \(OriginLayout.logEntry(number)) in \(storage.place) from an older copy or, if "
                + "there is none, begin the log anew (\(Self.wayOut))",
            cause: error.cause)
    }

    enum Reading {
        case entry(LogEntry)
        /// It is no entry, or newer than this castree, and why.
        case refused(StoreError)

        var entry: LogEntry? { if case .entry(let entry) = self { entry } else { nil } }
    }

    /// `nil` if the number is free.
    func reading(_ number: Int64) throws(StoreError) -> Reading? {
        guard number > 0 else { return nil }
        if let known = held[number] { return .entry(known) }
        do throws(StoreError) {
            guard let bytes = try bytes(of: number) else { return nil }
            let reading = read(bytes, number)
            // An invalid entry may be passed over, but not one that was altered in transit.
            guard case .refused = reading, let again = try self.bytes(of: number), again != bytes
            else { return reading }
            return read(again, number)
        } catch {
            guard error.code == .tooLarge else { throw error }
            return .refused(error)
        }
    }

    private func read(_ bytes: [UInt8], _ number: Int64) -> Reading {
        do throws(StoreError) {
            let entry = try LogEntry(parsing: bytes, number: number)
            hold(entry, number, byteCount: bytes.count)
            return .entry(entry)
        } catch {
            return .refused(error)
        }
    }

    /// The bytes of an entry, which no address names and which may change in transit without TLS.
    ///
    /// Most stores use the MD5 as the tag. A tag of 32 digits may be something else (with KMS encryption), so a
    /// mismatch refuses nothing: the entry is read again, and must be the same.
    func bytes(of number: Int64) throws(StoreError) -> [UInt8]? {
        let key = OriginLayout.logEntry(number)
        let request = ReadRequest(byteCountMax: Int64(LogEntry.byteCountMax))
        let (outcome, bytes) = try storage.bytes(key, request)
        guard case .found(let file) = outcome else { return nil }
        guard tags.areDigests, Self.isAltered(bytes, file.tag) else { return bytes }
        let (again, others) = try storage.bytes(key, request)
        if case .found(let file) = again {
            if others == bytes {
                tags.noteThatTheyAreNone()
                return bytes
            }
            if !Self.isAltered(others, file.tag) { return others }
        }
        throw .damagedOrigin(
            "\(key) in \(storage.place) comes with other bytes each time: use https, or look for what alters them"
        )
    }

    /// Whether a tag looks like an MD5 but is not that of the bytes.
    private static func isAltered(_ bytes: [UInt8], _ tag: EntityTag) -> Bool {
        guard let digest = Hex.bytes(tag.bare), digest.count == 16 else { return false }
        // The system may forbid MD5; then nothing is compared.
        guard let found = try? Digester.digest(.md5, of: bytes) else { return false }
        return found != digest
    }

    private func hold(_ entry: LogEntry, _ number: Int64, byteCount: Int) {
        if heldByteCount + byteCount > heldByteCountMax { (held, heldByteCount) = ([:], 0) }
        held[number] = entry
        heldByteCount += byteCount
    }

    /// Whether an error says that a file is there which is no entry.
    static func saysEntryIsBad(_ error: StoreError) -> Bool {
        [.damagedOrigin, .tooLarge].contains(error.code)
    }

    func note(_ entry: LogEntry, _ number: Int64) {
        guard held[number] == nil else { return }
        hold(entry, number, byteCount: entry.serialized().count)
    }

    /// - Throws: also `.damagedOrigin` if it is missing.
    func pastEntry(_ number: Int64) throws(StoreError) -> LogEntry {
        guard let entry = try entry(number) else {
            throw .damagedOrigin(
                "entry \(number) of the log is not in \(storage.place), and later ones refer to it; "
                    + "restore \(OriginLayout.logEntry(number)) from an older copy or, if there is none, begin the log anew "
                    + "(\(Self.wayOut))")
        }
        return entry
    }

    /// Reports once that an entry is passed over.
    func say(passingOver number: Int64, _ reason: String, for place: Int64) {
        say(
            "entry \(number) of the log in \(storage.place) is passed over, and that of entry \(place) is built upon: "
                + "castree would not have written it (\(reason))")
    }

    /// Reports once that the pointer of an earlier entry stands in place of a channel's newest one.
    func say(overruling channel: ChannelName, in last: Int64, by earlier: Int64) {
        let others = last - earlier > 1 ? ", like any other after entry \(earlier)," : ""
        say(
            "the pointer of channel \(channel) in entry \(last) of the log in \(storage.place)\(others) is not signed by "
                + "the keys that are trusted here, or for another origin: somebody else has written it, and that of "
                + "entry \(earlier) is built upon; if its keys are another team's, name them by --trust"
        )
    }

    private func say(_ sentence: String) {
        if said.insert(sentence).inserted { notice(sentence) }
    }

    func noted(_ number: Int64, _ valid: ValidEntry) throws(StoreError) -> OriginState {
        let state = try state(at: number, valid.entry, overruled: valid.overruled)
        for (channel, place) in valid.overruled.sorted(by: { $0.key < $1.key }) {
            say(overruling: channel, in: valid.entry.channels[channel] ?? number, by: place)
        }
        last = state
        return state
    }

    func state(
        at number: Int64, _ entry: LogEntry, overruled: [ChannelName: Int64] = [:]
    ) throws(StoreError) -> OriginState {
        var pointers: [ChannelName: ChannelPointer] = [:]
        let byteCountMax = PointerCapacity.readable(pointerByteCountMax)
        var capacity = PointerCapacity(byteCountMax, channelCount: entry.channels.count)
        for (channel, place) in entry.channels.merging(overruled, uniquingKeysWith: { $1 }) {
            if last?.place(of: channel) == place, let known = last?.pointers[channel] {
                pointers[channel] = known
                capacity.take(known)
                continue
            }
            let past = place == number ? entry : try pastEntry(place)
            guard let pointer = past.pointers[channel] else {
                throw .damagedOrigin(
                    "entry \(number) of the log in \(storage.place) places channel \(channel) in entry \(place), "
                        + "which has no pointer of it: restore \(OriginLayout.logEntry(number)) or, if it is the last "
                        + "one and offers nothing, delete it; then castree fsck --repair")
            }
            pointers[channel] = pointer
            capacity.take(pointer)
            guard capacity.isThere else {
                throw StoreError(
                    .tooLarge,
                    "the pointers of \(counted(entry.channels.count, "channel")) in \(storage.place) have more than "
                        + "\(byteCountMax) bytes together, and castree writes no such origin; look what else "
                        + "writes there")
            }
        }
        return OriginState(number: number, entry: entry, pointers: pointers, overruled: overruled)
    }

    /// The distinct releases that the entries from ``LogEntry/keptFrom`` on offer, whose files must all stay.
    ///
    /// Releases published together are adjacent, as they share most files.
    /// - Throws: also `.damagedOrigin` if there are too many.
    func liveReleases(
        keptFrom: Int64, upTo state: OriginState
    ) throws(StoreError) -> [LiveRelease] {
        let now = LiveReleases.distinct(state.pointers.mapValues(\.liveReleases))
        guard keptFrom < state.number else { return now }
        let earlier = try read(from: keptFrom, before: state).releases(since: keptFrom)
        let known = Set(earlier)
        return earlier + now.filter { !known.contains($0) }
    }

    /// The prunes after an entry, up to a state's, newest first.
    func prunes(
        after number: Int64, upTo state: OriginState
    ) throws(StoreError) -> [LiveReleases.Prune] {
        guard number < state.number else { return [] }
        let earlier = try read(from: number, before: state).prunes.filter { $0.number > number }
        return LiveReleases.Prune.of(state.entry, state.number) + earlier.reversed()
    }

    private func read(
        from first: Int64, before state: OriginState
    ) throws(StoreError) -> LiveReleases {
        var live: LiveReleases
        if let known = self.live, known.first <= first, known.number < state.number {
            live = known
        } else {
            live = LiveReleases(
                try self.state(at: first, pastEntry(first)),
                pointerByteCountMax: pointerByteCountMax)
        }
        self.live = nil
        while live.number < state.number - 1 {
            try add(live.number + 1, to: &live)
            guard live.isWithinLimits else {
                throw .damagedOrigin(
                    "entry \(state.number) of the log in \(storage.place) keeps all since entry \(first), more "
                        + "than \(LiveReleases.entryCountMax) entries, or \(LiveReleases.countMax) releases"
                )
            }
        }
        self.live = live
        return live
    }
}

/// Whether tags that look like MD5 have been so until now; shared by all readers of a bucket, on any thread.
final class TagMeaning: Sendable {
    private let areNone = Mutex(false)

    var areDigests: Bool { !areNone.withLock { $0 } }

    func noteThatTheyAreNone() { areNone.withLock { $0 = true } }
}

/// What an origin is after an entry of its log.
struct OriginState: Sendable {
    let number: Int64
    let entry: LogEntry
    let pointers: [ChannelName: ChannelPointer]
    /// As ``EntryChain/overruled``: the entry places others' pointers.
    let overruled: [ChannelName: Int64]

    init(
        number: Int64, entry: LogEntry, pointers: [ChannelName: ChannelPointer],
        overruled: [ChannelName: Int64] = [:]
    ) {
        (self.number, self.entry, self.pointers) = (number, entry, pointers)
        self.overruled = overruled
    }

    init(_ entry: LogEntry, after state: OriginState) {
        self.init(
            number: state.number + 1, entry: entry,
            pointers: state.pointers.merging(entry.pointers) { $1 },
            overruled: state.overruled.filter { entry.pointers[$0.key] == nil })
    }

    func with(_ pointers: [ChannelName: ChannelPointer]) -> OriginState {
        OriginState(number: number, entry: entry, pointers: pointers, overruled: overruled)
    }

    /// The entry with a channel's pointer.
    func place(of channel: ChannelName) -> Int64? {
        overruled[channel] ?? entry.channels[channel]
    }

    /// If there is no log, the number is 0 and nobody has written the entry.
    var hasLog: Bool { number > 0 }

    var signed: Set<ChannelName> { Set(pointers.values.filter(\.isSigned).map(\.channel)) }
}

/// A release and where its files are: two offers of the same files are equal.
package struct LiveRelease: Sendable, Hashable {
    package let version: PublishedVersion
    package let delivery: PublishedDelivery?
    /// `nil` if it is announced to no other system's clients.
    package let facts: PublishedFacts?

    /// Returns `nil` for what was shipped with the app.
    package init?(_ offered: ChannelRelease) {
        guard let version = offered.version else { return nil }
        self.version = version
        delivery = offered.delivery
        facts = offered.facts
    }

    /// The documents that say which objects it has: manifest, places.
    package var documents: [PlacedFile] {
        let manifest = OriginKey(.manifest, version.manifest, in: version.epoch)
        return [PlacedFile(manifest, byteCount: version.manifestByteCount)]
            + Self.places(version.places, version.epoch)
    }

    /// The documents for other systems' clients, which also name the deflated copies: facts, places.
    package var factsDocuments: [PlacedFile] {
        guard let facts else { return [] }
        return [PlacedFile(OriginKey(.facts, facts.address, in: facts.epoch))]
            + Self.places(facts.places, facts.epoch)
    }

    package var deliveryDocument: PlacedFile? {
        delivery.map {
            let key = OriginKey(.delivery, $0.address, in: $0.epoch)
            return PlacedFile(key, byteCount: $0.byteCount)
        }
    }

    private static func places(_ address: ObjectID?, _ epoch: Int64) -> [PlacedFile] {
        address.map { [PlacedFile(OriginKey(.places, $0, in: epoch))] } ?? []
    }
}

extension ChannelPointer {
    package var liveReleases: [LiveRelease] { releases.compactMap(LiveRelease.init) }
}
