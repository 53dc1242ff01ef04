import CASStore
package import HotPush
package import Platform
import StrictJSON
import VersionTree

/// One offer of a channel as the clients of a system know it: the ids that they keep, and what is computed once.
///
/// Never changed after it is written: clients compare ids, ban them and order by them.
package struct ClientOffer: Sendable, Hashable {
    /// The release's sequence in the pointer; larger than that of every older offer.
    package var sequence: Int64
    package var target: Target
    /// When this offer was made, in milliseconds since 1970; larger than that of every older offer of the channel.
    package var createdAt: Int64
    /// When the channel first offered this content, in milliseconds since 1970.
    package var firstOfferedAt: Int64
    /// CodePush's label, such as `v1`.
    package var label: String?
    /// A lower-case UUID (hot-updater: version 7; Expo: one for each document instead).
    package var id: String?
    /// CodePush's digest of the tree: 64 lower-case hexadecimal digits.
    package var packageHash: String?
    /// The full archive, which is always composed the same way.
    package var archive: ArchiveDigest?
    /// SHA-256 of hot-updater's `manifest.json`.
    package var manifestDigest: ObjectID?
    /// Signatures by the operator's key for the system, by what they sign: `archive`, `manifest`, `package`, or a
    /// path.
    package var signatures: [String: String] = [:]
    /// Documents written when it was published, which the server sends unchanged (Expo).
    package var documents: [ClientDocument] = []

    package enum Target: Sendable, Hashable {
        /// A version of the origin; `facts` names what its archives are made from.
        case version(PublishedVersion, facts: ObjectID)
        case embedded
    }

    package var version: PublishedVersion? {
        if case .version(let version, _) = target { version } else { nil }
    }
}

package struct ArchiveDigest: Sendable, Hashable {
    package var sha256: ObjectID
    package var byteCount: Int64
}

/// A document that is written when a release is published: `for/<system>/documents/<address>`.
package struct ClientDocument: Sendable, Hashable {
    /// `ios`, `android`; empty for all.
    package var platform: String
    /// Empty, with no platform, for all.
    package var runtimeVersion: String
    /// A lower-case UUID; for Meteor its name of the version; empty for an order to roll back.
    package var id: String
    package var address: ObjectID
    package var byteCount: Int64
    /// In Base64; `nil` if it is not signed.
    package var signature: String?
    package var epoch: Int64 = 0

    static let byteCountMax = OriginKey.documentByteCountMax

    /// The error if an origin does not have what it offers by the document.
    func loss(_ system: ClientSystem) -> StoreError {
        StoreError(
            .damagedOrigin,
            "the origin has lost a document of \(system.rawValue); castree fsck names it, and castree publish --verify "
                + "writes it again", object: address)
    }

    fileprivate var document: JSONValue {
        .members([
            "address": .text(address), "bytes": .integer(byteCount), "id": .text(id),
            "platform": .text(platform), "runtimeVersion": .text(runtimeVersion),
            "signature": .text(signature), "epoch": epoch > 0 ? .integer(epoch) : nil,
        ])
    }
}

extension ClientDocument {
    fileprivate init(_ value: JSONValue, place: String) throws(PointerProblem) {
        var fields = FieldReader(value.asObject ?? [], place: place)
        self.init(
            platform: try fields.text("platform"),
            runtimeVersion: try fields.text("runtimeVersion"), id: try fields.text("id"),
            address: try fields.address("address"),
            byteCount: try fields.integer("bytes", 0...ChannelPointer.sequenceMax),
            signature: try fields.optionalText("signature"))
        if fields.has("epoch") { epoch = try fields.integer("epoch", 1...ChannelPointer.logMax) }
        try fields.end("there is")
    }
}

// One offer ↔ JSON, as part of a history.

extension ClientOffer {
    var document: JSONValue {
        var (version, facts): (PublishedVersion?, ObjectID?) = (nil, nil)
        if case .version(let offered, let known) = target { (version, facts) = (offered, known) }
        return .members([
            "sequence": .integer(sequence), "createdAt": .integer(createdAt),
            "firstOfferedAt": .integer(firstOfferedAt),
            "embedded": version == nil ? .bool(true) : nil,
            "content": .text(version?.content), "facts": .text(facts),
            "manifest": .text(version?.manifest), "version": .text(version?.name),
            "manifestBytes": version.map { .integer($0.manifestByteCount) },
            "label": .text(label), "id": .text(id), "packageHash": .text(packageHash),
            "manifestDigest": .text(manifestDigest),
            "archive": archive.map {
                .members(["bytes": .integer($0.byteCount), "sha256": .text($0.sha256)])
            },
            "signatures": signatures.isEmpty ? nil : .texts(signatures),
            "documents": documents.isEmpty ? nil : .array(documents.map(\.document)),
        ])
    }

    init(_ value: JSONValue, place: String) throws(PointerProblem) {
        var fields = try FieldReader(value, place: place)
        let times: ClosedRange<Int64> = 0...ChannelPointer.sequenceMax
        let target = try Self.target(&fields, place)
        self.init(
            sequence: try fields.integer("sequence", 1...ChannelPointer.sequenceMax),
            target: target, createdAt: try fields.integer("createdAt", times),
            firstOfferedAt: try fields.integer("firstOfferedAt", times))
        label = try fields.optionalText("label")
        id = try fields.optionalText("id")
        packageHash = try fields.optionalText("packageHash")
        if fields.has("manifestDigest") { manifestDigest = try fields.address("manifestDigest") }
        if let value = fields.take("archive") {
            var inner = FieldReader(value.asObject ?? [], place: "the archive of \(place)")
            archive = ArchiveDigest(
                sha256: try inner.address("sha256"), byteCount: try inner.integer("bytes", times))
            try inner.end("there is")
        }
        for member in fields.take("signatures")?.asObject ?? [] {
            guard let text = member.value.asString else {
                throw .broken("a signature of \(place) is no string")
            }
            signatures[member.key] = text
        }
        if fields.has("documents") {
            for value in try fields.array("documents") {
                documents.append(try ClientDocument(value, place: "a document of \(place)"))
            }
        }
        try fields.end("there is")
    }

    private static func target(
        _ fields: inout FieldReader, _ place: String
    ) throws(PointerProblem) -> Target {
        if try fields.flag("embedded") { return .embedded }
        let name: VersionName
        do throws(StoreError) {
            // The rules for names refuse an empty one.
            name = try VersionName(fields.take("version")?.asString ?? "")
        } catch {
            throw .broken("\(place): \(error.message)")
        }
        let version = PublishedVersion(
            name: name, manifest: try fields.address("manifest"),
            manifestByteCount: try fields.integer(
                "manifestBytes", 1...Int64(OriginLayout.manifestByteCountMax)),
            content: try fields.address("content"))
        return .version(version, facts: try fields.address("facts"))
    }
}
