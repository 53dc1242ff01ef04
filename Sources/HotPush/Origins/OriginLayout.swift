package import CASStore
package import VersionTree

/// Every path inside an origin, relative to it; the same for directories and URLs.
///
/// Only this file builds them; `docs/origin-format.md` describes them.
///
/// ```
/// ORIGIN/
///   origin.json                {"castreeOrigin":1}; written first; 2 and the origin's id once it is signed
///   objects/ab/cdef…           62 digits; the objects' bytes
///   manifests/<address>.json   canonical manifests by the SHA-256 of their bytes
///   packs/ab/cdef…             62 digits; packs by the SHA-256 of their bytes
///   deliveries/<address>.json  the packs that lead to a manifest, by the SHA-256 of its bytes
///   manifests/<address>.from.<address>.json   what leads to a manifest from an older one
///   e/<epoch>/…                the same from epoch 1 on, if many machines publish; with the two below, and documents
///   e/<epoch>/places/<address>.json   the epochs of a manifest's objects, or of the deflated copies of facts
///   deflated/ab/cdef…          62 digits; objects as raw DEFLATE, by the SHA-256 of the compressed bytes
///   facts/<address>.json       what other systems' clients need to know of a version's objects
///   for/<system>/…             what is announced to other systems' clients
///   trust/<version>.json       whose signatures count from a version of the trust on
///   channels/<name>.json       pointers: with the next, the only files that change
///   channels.json              their names
///   .publish/                  the publisher's own: lock, staging, files that wait for deletion
/// ```
package enum OriginLayout {
    /// The newest layout that is read, which signed origins and those with other systems' clients have.
    package static let formatVersion: Int64 = 2
    /// The layout of all other origins.
    package static let plainFormatVersion: Int64 = 1
    package static let manifestByteCountMax = Manifest.byteCountMax

    package static let marker = "origin.json"
    package static let objects = "objects"
    package static let manifests = "manifests"
    package static let packs = "packs"
    package static let deliveries = "deliveries"
    package static let epochs = "e"
    package static let places = "places"
    package static let trust = "trust"
    package static let deflatedCopies = "deflated"
    package static let facts = "facts"
    package static let clients = "for"
    package static let clientConfiguration = "config.json"
    static let clientDocuments = "documents"
    package static let channels = "channels"
    package static let channelList = "channels.json"
    package static let suffix = ".json"

    /// Files and directories that readers need beside the marker.
    package static let readNames = readDirectories + [channelList]
    private static let readDirectories = [
        objects, manifests, packs, deliveries, deflatedCopies, facts, clients, trust, channels,
    ]
    /// Directories that a withdrawal does without.
    package static let unneededToWithdraw = [packs, deliveries, deflatedCopies, facts, clients]
    /// Names that show an origin, a store or something else: no origin is begun beside them.
    package static let taken = [objects, manifests, channels, StoreLayout.format]
    /// Names that are a directory in every origin that has them.
    package static let directories = readDirectories + [log, epochs]

    package static let log = "log"
    package static let probe = "probe"

    package static let work = ".publish"
    package static let lock = "lock"
    package static let staging = "staging"
    package static let frames = "frames"
    /// Base candidates kept by older castree versions; deleted when found.
    package static let sketches = "sketches"
    package static let packed = "packed.json"
    /// The largest labels that other systems' clients were told.
    package static let clientLabels = "labels.json"
    package static let packingLock = "packing"
    /// Space for pointers and notes on a full disk.
    package static let reserve = "reserve"
    package static let packingPrefix = "work-"

    /// - Parameter epoch: that in which the file was written; deltas are all of the first.
    package static func path(
        _ kind: OriginKey.Kind, _ address: ObjectID, in epoch: Int64 = 0
    ) -> String {
        let (root, object) = (root(epoch), StoreLayout.objectPath(address))
        return switch kind {
        case .object: "\(root)\(objects)/\(object)"
        case .pack: "\(root)\(packs)/\(object)"
        case .deflatedCopy: "\(root)\(deflatedCopies)/\(object)"
        case .manifest: "\(root)\(manifests)/\(manifestFile(address))"
        case .places: "\(root)\(places)/\(manifestFile(address))"
        case .delivery: "\(root)\(deliveries)/\(manifestFile(address))"
        case .facts: "\(root)\(facts)/\(manifestFile(address))"
        case .document(let system): "\(root)\(clients)/\(system)/\(clientDocuments)/\(address)"
        case .delta(let base): "\(manifests)/\(deltaFile(address, from: base))"
        }
    }

    package static func prefix(_ name: String, in epoch: Int64) -> String {
        "\(root(epoch))\(name)/"
    }

    /// Splits a path after its epoch; `nil` for an epoch that nobody writes.
    package static func epoch(of path: String) -> (epoch: Int64, path: String)? {
        guard path.hasPrefix("\(epochs)/") else { return (0, path) }
        let parts = path.split(separator: "/", maxSplits: 2, omittingEmptySubsequences: false)
        guard parts.count == 3, let epoch = Int64(parts[1]),
            1...ChannelPointer.logMax ~= epoch, String(epoch) == parts[1]
        else { return nil }
        return (epoch, String(parts[2]))
    }

    private static func root(_ epoch: Int64) -> String {
        epoch == 0 ? "" : "\(epochs)/\(epoch)/"
    }

    /// `manifests/<version>.json`, if only the version is known; no character of its name needs escaping in a URL path.
    package static func manifest(named version: VersionName) -> String {
        "\(manifests)/\(version)\(suffix)"
    }

    package static func clientConfiguration(of system: String) -> String {
        "\(clients)/\(system)/\(clientConfiguration)"
    }

    package static func clientHistory(of channel: ChannelName, _ system: String) -> String {
        "\(clients)/\(system)/\(pointerFile(channel))"
    }

    /// Whether a channel's history would overwrite the configuration.
    package static func isConfiguration(historyOf channel: ChannelName) -> Bool {
        pointerFile(channel) == clientConfiguration
    }

    /// The channel of a history file in `for/<system>/`; `nil` for other files.
    package static func channel(ofHistoryFile name: String) -> ChannelName? {
        name == clientConfiguration ? nil : channel(ofPointerFile: name)
    }

    package static func clientDocument(
        _ address: ObjectID, of system: String, in epoch: Int64 = 0
    ) -> String {
        path(.document(of: AnnouncedSystem(known: system)), address, in: epoch)
    }

    package static func pointer(_ channel: ChannelName) -> String {
        "\(channels)/\(pointerFile(channel))"
    }

    package static func trust(_ version: Int64) -> String { "\(trust)/\(version)\(suffix)" }

    package static func trustVersion(of path: String) -> Int64? {
        let digits = path.dropFirst(trust.utf8.count + 1).dropLast(suffix.utf8.count)
        guard let version = Int64(digits), 1...ChannelPointer.sequenceMax ~= version,
            trust(version) == path
        else { return nil }
        return version
    }

    package static func isTrust(_ path: String) -> Bool { trustVersion(of: path) != nil }

    package static func logEntry(_ number: Int64) -> String {
        let digits = String(number)
        return
            "\(log)/\(String(repeating: "0", count: max(0, 10 - digits.utf8.count)))\(digits)\(suffix)"
    }

    /// Shows in a directory that its origin is in a bucket, so that nobody publishes there.
    package static let logMark = logEntry(1)

    package static func number(ofLogEntry path: String) -> Int64? {
        let digits = path.dropFirst(log.utf8.count + 1).dropLast(suffix.utf8.count)
        guard let number = Int64(digits), 1...ChannelPointer.logMax ~= number,
            logEntry(number) == path
        else { return nil }
        return number
    }

    package static func probe(_ token: String) -> String { "\(probe)/\(token)" }

    /// Whether a path is that of a probe's file; others beside it are not castree's.
    package static func isProbe(_ path: String) -> Bool {
        guard path.hasPrefix("\(probe)/") else { return false }
        let token = path.utf8.dropFirst(probe.utf8.count + 1)
        return token.count == 32
            && token.allSatisfy {
                (UInt8(ascii: "0")...UInt8(ascii: "9")) ~= $0
                    || (UInt8(ascii: "a")...UInt8(ascii: "f")) ~= $0
            }
    }

    /// Reports an unreadable directory that is not castree's, such as a file system's snapshots or lost files.
    /// - Returns: `false` for a directory of castree's.
    package static func passes(
        over directory: String, _ error: StoreError, _ notice: (String) -> Void
    ) -> Bool {
        let names = directory.split(separator: "/").map(String.init)
        guard let top = names.first, top != work,
            !(directories + [probe]).contains(top)
                || names.contains(where: { $0.hasPrefix(".") || $0 == FileStatus.foundFiles })
        else { return false }
        notice(
            "what is in a directory that does not belong to castree is passed over: \(error.message)"
        )
        return true
    }

    /// Whether an origin there would be inside another one: `…/e/<epoch>`, `…/channels`.
    package static func isInsideOrigin(_ prefix: String) -> Bool {
        let parts = prefix.split(separator: "/").map(String.init)
        if parts.last == channels { return true }
        return parts.count >= 2 && parts[parts.count - 2] == epochs
            && parts[parts.count - 1].allSatisfy(\.isNumber)
    }

    /// Whether a path belongs to another origin at `e/<epoch>`: no epoch has a log, pointers or a marker.
    package static func isOfInnerOrigin(_ path: String) -> Bool {
        guard let (epoch, rest) = epoch(of: path), epoch > 0 else { return false }
        return rest == marker || rest.hasPrefix("\(log)/") || rest.hasPrefix(channels)
    }

    static func manifestFile(_ address: ObjectID) -> String { address.description + suffix }

    static func deltaFile(_ address: ObjectID, from base: ObjectID) -> String {
        "\(address).from.\(base)\(suffix)"
    }

    package static func delta(ofFile name: String) -> (manifest: ObjectID, base: ObjectID)? {
        guard name.utf8.count == 64 + 6 + 64 + suffix.utf8.count, name.hasSuffix(suffix),
            let manifest = ObjectID(String(name.prefix(64))),
            let base = ObjectID(String(name.dropLast(suffix.count).suffix(64))),
            name == deltaFile(manifest, from: base)
        else { return nil }
        return (manifest, base)
    }

    static func pointerFile(_ channel: ChannelName) -> String { channel.description + suffix }

    package static func address(ofManifestFile name: String) -> ObjectID? {
        guard name.utf8.count == 64 + suffix.utf8.count, name.hasSuffix(suffix) else { return nil }
        return ObjectID(String(name.dropLast(suffix.count)))
    }

    package static func channel(ofPointer path: String) -> ChannelName? {
        guard path.hasPrefix("\(channels)/") else { return nil }
        return channel(ofPointerFile: String(path.dropFirst(channels.count + 1)))
    }

    package static func channel(ofPointerFile name: String) -> ChannelName? {
        guard name.hasSuffix(suffix) else { return nil }
        // A file with an invalid name is not castree's.
        return try? ChannelName(String(name.dropLast(suffix.count)))
    }
}

/// The name in paths of another system whose clients update from an origin; HotPush itself knows none of them.
package struct AnnouncedSystem: Sendable, Hashable, Comparable, CustomStringConvertible {
    package static let countMax = 16

    package let description: String

    /// Returns `nil` unless the name has 1 to 32 of `a–z 0–9 -`.
    package init?(_ name: String) {
        guard 1...32 ~= name.utf8.count,
            name.utf8.allSatisfy({
                UInt8(ascii: "a")...UInt8(ascii: "z") ~= $0
                    || UInt8(ascii: "0")...UInt8(ascii: "9") ~= $0 || $0 == UInt8(ascii: "-")
            })
        else { return nil }
        description = name
    }

    package init(known name: String) { description = name }

    package static func < (left: Self, right: Self) -> Bool { left.description < right.description }
}
