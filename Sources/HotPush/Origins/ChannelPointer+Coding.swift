package import CASStore
package import StrictJSON
import VersionTree

// Pointer ↔ bytes: JSON without white space, keys sorted (RFC 8785), one line.

extension ChannelPointer {
    package func serialized() -> [UInt8] { document.fileBytes }

    /// The members are in no particular order.
    package var document: JSONValue {
        let members: [JSONValue.Member] = .present([
            "castreeChannel": .integer(Self.formatVersion), "channel": .text(channel),
            "createdAt": .integer(createdAt), "releases": .array(releases.map(\.document)),
            "sequence": .integer(sequence), "log": .number(log),
            "withdrawn": withdrawn.isEmpty ? nil : .array(withdrawn.map(\.document)),
        ])
        return .object(members + signing + foreign)
    }

    /// Reads an untrusted pointer.
    /// - Parameter channel: the requested channel; a pointer of another one is refused.
    /// - Throws: `.badPointer` with what is wrong; `.unsupportedFormat` for a newer format; `.tooLarge` beyond
    ///   ``byteCountMax``.
    package init(parsing bytes: [UInt8], of channel: ChannelName) throws(StoreError) {
        do throws(PointerProblem) {
            self = try Self.parse(bytes, channel)
        } catch {
            let subject = "the pointer of channel \(channel)"
            if case .tooLarge(let count) = error {
                throw StoreError(
                    .tooLarge,
                    "\(subject) has \(count) bytes; at most \(Self.byteCountMax) are read")
            }
            throw error.storeError(subject, .badPointer, formatVersion: Self.formatVersion)
        }
    }

    /// Refuses to write a pointer that is too large for readers, as others may have filled it.
    /// - Throws: `.tooLarge`.
    package func checkSpace() throws(StoreError) {
        let byteCount = serialized().count
        guard byteCount > Self.byteCountMax else { return }
        throw StoreError(
            .tooLarge,
            "nothing is changed: the pointer of channel \(channel) would have \(byteCount) bytes, more than the "
                + "\(Self.byteCountMax) that are read; withdraw releases, prune with a smaller --keep, or look in "
                + "\(OriginLayout.pointer(channel)) for what castree did not write")
    }

    private static func parse(
        _ bytes: [UInt8], _ channel: ChannelName
    ) throws(PointerProblem) -> ChannelPointer {
        let document = try JSONValue.read(bytes, byteCountMax: byteCountMax, depth: 16)
        let pointer = try ChannelPointer(document, of: channel)
        guard pointer.signatures.isEmpty || pointer.serialized() == bytes else {
            throw Self.notCanonical
        }
        return pointer
    }

    package init(_ document: JSONValue, of channel: ChannelName) throws(PointerProblem) {
        guard let members = document.asObject else { throw .broken("it is not an object") }
        guard let format = document["castreeChannel"]?.asInt64, format > 0 else {
            throw .broken("it has no format number (\"castreeChannel\")")
        }
        guard format <= Self.formatVersion else { throw .newer(format) }
        var fields = FieldReader(members, place: "the pointer")
        _ = try fields.integer("castreeChannel", 1...Self.formatVersion)
        let name = try fields.text("channel")
        guard name.utf8.elementsEqual(channel.description.utf8) else {
            throw .broken(
                "it is that of channel \"\(printable(name))\"; publish to each channel "
                    + "instead of copying its file")
        }
        let sequence = try fields.integer("sequence", 1...Self.sequenceMax)
        let createdAt = try fields.integer("createdAt", 0...Self.sequenceMax)
        let log = try fields.integer(ifThere: "log", 1...Self.logMax)
        var releases: [ChannelRelease] = []
        let values = try fields.array("releases")
        guard values.count <= Self.releaseCountMax else {
            throw .broken("it lists \(values.count) releases, more than \(Self.releaseCountMax)")
        }
        for (position, value) in values.enumerated() {
            // The log begins with epoch 0, and each entry raises it by at most one.
            let release = try ChannelRelease(
                value, place: "release \(position + 1)", epochMax: (log ?? 1) - 1)
            guard release.sequence <= sequence else {
                throw .broken("release \(position + 1) has a larger sequence than the pointer")
            }
            if let before = releases.last, before.sequence <= release.sequence {
                throw .broken("release \(position + 1) is not older than the one before it")
            }
            releases.append(release)
        }
        self.init(
            channel: channel, sequence: sequence, createdAt: createdAt, releases: releases,
            log: log)
        if fields.has("withdrawn") {
            for value in try fields.array("withdrawn").prefix(Self.withdrawnCountMax) {
                withdrawn.append(try WithdrawnVersion(value))
            }
        }
        try readSigning(&fields)
        foreign = fields.rest
        if !signatures.isEmpty { try checkSigned(document) }
    }
}

extension WithdrawnVersion {
    fileprivate var document: JSONValue {
        .members(["content": .text(content), "version": .text(name)])
    }

