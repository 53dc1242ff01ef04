package import CASStore
package import StrictJSON
package import VersionTree

/// The newest obeyed sequence of each channel, by which an older copy from a cache is recognized.
///
/// `channels.json` in the store is `{"https://example.org/app stable":1760000000}` with the latest note last, replaced
/// as a whole under a lock. Not synced, because what a pull fetches makes it durable. If it is damaged, a new one is
/// made, which only loses the protection against one old copy.
struct SeenSequences {
    struct Observation: Sendable, Hashable {
        let key: String
        let sequence: Int64
        let channel: String
        /// The contents of all listed releases, whichever devices they are for.
        let listed: Set<ObjectID>
        /// Whether it is an older copy that `--force` accepts.
        var isInsistedOn = false

        init(_ pointer: ChannelPointer, at origin: OriginLocation) {
            key = "\(origin.description) \(pointer.channel)"
            sequence = pointer.sequence
            channel = pointer.channel.description
            listed = Set(pointer.releases.compactMap { $0.version?.content })
        }
    }

    /// The most channels, in at most ``byteCountMax`` bytes; the oldest notes are dropped first.
    static let countMax = 64
    static let byteCountMax = 1 << 16
    /// A longer name is not noted, because it would push out all others.
    static let keyByteCountMax = 1 << 13
    /// A larger file counts as damaged; castree 0.1.0 limited channels, not bytes.
    static let readByteCountMax = 16 << 20

    private let versions: VersionStore
    private let bound: SequenceBound

    init(_ versions: VersionStore, bound: SequenceBound) {
        self.versions = versions
        self.bound = bound
    }

    struct Memory {
        var isKnown: Bool
        /// The noted sequence, if it is larger.
        var newer: Int64?
    }

    func memory(of observation: Observation) throws(StoreError) -> Memory {
        let noted = Self.sequence(of: observation.key, in: try read(whatCanBe: true))
        // Older castrees noted sequences above the bound, which must not count.
        guard let noted, noted > observation.sequence, try bound.allowsUnsigned(noted) else {
            return Memory(isKnown: noted != nil, newer: nil)
        }
        return Memory(isKnown: true, newer: noted)
    }

    /// Does nothing for a sequence above the bound.
    /// - Parameter isLowering: whether to replace even a larger one.
    func note(_ observation: Observation, isLowering: Bool) throws(StoreError) {
        try note(observation.key, observation.sequence, isLowering: isLowering)
    }

    func note(_ key: String, _ sequence: Int64, isLowering: Bool) throws(StoreError) {
        guard key.utf8.count <= Self.keyByteCountMax, try bound.allowsUnsigned(sequence),
            try isNews(key, sequence, try read(), isLowering: isLowering)
        else { return }
        let lock = try versions.store.openLock(StoreLayout.channelsLock)
        try versions.store.waitForLock(lock.raw, exclusive: true)
        var seen = try read()
        // Another process may have noted it meanwhile.
        guard try isNews(key, sequence, seen, isLowering: isLowering) else { return }
        seen.removeAll { $0.key.utf8.elementsEqual(key.utf8) }
        seen.append(.init(key: key, value: .integer(sequence)))
        try versions.fileSystem.replaceFile(
            versions.directories.root.raw, StoreLayout.channels, with: Self.serialized(seen),
            token: "new", durably: false)
    }

    private func isNews(
        _ key: String, _ sequence: Int64, _ seen: [JSONValue.Member], isLowering: Bool
    ) throws(StoreError) -> Bool {
        guard let noted = Self.sequence(of: key, in: seen) else { return true }
        if noted == sequence {
            // The sequence is not news, but a channel in use must move to the end before it is dropped.
            return seen.count > Self.countMax / 2
                && Self.sequence(of: key, in: Array(seen.prefix(seen.count / 2))) != nil
        }
        if noted < sequence || isLowering { return true }
        return try !bound.allowsUnsigned(noted)
    }

    private static func sequence(of key: String, in seen: [JSONValue.Member]) -> Int64? {
        seen.first { $0.key.utf8.elementsEqual(key.utf8) }?.value.asInt64
    }

    static func serialized(_ seen: [JSONValue.Member]) -> [UInt8] {
        var kept = seen.suffix(countMax)
        while true {
            var writer = JSONWriter()
            writer.value(.object(Array(kept)))
            if writer.bytes.count <= byteCountMax || kept.isEmpty { return writer.bytes }
            kept = kept.dropFirst()
        }
    }

    /// - Parameter whatCanBe: whether an unreadable file counts as empty; a writer must not assume that.
    private func read(whatCanBe: Bool = false) throws(StoreError) -> [JSONValue.Member] {
        let root = versions.directories.root.raw
        guard
            let status = try versions.fileSystem.status(root, StoreLayout.channels),
            status.kind == .regular, status.byteCount <= Int64(Self.readByteCountMax)
        else { return [] }
        do throws(StoreError) {
            let bytes = try versions.fileSystem.contents(
                root, StoreLayout.channels, limit: Self.readByteCountMax)
            // Invalid JSON counts as empty and is replaced at the next pointer; see above.
            let document = try? JSONValue.parse(bytes)
            return document?.asObject ?? []
        } catch {
            guard whatCanBe, error.isUnreadable else { throw error }
            return []
        }
    }
}

