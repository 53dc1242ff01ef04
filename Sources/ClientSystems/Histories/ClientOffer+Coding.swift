import CASStore
import HotPush
import StrictJSON
import VersionTree

// One offer ↔ JSON, as part of a history.

extension ClientOffer {
    /// Its JSON members, keys in no particular order.
    var members: [JSONValue.Member] {
        var members: [JSONValue.Member] = [
            .init(key: "sequence", value: .integer(sequence)),
            .init(key: "createdAt", value: .integer(createdAt)),
            .init(key: "firstOfferedAt", value: .integer(firstOfferedAt)),
        ]
        func add(_ key: String, _ text: String?) {
            if let text { members.append(.init(key: key, value: .string(text))) }
        }
        switch target {
        case .embedded: members.append(.init(key: "embedded", value: .bool(true)))
        case .version(let version, let facts):
            add("content", version.content.description)
            add("facts", facts.description)
            add("manifest", version.manifest.description)
            add("version", version.name.description)
            members.append(
                .init(key: "manifestBytes", value: .integer(version.manifestByteCount)))
        }
        add("label", label)
        add("id", id)
        add("packageHash", packageHash)
        add("manifestDigest", manifestDigest?.description)
        if let archive {
            members.append(
                .init(
                    key: "archive",
                    value: .object([
                        .init(key: "bytes", value: .integer(archive.byteCount)),
                        .init(key: "sha256", value: .string(archive.sha256.description)),
                    ])))
        }
        if !signatures.isEmpty {
            members.append(
                .init(
                    key: "signatures",
                    value: .object(
                        signatures.map { .init(key: $0.key, value: .string($0.value)) })))
        }
        if !documents.isEmpty {
            members.append(
                .init(key: "documents", value: .array(documents.map { .object($0.members) })))
        }
        return members
    }

    init(_ value: JSONValue, place: String) throws(PointerProblem) {
        guard let members = value.asObject else { throw .broken("\(place) is no object") }
        var fields = FieldReader(members, place: place)
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
            try inner.end()
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
        try fields.end()
    }

    private static func target(
        _ fields: inout FieldReader, _ place: String
    ) throws(PointerProblem) -> Target {
        if try fields.flag("embedded") { return .embedded }
        let name: VersionName
        do throws(StoreError) {
            name = try VersionName(fields.name("version"))
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
    fileprivate var members: [JSONValue.Member] {
        var members: [JSONValue.Member] = [
            .init(key: "address", value: .string(address.description)),
            .init(key: "bytes", value: .integer(byteCount)),
            .init(key: "id", value: .string(id)),
            .init(key: "platform", value: .string(platform)),
            .init(key: "runtimeVersion", value: .string(runtimeVersion)),
        ]
        if let signature {
            members.append(.init(key: "signature", value: .string(signature)))
        }
        if epoch > 0 { members.append(.init(key: "epoch", value: .integer(epoch))) }
        return members
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
        try fields.end()
    }
}

extension FieldReader {
    fileprivate mutating func optionalText(_ key: String) throws(PointerProblem) -> String? {
        has(key) ? try text(key) : nil
    }

    /// Refuses what nobody took.
    fileprivate func end() throws(PointerProblem) {
        if let unknown = rest.first {
            throw .broken("there is an unknown field \"\(printable(unknown.key))\"")
        }
    }

    /// A text whose absence a version's name tells of.
    fileprivate mutating func name(_ key: String) -> String {
        // What is no name is refused by the rules for names.
        take(key)?.asString ?? ""
    }
}
