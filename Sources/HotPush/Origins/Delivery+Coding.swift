package import CASStore
import StrictJSON

// Delivery ↔ bytes: JSON without white space, keys sorted (RFC 8785), one line.

extension Delivery {
    /// The bytes of the file.
    package func serialized() -> [UInt8] {
        JSONWriter.document { writer in
            writer.member("castreeDelivery", Self.formatVersion)
            writer.member("manifest", manifest.description)
            writer.member("packs", packs) { writer, pack in
                writer.member("address", pack.address.description)
                writer.member("bytes", pack.byteCount)
                writer.key("codecs")
                writer.array(pack.codecs) { $0.integer($1) }
                writer.member("content", pack.contentByteCount)
                if let base = pack.base { writer.member("from", [base.description]) }
                writer.member("memory", pack.memoryByteCount)
                writer.member("objects", pack.objectCount)
                writer.member("toc", pack.openingByteCount)
            }
        } + [10]
    }

    /// Reads the delivery that a release names.
    /// - Throws: `.badPack` also for other bytes than its address says.
    package init(
        _ bytes: [UInt8], named published: PublishedDelivery, of version: PublishedVersion
    ) throws(StoreError) {
        guard try ObjectID(of: bytes) == published.address else {
            throw StoreError(
                .badPack, "the delivery is refused: it is not what its address says")
        }
        try self.init(parsing: bytes, of: version)
    }

    /// Reads a delivery, which may come from anywhere.
    ///
    /// Leaves out packs that lead from several contents: this castree makes and reads none.
    /// - Parameter version: what the release names; a delivery of another manifest is refused.
    /// - Throws: `.badPack` with what is wrong; also for a newer format.
    package init(
        parsing bytes: [UInt8], of version: PublishedVersion
    ) throws(StoreError) {
        do throws(PointerProblem) {
            self = try Self.parse(bytes, version)
        } catch {
            let problem: String
            switch error {
            case .broken(let text): problem = text
            case .newer(let format): problem = "it has format \(format), which is newer"
            case .tooLarge(let count): problem = "it has \(count) bytes"
            }
            throw StoreError(.badPack, "the delivery is refused: \(problem)")
        }
    }

    private static func parse(
        _ bytes: [UInt8], _ version: PublishedVersion
    ) throws(PointerProblem) -> Delivery {
        guard bytes.count <= byteCountMax else { throw .tooLarge(bytes.count) }
        let document: JSONValue
        do throws(JSONError) {
            document = try JSONValue.parse(bytes, limits: JSONLimits(depth: depthMax))
        } catch {
            throw .broken(error.message)
        }
        guard let members = document.asObject else { throw .broken("it is no object") }
        var fields = FieldReader(members, place: "the delivery")
        let format = try fields.integer("castreeDelivery", 1...ChannelPointer.sequenceMax)
        guard format == formatVersion else { throw .newer(format) }
        guard try fields.address("manifest") == version.manifest else {
            throw .broken("it leads to another manifest")
        }
        let values = try fields.array("packs")
        guard values.count <= packCountMax else {
            throw .broken("it has \(values.count) packs, more than \(packCountMax)")
        }
        var delivery = Delivery(manifest: version.manifest, packs: [])
        for (position, value) in values.enumerated() {
            guard let pack = try Pack(value, place: "pack \(position + 1)") else { continue }
            let content = pack.contentByteCount.addingClamped(version.manifestByteCount)
            guard pack.byteCount <= PackLimits.packByteCountMax(ofContent: content) else {
                throw .broken("pack \(position + 1) is larger than what comes out of it")
            }
            let opening = PackLimits.openingByteCountMax(ofManifest: version.manifestByteCount)
            guard pack.openingByteCount <= opening else {
                throw .broken("the beginning of pack \(position + 1) is larger than its manifest")
            }
            delivery.packs.append(pack)
        }
        return delivery
    }
}

extension Delivery.Pack {
    /// - Returns: nil for a pack that leads from several contents.
    fileprivate init?(_ value: JSONValue, place: String) throws(PointerProblem) {
        guard let members = value.asObject else { throw .broken("\(place) is no object") }
        var fields = FieldReader(members, place: place)
        let sizes: ClosedRange<Int64> = 0...ChannelPointer.sequenceMax
        address = try fields.address("address")
        byteCount = try fields.integer(
            "bytes", Int64(PackHead.byteCount)...PackLimits.packByteCountMax)
        contentByteCount = try fields.integer("content", sizes)
        openingByteCount = try fields.integer("toc", Int64(PackHead.byteCount)...byteCount)
        objectCount = try fields.integer("objects", sizes)
        memoryByteCount = try fields.integer("memory", sizes)
        codecs = []
        for codec in try fields.array("codecs") {
            guard let number = codec.asInt64 else {
                throw .broken("a codec of \(place) is no number")
            }
            codecs.append(number)
        }
        guard fields.has("from") else {
            base = nil
            return
        }
        let bases = try fields.array("from")
        guard let text = bases.first?.asString, let base = ObjectID(text) else {
            throw .broken("\"from\" of \(place) is no list of contents")
        }
        guard bases.count == 1 else { return nil }
        self.base = base
    }
}
