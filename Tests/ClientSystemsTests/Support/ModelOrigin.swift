import Archives
import StorageTestSupport

@testable import ClientSystems
@testable import HotPush
@testable import Origin

/// An origin in memory, published to as `castree publish` does: the history first, then the pointer.
struct ModelOrigin: ClientOrigin {
    private(set) var pointers: [ChannelName: ChannelPointer] = [:]
    private(set) var histories: [HistoryKey: ClientHistory] = [:]
    private(set) var contents: [ObjectID: ClientContent] = [:]
    /// Objects, deflated copies and documents by their address.
    private(set) var objects: [ObjectID: [UInt8]] = [:]

    struct HistoryKey: Hashable {
        var system: ClientSystem
        var channel: ChannelName
    }

    // MARK: What feeds ask

    func channel(
        _ name: ChannelName, for system: ClientSystem
    ) throws(StoreError) -> ClientChannel? {
        guard let pointer = pointers[name] else { return nil }
        let history =
            histories[HistoryKey(system: system, channel: name)] ?? ClientHistory(system, name)
        return ClientChannel(pointer, history)
    }

    func content(of offer: ClientOffer) throws(StoreError) -> ClientContent? {
        offer.version.flatMap { contents[$0.content] }
    }

    // MARK: Publishing

    /// Puts a tree into the origin.
    @discardableResult
    mutating func add(
        _ name: String, _ files: [String: String], executables: Set<String> = []
    ) throws -> PublishedVersion {
        try add(name, bytes: files.mapValues { Array($0.utf8) }, executables: executables)
    }

    /// Puts a tree into the origin.
    @discardableResult
    mutating func add(
        _ name: String, bytes files: [String: [UInt8]], executables: Set<String> = []
    ) throws -> PublishedVersion {
        var entries: [Manifest.Entry] = []
        var facts: [ObjectID: ObjectFacts] = [:]
        for (path, bytes) in files {
            let address = try address(of: bytes)
            objects[address] = bytes
            entries.append(
                Manifest.Entry(
                    path: try TreePath(path), address: address, byteCount: Int64(bytes.count),
                    isExecutable: executables.contains(path)))
            facts[address] = try ObjectFacts(of: bytes)
        }
        let manifest = try Manifest(
            version: try VersionName(name), ordinal: 1, createdAt: 1, entries: entries)
        return try add(manifest, Array(facts.values))
    }

    /// Puts a version of a store into the origin.
    mutating func add(
        _ manifest: Manifest, bytes: (Manifest.Entry) throws -> [UInt8]
    ) throws -> PublishedVersion {
        for entry in manifest.entries { objects[entry.address] = try bytes(entry) }
        return try add(manifest, [])
    }

    private mutating func add(
        _ manifest: Manifest, _ facts: [ObjectFacts]
    ) throws -> PublishedVersion {
        let content = try manifest.contentAddress()
        contents[content] = ClientContent(manifest: manifest, facts: ContentFacts(facts))
        return PublishedVersion(
            name: manifest.version, manifest: content, manifestByteCount: 1, content: content)
    }

    /// Gives an object a deflated copy in the facts of all contents.
    mutating func addDeflatedCopy(_ deflatedCopy: Reference, of address: ObjectID) {
        for content in contents.keys {
            let facts = contents[content]?.facts.objects.map { facts in
                var facts = facts
                if facts.address == address { facts.deflatedCopy = deflatedCopy }
                return facts
            }
            contents[content]?.facts = ContentFacts(facts ?? [])
        }
    }

    /// Forgets a content, as a damaged origin may.
    mutating func lose(_ content: ObjectID) { contents[content] = nil }

