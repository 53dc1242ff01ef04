import Bsdiff
import HotPush
import Origin
import Platform
import StrictJSON

/// The patches by which other systems' clients come from older releases of a channel: `for/patches/<channel>.json`.
///
/// Laid out as a history, whose offers are the releases that patches lead to and whose documents are the patches, so
/// that castrees which know no patches keep, check and copy them. A patch is only ever an offer beside the whole file,
/// and clients verify what it makes; so readers take from a damaged file what they understand, or nothing.
struct ClientPatches: Sendable, Hashable {
    /// Where patches stand among the systems; none has this name.
    static let system = AnnouncedSystem(known: "patches")

    var channel: ChannelName
    /// Oldest first.
    var releases: [PatchedRelease]

    init(_ channel: ChannelName, releases: [PatchedRelease] = []) {
        self.channel = channel
        self.releases = releases
    }

    static func isFor(_ system: ClientSystem) -> Bool {
        [.expo, .hotUpdater].contains(system)
    }

    static func name(of channel: ChannelName) -> HistoryName {
        HistoryName(system: system, channel: channel)
    }

    static func path(of channel: ChannelName) -> String {
        OriginLayout.clientHistory(of: channel, system.description)
    }
}

/// The patches that lead to a release.
struct PatchedRelease: Sendable, Hashable {
    /// In milliseconds since 1970; later than that of every older one.
    var createdAt: Int64
    /// What it consists of.
    var content: ObjectID
    /// What was tried, with and without success: a format, a blank, and the source of the patch (``ClientPatch/from``).
    var tried: Set<String> = []
    var patches: [ClientPatch] = []

    static let patchCountMax = 256

    /// - Parameters:
    ///   - from: the source of the patch; its base counts where that is a bundle that only its operator knows.
    static func trial(
        _ format: BsdiffFormat, _ from: String, platform: String = "", base: ObjectID? = nil
    ) -> String {
        guard ObjectID(from) == nil, let base else { return "\(format.rawValue) \(from)" }
        return "\(format.rawValue) \(platform)/\(base) \(from)"
    }
}

/// A file that makes one object of another: `for/patches/documents/<address>`.
struct ClientPatch: Sendable, Hashable {
    var format: BsdiffFormat
    /// The content of the release that a client comes from; for a bundle that was shipped with an app, the id by which
    /// the app knows it.
    var from: String
    /// Expo's platform; empty for hot-updater.
    var platform: String
    /// What it is applied to.
    var base: ObjectID
    /// What comes out.
    var object: ObjectID
    var address: ObjectID
    var byteCount: Int64
    var epoch: Int64 = 0

    var trial: String {
        PatchedRelease.trial(format, from, platform: platform, base: base)
    }

    /// A patch is kept in memory while it is made, and sent from there.
    static let byteCountMax: Int64 = 8 << 20

    var key: OriginKey {
        OriginKey(.document(of: ClientPatches.system), address, in: epoch)
    }
}

// Patches ↔ bytes.

extension ClientPatches {
    var file: HistoryFile {
        HistoryFile(Self.name(of: channel), offers: releases.map(\.document.withSortedKeys))
    }

    /// Reads what it understands.
    init(_ file: HistoryFile) {
        self.init(
            file.name.channel, releases: file.offers.compactMap { PatchedRelease($0) })
    }

    /// - Throws: `.badClients` for anything but such a file.
    init(parsing bytes: [UInt8], of channel: ChannelName) throws(StoreError) {
        // What is wrong with it helps nobody: it is written again from the log.
        let document = try? JSONValue.parse(bytes, limits: JSONLimits(depth: 8))
        guard let document, document["castreeHistory"]?.asInt64 == 1,
            document["system"]?.asString == Self.system.description,
            document["channel"]?.asString == channel.description,
            let releases = document["offers"]?.asArray
        else {
            throw StoreError(
                .badClients, "\(Self.path(of: channel)) is no list of patches")
        }
        self.init(channel, releases: releases.compactMap { PatchedRelease($0) })
    }

