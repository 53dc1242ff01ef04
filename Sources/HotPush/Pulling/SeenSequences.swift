import CASStore
import StrictJSON
import VersionTree

/// For every channel the newest sequence that was obeyed: an older copy from a cache is no news.
///
/// `channels.json` in the store: `{"https://example.org/app stable":1760000000}`, the latest note last;
/// changed under a lock, replaced as a whole. It is not synced: what a pull brings makes it durable. A
/// damaged one is made anew: that loses only the protection against one old copy.
struct SeenSequences {
    /// A pointer that has come: its channel and its sequence.
    struct Sighting: Sendable, Hashable {
        let key: String
        let sequence: Int64
        /// The channel's name, as versions of it remember it.
        let channel: String
        /// The contents of all releases that it lists, for whichever devices they are.
        let listed: Set<ObjectID>
        /// Whether it is an older copy that somebody insists on.
        var isInsistedOn = false

        init(_ pointer: ChannelPointer, at origin: OriginLocation) {
            key = "\(origin.description) \(pointer.channel)"
            sequence = pointer.sequence
            channel = pointer.channel.description
            listed = Set(pointer.releases.compactMap { $0.version?.content })
        }
    }

    /// The most channels, in at most ``byteCountMax`` bytes: the oldest notes are dropped first.
    static let countMax = 64
    static let byteCountMax = 1 << 16
    /// A longer name is not noted: it would push out all others.
    static let keyByteCountMax = 1 << 13
    /// The largest file that is read: castree 0.1.0 limited channels, not bytes.
    ///
    /// The next change shortens it. A larger one was not written by castree and counts as damaged.
    static let readByteCountMax = 16 << 20

    private let versions: VersionStore
    private let bound: SequenceBound

    init(_ versions: VersionStore, bound: SequenceBound) {
        self.versions = versions
        self.bound = bound
    }

    /// What was noted of a channel before.
    struct Memory {
        /// Whether one of its pointers was obeyed.
        var isKnown: Bool
        /// The sequence that was noted, if it is larger.
        var newer: Int64?
    }

    func memory(of sighting: Sighting) throws(StoreError) -> Memory {
        let noted = Self.sequence(of: sighting.key, in: try read(whatCanBe: true))
        // Older castrees noted more: a sequence above the bound should never have been noted.
        guard let noted, noted > sighting.sequence, try bound.allowsUnsigned(noted) else {
            return Memory(isKnown: noted != nil, newer: nil)
        }
        return Memory(isKnown: true, newer: noted)
    }

    /// Notes the sequence of a pointer that was obeyed, unless it is above the bound.
    ///
    /// - Parameter isLowering: whether somebody insists on it, even if a larger one was noted.
    func note(_ sighting: Sighting, isLowering: Bool) throws(StoreError) {
        try note(sighting.key, sighting.sequence, isLowering: isLowering)
    }

    /// Notes a sequence that was obeyed, as ``note(_:isLowering:)`` does.
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
            // Without news it would be among the next to be dropped: it is in use all the same, and moves to the end.
            return seen.count > Self.countMax / 2
                && Self.sequence(of: key, in: Array(seen.prefix(seen.count / 2))) != nil
        }
        if noted < sequence || isLowering { return true }
        return try !bound.allowsUnsigned(noted)
    }

    private static func sequence(of key: String, in seen: [JSONValue.Member]) -> Int64? {
        seen.first { $0.key.utf8.elementsEqual(key.utf8) }?.value.asInt64
    }

    /// The bytes of the file, without the oldest notes if there is no room for them.
    static func serialized(_ seen: [JSONValue.Member]) -> [UInt8] {
        var kept = seen.suffix(countMax)
        while true {
            var writer = JSONWriter()
            writer.value(.object(Array(kept)))
            if writer.bytes.count <= byteCountMax || kept.isEmpty { return writer.bytes }
            kept = kept.dropFirst()
        }
    }

    /// - Parameter whatCanBe: whether what the disk does not give counts as empty; who writes it anew must not think so.
    private func read(whatCanBe: Bool = false) throws(StoreError) -> [JSONValue.Member] {
        let root = versions.directories.root.raw
        guard
            let status = try versions.fileSystem.status(root, StoreLayout.channels),
            status.kind == .regular, status.byteCount <= Int64(Self.readByteCountMax)
        else { return [] }
        do throws(StoreError) {
            let bytes = try versions.fileSystem.contents(
                root, StoreLayout.channels, limit: Self.readByteCountMax)
            // What is no JSON is made anew by the next pointer; see above.
            let document = try? JSONValue.parse(bytes)
            return document?.asObject ?? []
        } catch {
            guard whatCanBe, error.isUnreadable else { throw error }
            return []
        }
    }
}