    /// Offers a target at the head of a channel to the clients of a system, and removes an older offer of it.
    ///
    /// - Returns: the offer that clients see.
    @discardableResult
    mutating func publish<Feed: ClientFeed>(
        _ target: ChannelRelease.Target, in channel: ChannelName = .stable, now: Int64,
        for feed: Feed.Type, _ configuration: ClientConfiguration,
        rollout perMille: Int? = nil, requirements: [Requirement] = [],
        isMandatory: Bool = false, signer: (any ClientSigner)? = nil
    ) throws -> ClientOffer {
        let sequence = (pointers[channel]?.sequence ?? 0) + 1
        let release = ChannelRelease(
            target, sequence: sequence, createdAt: now / 1000,
            rollout: perMille.map { Rollout(perMille: $0, salt: "model") },
            requirements: requirements, isMandatory: isMandatory, facts: Self.facts(of: target))
        let key = HistoryKey(system: Feed.system, channel: channel)
        var history = histories[key] ?? ClientHistory(Feed.system, channel)
        var client = clientRelease(release, now: now, for: configuration)
        client.head = pointers[channel]?.releases.first?.sequence
        let prepared = try Feed.offer(client, after: history, signer: signer)
        history.offers.append(prepared.offer)
        histories[key] = history
        for (address, bytes) in prepared.documents { objects[address] = bytes }
        var releases = pointers[channel]?.releases ?? []
        releases.removeAll { $0.target == target }
        releases.insert(release, at: 0)
        pointers[channel] = ChannelPointer(
            channel: channel, sequence: sequence, createdAt: now / 1000, releases: releases)
        return prepared.offer
    }

    /// Facts of a content have its address here.
    private static func facts(of target: ChannelRelease.Target) -> PublishedFacts? {
        if case .version(let version) = target { .init(address: version.content) } else { nil }
    }

    /// A release as publishers are given it.
    func clientRelease(
        _ release: ChannelRelease, now: Int64, for configuration: ClientConfiguration
    ) -> ClientRelease {
        let content = release.version.flatMap { contents[$0.content] }
        let objects = objects
        var release = release
        release.facts = Self.facts(of: release.target)
        return ClientRelease(
            release: release, configuration: configuration, content: content, now: now,
            read: { (address) throws(StoreError) in
                guard let bytes = objects[address] else {
                    throw StoreError(.notFound, "the model has no object \(address)")
                }
                return bytes
            },
            digest: { (archive) throws(StoreError) in
                let bytes = try Self.bytes(of: archive, objects)
                return ArchiveDigest(
                    sha256: try address(of: bytes), byteCount: Int64(bytes.count))
            })
    }

    mutating func withdraw(_ offer: ClientOffer) {
        if let version = offer.version { withdraw(.version(version)) }
    }

    mutating func withdraw(_ target: ChannelRelease.Target, from channel: ChannelName = .stable) {
        pointers[channel]?.releases.removeAll { $0.target == target }
        pointers[channel]?.sequence += 1
    }

    // MARK: Bytes

    func bytes(of archive: ZipArchive) throws(StoreError) -> [UInt8] {
        try Self.bytes(of: archive, objects)
    }

    func files(in archive: ZipArchive) throws -> [String: [UInt8]] {
        var files: [String: [UInt8]] = [:]
        for member in archive.members {
            switch member.content {
            case .bytes(let bytes): files[member.path] = bytes
            case .object(let address), .deflatedCopy(let address, _):
                guard let bytes = objects[address] else {
                    throw StoreError(.notFound, "the model has no object \(address)")
                }
                files[member.path] = bytes
            }
        }
        return files
    }

    private static func bytes(
        of archive: ZipArchive, _ objects: [ObjectID: [UInt8]]
    ) throws(StoreError) -> [UInt8] {
        try archive.bytes { (address, _) throws(StoreError) in
            guard let object = objects[address] else {
                throw StoreError(.notFound, "the model has no object \(address)")
            }
            return object
        }
    }
}

extension ZipArchive {
    /// All of it, of objects and deflated copies that are whole.
    func bytes<Failure: Error>(
        of object: (ObjectID, _ isTwin: Bool) throws(Failure) -> [UInt8]
    ) throws(Failure) -> [UInt8] {
        var bytes: [UInt8] = []
        for piece in pieces(in: 0..<byteCount) {
            switch piece {
            case .bytes(let more): bytes += more
            case .object(let address, _, _): bytes += try object(address, false)
            case .deflatedCopy(let address, _, _): bytes += try object(address, true)
            }
        }
        return bytes
    }
}

extension ObjectFacts {
    /// What is known of an object that is not deflated.
    init(of bytes: [UInt8]) throws {
        let crc32 = try Digester.digest(.crc32, of: bytes)
        self.init(
            address: try StorageTestSupport.address(of: bytes), byteCount: Int64(bytes.count),
            crc32: crc32.reduce(0) { $0 << 8 | UInt32($1) },
            md5: Hex.string(try Digester.digest(.md5, of: bytes)), deflatedCopy: nil)
    }
}
