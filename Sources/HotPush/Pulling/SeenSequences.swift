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