    /// The entry of the log in which a file stands; 0 if it names none.
    static func entry(of bytes: [UInt8], of channel: ChannelName) throws(StoreError) -> Int64 {
        _ = try ClientPatches(parsing: bytes, of: channel)
        // It has just been parsed.
        return (try? JSONValue.parse(bytes))?["log"]?.asInt64 ?? 0
    }
}

extension PatchedRelease {
    /// The size of its row.
    var byteCount: Int { document.withSortedKeys.fileBytes.count }

    fileprivate var document: JSONValue {
        .members([
            "createdAt": .integer(createdAt), "content": .text(content),
            "tried": .array(tried.sorted().map { .string($0) }),
            "documents": patches.isEmpty ? nil : .array(patches.map(\.document)),
        ])
    }

    fileprivate init?(_ value: JSONValue) {
        guard let createdAt = value["createdAt"]?.asInt64,
            0...ChannelPointer.sequenceMax ~= createdAt,
            let content = value["content"]?.asString.flatMap({ ObjectID($0) })
        else { return nil }
        self.init(
            createdAt: createdAt, content: content,
            tried: Set((value["tried"]?.asArray ?? []).compactMap(\.asString)),
            patches: (value["documents"]?.asArray ?? []).compactMap { ClientPatch($0) })
    }
}

extension ClientPatch {
    fileprivate var document: JSONValue {
        .members([
            "format": .string(format.rawValue), "from": .string(from),
            "platform": platform.isEmpty ? nil : .string(platform), "base": .text(base),
            "object": .text(object), "address": .text(address), "bytes": .integer(byteCount),
            "epoch": epoch > 0 ? .integer(epoch) : nil,
        ])
    }

    fileprivate init?(_ value: JSONValue) {
        func address(_ key: String) -> ObjectID? { value[key]?.asString.flatMap { ObjectID($0) } }
        guard let format = value["format"]?.asString.flatMap({ BsdiffFormat(rawValue: $0) }),
            let from = value["from"]?.asString, let base = address("base"),
            let object = address("object"), let own = address("address"),
            let byteCount = value["bytes"]?.asInt64, 1...Self.byteCountMax ~= byteCount
        else { return nil }
        self.init(
            format: format, from: from, platform: value["platform"]?.asString ?? "", base: base,
            object: object, address: own, byteCount: byteCount,
            epoch: max(value["epoch"]?.asInt64 ?? 0, 0))
    }
}

/// The patches of a channel, as answers look for them.
struct PatchTable: Sendable {
    /// Differs for each reading of the file.
    let number: UInt64
    private var byRelease: [ByRelease: ClientPatch] = [:]
    private var byObjects: [ByObjects: ClientPatch] = [:]
    private var byAddress: [ObjectID: ClientPatch] = [:]

    private struct ByRelease: Hashable {
        let from: String
        let platform: String
        let object: ObjectID
    }

    private struct ByObjects: Hashable {
        let base: ObjectID
        let object: ObjectID
    }

    init(_ patches: ClientPatches?, _ number: UInt64 = 0) {
        self.number = number
        for patch in patches?.releases.flatMap(\.patches) ?? [] {
            switch patch.format {
            case .bsdiff40:
                let key = ByRelease(
                    from: patch.from, platform: patch.platform, object: patch.object)
                byRelease[key] = patch
            case .bsdiff43:
                byObjects[ByObjects(base: patch.base, object: patch.object)] = patch
                byAddress[patch.address] = patch
            }
        }
    }

    /// The patch for Expo's clients on a platform that run a release, or were shipped with a bundle.
    func patch(to object: ObjectID, from: String, on platform: String) -> ClientPatch? {
        byRelease[ByRelease(from: from, platform: platform, object: object)]
    }

    /// The patch for hot-updater's clients with an address, which answers name.
    func patch(at address: ObjectID) -> ClientPatch? { byAddress[address] }

    /// The patch for hot-updater's clients.
    func patch(to object: ObjectID, from base: ObjectID) -> ClientPatch? {
        byObjects[ByObjects(base: base, object: object)]
    }
}