/// A pending version that its channel no longer lists, because its publisher has withdrawn it.
///
/// A replaced release is still listed and may be shown: its replacement may be banned here, or not for this device.
package struct Withdrawal: Sendable, Hashable {
    let version: String
    /// The channel, as sequences are noted, and the sequence that withdraws the version.
    let key: String
    let sequence: Int64

    fileprivate init(_ version: String, by observation: SeenSequences.Observation) {
        self.version = version
        key = observation.key
        sequence = observation.sequence
    }

    package func write(to writer: inout JSONWriter) {
        writer.member("version", version)
        writer.member("key", key)
        writer.member("sequence", sequence)
    }
}

extension VersionStore {
    /// The withdrawal of the pending version by its own channel; `nil` if there is none.
    func withdrawal(by observation: SeenSequences.Observation) throws(StoreError) -> Withdrawal? {
        let lifecycle = try lifecycle()
        // While nothing is current, the pending version is all that there is to show.
        guard lifecycle.current != nil, let pending = lifecycle.pending,
            let content = try content(of: pending), !observation.listed.contains(content),
            let manifest = try readableManifest(of: pending)
        else { return nil }
        guard ReleaseTerms(of: manifest).isOf(observation.channel) else { return nil }
        return Withdrawal(pending, by: observation)
    }

    /// Unsets a withdrawn pending version, unless another one is pending by now; returns whether it did.
    ///
    /// Notes the sequence, so that an older copy of the pointer does not bring it back.
    package func obey(
        _ withdrawal: Withdrawal, now: @escaping @Sendable () -> Int64 = { secondsNow() }
    ) throws(StoreError) -> Bool {
        // If the current version is unfit to return to, the pending one is still better.
        let hasWaited = try allowing(
            [.bannedVersion, .incompleteVersion],
            // Also on a full disk, where this may free space for the new offer.
            try store.withReserve { () throws(StoreError) in
                try takeBack(pending: withdrawal.version)
            })
        guard hasWaited == true else { return false }
        do throws(StoreError) {
            let bound = SequenceBound(self, now: now)
            try SeenSequences(self, bound: bound).note(
                withdrawal.key, withdrawal.sequence, isLowering: false)
        } catch {
            // At worst one old copy of the pointer is accepted.
            EventLog(self).record(error, during: "check")
        }
        return true
    }
}

// What to remember of a channel's pointer, once it was obeyed.

extension PullStep {
    var seenSequences: SeenSequences {
        SeenSequences(versions, bound: bound)
    }

    /// Notes the sequence of an obeyed pointer; a failure may let one old copy through, but must not stop an update.
    func noteObeyed(_ observation: SeenSequences.Observation?) {
        guard let observation, !options.isDryRun else { return }
        do throws(StoreError) {
            try seenSequences.note(observation, isLowering: options.isForced)
        } catch {
            options.eventLog?.record(error, during: "pull")
        }
    }

    /// Notes the sequence only with `--force`: it protects nothing, and anybody may have written it.
    func obeyNothing(_ observation: SeenSequences.Observation?) {
        if observation?.isInsistedOn == true { noteObeyed(observation) }
    }
}

/// An origin's answer, kept in `pointers/<64 digits>`, named by the SHA-256 of a key; derived data, and not synced.
struct KeptAnswer {
    /// With one more file, all are deleted.
    static let countMax = 64

    private let versions: VersionStore
    private let name: String
    private let isChanging: Bool

    private init(_ versions: VersionStore, _ key: String, isChanging: Bool) throws(StoreError) {
        self.versions = versions
        self.isChanging = isChanging
        name = try ObjectID(of: Array(key.utf8)).description
    }

    private var path: String { "\(StoreLayout.pointers)/\(name)" }
    private var root: Int32 { versions.directories.root.raw }

    private func read(limit: Int) throws(StoreError) -> [UInt8]? {
        try unlessInterrupted { () throws(StoreError) in
            try versions.fileSystem.ifPresent { () throws(StoreError) in
                try versions.fileSystem.contents(root, path, limit: limit)
            }
        } ?? nil
    }

    private func write(_ bytes: [UInt8]) {
        guard isChanging else { return }
        // A lost answer only makes the next request dearer; a full or read-only disk must not stop a pull.
        try? replace(with: bytes)
    }

    func forget() {
        guard isChanging else { return }
        // A leftover is tried, found wrong and deleted next time.
        try? versions.fileSystem.removeIfPresent(root, path)
    }