    fileprivate init(_ value: JSONValue) throws(PointerProblem) {
        // The document is refused, whatever is wrong with the name.
        guard let name = value["version"]?.asString.flatMap({ try? VersionName($0) }),
            let content = value["content"]?.asString.flatMap({ ObjectID($0) })
        else { throw .broken("something in \"withdrawn\" is no version and its content") }
        self.init(name: name, content: content)
    }
}

extension ChannelRelease {
    package var document: JSONValue {
        let requirements = writtenRequirements.map {
            JSONValue.Member(key: $0.kind, value: .string($0.value))
        }
        let members: [JSONValue.Member] = .present([
            "createdAt": .integer(createdAt), "sequence": .integer(sequence),
            "embedded": version == nil ? .bool(true) : nil,
            "content": .text(version?.content), "manifest": .text(version?.manifest),
            "manifestBytes": .number(version?.manifestByteCount),
            "version": .text(version?.name), "epoch": .epoch(version?.epoch),
            "places": .text(version?.places),
            "mandatory": isMandatory ? .bool(true) : nil,
            "delivery": .text(delivery?.address), "deliveryBytes": .number(delivery?.byteCount),
            "deliveryEpoch": .epoch(delivery?.epoch),
            "facts": .text(facts?.address), "factsEpoch": .epoch(facts?.epoch),
            "factsPlaces": .text(facts?.places),
            "rolloutPerMille": .number(rollout.map { Int64($0.perMille) }),
            "rolloutSalt": .text(rollout?.salt),
            "requirements": requirements.isEmpty ? nil : .object(requirements),
        ])
        return .object(members + foreign)
    }

    fileprivate init(_ value: JSONValue, place: String, epochMax: Int64) throws(PointerProblem) {
        var fields = try FieldReader(value, place: place)
        let target = try Self.target(&fields, place, epochMax)
        let sequence = try fields.integer("sequence", 1...ChannelPointer.sequenceMax)
        let createdAt = try fields.integer("createdAt", 0...ChannelPointer.sequenceMax)
        let isMandatory = try fields.flag("mandatory")
        let rollout = try Self.rollout(&fields, place)
        var requirements = try Self.requirements(&fields, place)
        if case .version(let version) = target, version.epoch > 0 {
            requirements.removeAll { $0 == .knowingEpochs }
        }
        let delivery = Self.delivery(&fields, epochMax)
        let facts = try Self.facts(&fields, place, epochMax)
        self.init(
            target, sequence: sequence, createdAt: createdAt, rollout: rollout,
            requirements: requirements, isMandatory: isMandatory, delivery: delivery,
            facts: facts, foreign: fields.rest)
        // The requirement added by its epoch must fit, too, for whoever writes the pointer next.
        if let problem = writtenRequirements.problem { throw .broken("\(place): \(problem)") }
    }

    private static func target(
        _ fields: inout FieldReader, _ place: String, _ epochMax: Int64
    ) throws(PointerProblem) -> Target {
        if try fields.flag("embedded") {
            for key in [
                "content", "delivery", "epoch", "facts", "factsEpoch", "factsPlaces", "manifest",
                "manifestBytes", "places", "version",
            ] where fields.has(key) {
                throw .broken("\(place) names the embedded version and has \"\(key)\"")
            }
            return .embedded
        }
        let text = try fields.text("version")
        let name: VersionName
        do throws(StoreError) {
            name = try VersionName(text)
        } catch {
            throw .broken("\(place): \(error.message)")
        }
        let byteCountMax = Int64(OriginLayout.manifestByteCountMax)
        var version = PublishedVersion(
            name: name, manifest: try fields.address("manifest"),
            manifestByteCount: try fields.integer("manifestBytes", 1...byteCountMax),
            content: try fields.address("content"))
        try locate(&version, &fields, place, epochMax)
        return .version(version)
    }

    private static func locate(
        _ version: inout PublishedVersion, _ fields: inout FieldReader, _ place: String,
        _ epochMax: Int64
    ) throws(PointerProblem) {
        version.epoch = try fields.integer(ifThere: "epoch", 0...ChannelPointer.logMax) ?? 0
        guard version.epoch <= epochMax else {
            throw .broken(
                "\(place) has epoch \(version.epoch), and the log has at most \(epochMax) there")
        }
        guard fields.has("places") else { return }
        guard version.epoch > 0 else { throw .broken("\(place) has \"places\" and no \"epoch\"") }
        version.places = try fields.address("places")
    }

    private static func facts(
        _ fields: inout FieldReader, _ place: String, _ epochMax: Int64
    ) throws(PointerProblem) -> PublishedFacts? {
        let address = try fields.address(ifThere: "facts")
        let epoch = try fields.integer(ifThere: "factsEpoch", 0...epochMax) ?? 0
        let places = try fields.address(ifThere: "factsPlaces")
        guard address != nil || (epoch == 0 && places == nil) else {
            throw .broken("\(place) says where facts stand, and has no \"facts\"")
        }
        guard epoch > 0 || places == nil else {
            throw .broken("\(place) has \"factsPlaces\" and no \"factsEpoch\"")
        }
        return address.map { PublishedFacts(address: $0, epoch: epoch, places: places) }
    }

