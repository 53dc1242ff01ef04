import CASStore
import HotPush
import StrictJSON
import VersionTree

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

extension ClientDocument {
    fileprivate var document: JSONValue {
        .members([
            "address": .text(address), "bytes": .integer(byteCount), "id": .text(id),
            "platform": .text(platform), "runtimeVersion": .text(runtimeVersion),
            "signature": .text(signature), "epoch": epoch > 0 ? .integer(epoch) : nil,
        ])
    }

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