    private func replace(with bytes: [UInt8]) throws(StoreError) {
        let fileSystem = versions.fileSystem
        try fileSystem.makeDirectoryIfAbsent(root, StoreLayout.pointers)
        let directory = try fileSystem.open(root, StoreLayout.pointers, .directory, mode: 0)
        let names = try fileSystem.names(in: directory.raw)
        if names.count >= Self.countMax, !names.contains(name) {
            for old in names { try fileSystem.removeIfPresent(directory.raw, old) }
        }
        try fileSystem.replaceFile(
            directory.raw, name, with: bytes, mode: 0o600, token: try randomToken(),
            durably: false)
    }

    // The format detected at an origin, tried first next time: one request instead of one per format. The file is
    // `castree-format 1 meteor` and a line end. castree's own format is always tried first.

    private static let formatHead = "castree-format 1 "

    init(
        formatOf origin: OriginLocation, _ versions: VersionStore, isChanging: Bool
    ) throws(StoreError) {
        // A channel's key has a space, and a URL has none.
        try self.init(versions, origin.description, isChanging: isChanging)
    }

    func format() throws(StoreError) -> (any ReleaseFormat)? {
        guard let bytes = try read(limit: 64),
            let text = String(validating: bytes, as: UTF8.self), text.hasPrefix(Self.formatHead),
            text.hasSuffix("\n")
        else { return nil }
        let format = ReleaseFormats.named(String(text.dropFirst(Self.formatHead.count).dropLast()))
        return format is CastreeFormat ? nil : format
    }

    func keep(_ format: any ReleaseFormat) {
        write(Array("\(Self.formatHead)\(format.name)\n".utf8))
    }

    // The last pointer of each channel with its entity tag, so that an unchanged one costs a few bytes (RFC 9110, section
    // 13.1.2). The file is `castree-pointer 1 <XXH3-128>`, a line end, the tag, a space, when it came in seconds since
    // 1970, a line end, the pointer's bytes. A torn or damaged one is requested without a condition. Kept pointers are
    // judged anew each time, as if they had just arrived.

    struct Pointer: Equatable {
        var tag: String
        var bytes: [UInt8]
        /// Seconds since 1970.
        var cameAt: Int64

        /// Bounds how long a device misses a new pointer if a cache has stored an old one under the new one's tag.
        func isStale(_ now: Int64) -> Bool { !(0..<3600 ~= now - cameAt) }
    }

    init(
        pointerOf channel: ChannelName, at origin: OriginLocation, _ versions: VersionStore,
        isChanging: Bool
    ) throws(StoreError) {
        try self.init(versions, "\(origin.description) \(channel)", isChanging: isChanging)
    }

    func pointer() throws(StoreError) -> Pointer? {
        try read(limit: ChannelPointer.byteCountMax + (16 << 10)).flatMap { Self.parse($0) }
    }

    func keep(_ pointer: Pointer) { write(Self.serialized(pointer)) }

    private static func serialized(_ pointer: Pointer) -> [UInt8] {
        let body = Array("\(pointer.tag) \(pointer.cameAt)\n".utf8) + pointer.bytes
        let sum = body.withUnsafeBytes { bytes in
            Fingerprinter.fingerprint(bytes).withBytes { Hex.string(Array($0)) }
        }
        return Array("castree-pointer 1 \(sum)\n".utf8) + body
    }

    private static func parse(_ bytes: [UInt8]) -> Pointer? {
        let lines = bytes.split(separator: 10, maxSplits: 2, omittingEmptySubsequences: false)
        guard lines.count == 3, let text = String(validating: lines[1], as: UTF8.self),
            let space = text.lastIndex(of: " "),
            let cameAt = Int64(text[text.index(after: space)...])
        else { return nil }
        let kept = Pointer(tag: String(text[..<space]), bytes: Array(lines[2]), cameAt: cameAt)
        return serialized(kept) == bytes ? kept : nil
    }
}

extension TransferHead {
    static let tagByteCountMax = 512

    /// Nil if the tag may not be unique: many servers derive it from a file's size and its time in whole seconds, so
    /// within two seconds another file may have the same tag (RFC 9110, section 8.8.2.2).
    var tag: String? {
        guard let tag = self["etag"], Self.isTag(tag) else { return nil }
        return self["last-modified"] == nil || secondsSinceChange ?? 0 > 2 ? tag : nil
    }

    /// One ASCII `entity-tag` of RFC 9110, section 8.8.3; neither `*` nor a list, which would match anything.
    private static func isTag(_ text: String) -> Bool {
        var bytes = Array(text.utf8)[...]
        if bytes.starts(with: [87, 47]) { bytes = bytes.dropFirst(2) }
        guard 2...tagByteCountMax ~= bytes.count, bytes.first == 34, bytes.last == 34 else {
            return false
        }
        return bytes.dropFirst().dropLast().allSatisfy { 33...126 ~= $0 && $0 != 34 }
    }
}