    private static func delivery(
        _ fields: inout FieldReader, _ epochMax: Int64
    ) -> PublishedDelivery? {
        let (address, byteCount) = (fields.take("delivery"), fields.take("deliveryBytes"))
        let epoch = fields.take("deliveryEpoch") ?? .integer(0)
        // Packs only save work: an unreadable delivery costs only the packs.
        guard let address = address?.asString.flatMap({ ObjectID($0) }),
            let byteCount = byteCount?.asInt64, 1...Delivery.byteCountMax ~= byteCount,
            let epoch = epoch.asInt64, 0...epochMax ~= epoch
        else { return nil }
        return PublishedDelivery(address: address, byteCount: byteCount, epoch: epoch)
    }

    private static func rollout(
        _ fields: inout FieldReader, _ place: String
    ) throws(PointerProblem) -> Rollout? {
        guard fields.has("rolloutPerMille") || fields.has("rolloutSalt") else { return nil }
        let perMille = try fields.integer("rolloutPerMille", 0...1000)
        let salt = try fields.text("rolloutSalt")
        let rollout = Rollout(perMille: Int(perMille), salt: salt)
        if let problem = rollout.problem { throw .broken("\(place): \(problem)") }
        return rollout
    }

    private static func requirements(
        _ fields: inout FieldReader, _ place: String
    ) throws(PointerProblem) -> [Requirement] {
        guard let value = fields.take("requirements") else { return [] }
        guard let members = value.asObject else {
            throw .broken("the \"requirements\" of \(place) are not an object")
        }
        var requirements: [Requirement] = []
        for member in members {
            guard let text = member.value.asString else {
                throw .broken("a requirement of \(place) is not a string")
            }
            requirements.append(Requirement(kind: member.key, value: text))
        }
        if let problem = requirements.problem { throw .broken("\(place): \(problem)") }
        return requirements
    }
}

extension ChannelPointer {
    /// Sets the signed bytes apart from everything else that a key may sign.
    private static let signedPrefix = Array("castree-pointer 1\n".utf8)

    /// The bytes that its signatures sign: a prefix, and the pointer without signatures in canonical form (RFC 8785).
    package var signedBytes: [UInt8] {
        var unsigned = self
        unsigned.signatures = []
        return Self.signedBytes(of: unsigned.document)
    }

    package static func signedBytes(of unsigned: JSONValue) -> [UInt8] {
        signedPrefix + JSONWriter.serialize(unsigned, sortedKeys: true)
    }

    /// Whether it has a signature, trusted or not.
    package var isSigned: Bool { !signatures.isEmpty }

    /// Whether a text is spelled like the id of an origin: 32 lower-case hexadecimal digits.
    package static func isOriginID(_ text: String) -> Bool {
        text.utf8.count == 32 && Hex.bytes(text) != nil
    }

    /// Why it cannot be signed as it is; `nil` if it can.
    package var objectionToSigning: String? {
        if origin == nil { return "it does not say of which origin it is (\"origin\")" }
        guard document.hasOnlyExactIntegers else {
            return "it has a number that is no integer within ±(2^53 − 1)"
        }
        return nil
    }

    package var signing: [JSONValue.Member] {
        .present([
            "origin": .text(origin), "trustVersion": .number(trustVersion),
            "expiresAt": .number(expiresAt),
            "signatures": signatures.isEmpty ? nil : signatures.document,
        ])
    }

    mutating func readSigning(_ fields: inout FieldReader) throws(PointerProblem) {
        if fields.has("origin") {
            let origin = try fields.text("origin")
            guard Self.isOriginID(origin) else {
                throw .broken("\"origin\" is not 32 lower-case hexadecimal digits")
            }
            self.origin = origin
        }
        trustVersion = try fields.integer(ifThere: "trustVersion", 2...Self.sequenceMax)
        expiresAt = try fields.integer(ifThere: "expiresAt", 0...Self.sequenceMax)
        if fields.has("signatures") { signatures = try [PointerSignature](&fields) }
    }

    /// Refuses a signed pointer that readers could understand in two ways.
    /// - Parameter document: what it was read from.
    package func checkSigned(_ document: JSONValue) throws(PointerProblem) {
        if let objection = objectionToSigning { throw .broken("it is signed, but \(objection)") }
        guard
            JSONWriter.serialize(document, sortedKeys: true)
                == JSONWriter.serialize(self.document, sortedKeys: true)
        else { throw Self.notCanonical }
    }

    static var notCanonical: PointerProblem {
        .broken("it is signed, and not in its canonical form (RFC 8785, and a newline)")
    }
}

extension JSONValue {
    /// Whether all JSON readers agree on its numbers (RFC 8785, section 3.2.2.3, without fractions).
    var hasOnlyExactIntegers: Bool {
        switch self {
        case .number:
            asInt64.map { -ChannelPointer.sequenceMax...ChannelPointer.sequenceMax ~= $0 } ?? false
        case .array(let elements): elements.allSatisfy(\.hasOnlyExactIntegers)
        case .object(let members): members.allSatisfy(\.value.hasOnlyExactIntegers)
        default: true
        }
    }
}
