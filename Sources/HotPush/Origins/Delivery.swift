package import CASStore
package import StrictJSON
import VersionTree

/// The packs that lead to a manifest: the document `deliveries/<address>.json`, which a release of a channel names.
///
/// It is immutable and named by the SHA-256 of its bytes. It only saves work: objects can be fetched one by one.
package struct Delivery: Sendable, Hashable {
    package static let formatVersion: Int64 = 1
    package static let byteCountMax: Int64 = 256 << 10
    package static let packCountMax = 64
    package static let depthMax = 8

    package struct Pack: Sendable, Hashable {
        /// The SHA-256 of its bytes, which gives its path.
        package var address: ObjectID
        package var byteCount: Int64
        /// The size of the opening, which a device needs first: head, table, and the manifest's frame.
        package var openingByteCount: Int64
        package var objectCount: Int64
        /// The size of these objects.
        package var contentByteCount: Int64
        /// The content whose objects must be present; `nil` for a full pack.
        package var base: ObjectID?
        /// The numbers of the codecs of its frames, sorted.
        package var codecs: [Int64]
        /// The memory for decoding besides mapped files, in bytes.
        package var memoryByteCount: Int64

        package init(
            address: ObjectID, byteCount: Int64, openingByteCount: Int64, objectCount: Int64,
            contentByteCount: Int64, base: ObjectID?, codecs: [Int64], memoryByteCount: Int64
        ) {
            self.address = address
            self.byteCount = byteCount
            self.openingByteCount = openingByteCount
            self.objectCount = objectCount
            self.contentByteCount = contentByteCount
            self.base = base
            self.codecs = codecs
            self.memoryByteCount = memoryByteCount
        }

        /// Whether this castree has its codecs, and grants the memory that it takes.
        var isReadable: Bool {
            codecs.allSatisfy { UInt8(exactly: $0).flatMap(PackCodec.init(rawValue:)) != nil }
                && memoryByteCount <= Self.memoryByteCountMax
        }

        package static let memoryByteCountMax: Int64 = 16 << 20
    }

    /// The manifest to which all packs lead.
    package var manifest: ObjectID
    /// In no particular order.
    package var packs: [Pack]

    package init(manifest: ObjectID, packs: [Pack]) {
        self.manifest = manifest
        self.packs = packs
    }
}

package struct PublishedDelivery: Sendable, Hashable {
    /// The SHA-256 of its bytes, which gives its path.
    package var address: ObjectID
    package var byteCount: Int64
    /// The epoch of the delivery and all its packs.
    package var epoch: Int64

    package init(address: ObjectID, byteCount: Int64, epoch: Int64 = 0) {
        self.address = address
        self.byteCount = byteCount
        self.epoch = epoch
    }
}

extension Delivery {
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

    /// - Throws: `.badPack`, also if the bytes do not match the address.
    package init(
        _ bytes: [UInt8], named published: PublishedDelivery, of version: PublishedVersion
    ) throws(StoreError) {
        guard try ObjectID(of: bytes) == published.address else {
            throw StoreError(.badPack, "the delivery is refused: it is not what its address says")
        }
        try self.init(parsing: bytes, of: version)
    }

    /// Reads an untrusted delivery, without packs that have several bases, which this castree does not know.
    /// - Parameter version: what the release names; a delivery of another manifest is refused.
    /// - Throws: `.badPack` with what is wrong; also for a newer format.
    package init(parsing bytes: [UInt8], of version: PublishedVersion) throws(StoreError) {
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
        let document = try JSONValue.read(bytes, byteCountMax: Int(byteCountMax), depth: depthMax)
        var fields = try FieldReader(
            document, "the delivery", format: "castreeDelivery", upTo: formatVersion)
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
    /// - Returns: `nil` for a pack that has several bases.
    fileprivate init?(_ value: JSONValue, place: String) throws(PointerProblem) {
        var fields = try FieldReader(value, place: place)
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
                throw .broken("a codec of \(place) is not a number")
            }
            codecs.append(number)
        }
        guard fields.has("from") else {
            base = nil
            return
        }
        let bases = try fields.array("from")
        guard let text = bases.first?.asString, let base = ObjectID(text) else {
            throw .broken("\"from\" of \(place) is not a list of contents")
        }
        guard bases.count == 1 else { return nil }
        self.base = base
    }
}

/// What one pack of a delivery costs a device, compared with the same objects one by one.
package struct DeliveryEntry: Sendable, Hashable {
    /// The content from which the pack leads; `nil` for a full pack.
    package var base: ObjectID?
    /// A version that has that content.
    package var version: String?
    /// The channel that lists it; `nil` for the release's own.
    package var channel: ChannelName?
    package var pack: Delivery.Pack
    /// What each codec does in it; empty if the pack was not looked at.
    package var shares: [CodecShare] = []
    /// The size of the delivery and the pack.
    package var byteCount: Int64
    /// Pointer, delivery, pack.
    package var requestCount: Int64 { 3 }
    /// The size of the manifest and the objects.
    package var rawByteCount: Int64
    /// Pointer, manifest, and one for each object.
    package var rawRequestCount: Int64

    /// The costs of a release's packs, the full pack's first.
    /// - Parameters:
    ///   - pointer: gives the names of contents.
    ///   - others: give the names that `pointer` does not.
    ///   - shares: what each codec does in a pack, by its address.
    package static func all(
        of delivery: Delivery, _ release: ChannelRelease, in pointer: ChannelPointer,
        besides others: [ChannelPointer] = [], sharing shares: [ObjectID: [CodecShare]] = [:]
    ) -> [DeliveryEntry] {
        guard let version = release.version, let published = release.delivery else { return [] }
        let entries = delivery.packs.map { pack in
            let source = ([pointer] + others).first { $0.version(with: pack.base) != nil }
            return DeliveryEntry(
                base: pack.base, version: source?.version(with: pack.base),
                channel: source?.channel == pointer.channel ? nil : source?.channel,
                pack: pack, shares: shares[pack.address] ?? [],
                byteCount: pack.byteCount + published.byteCount,
                rawByteCount: pack.contentByteCount.addingClamped(version.manifestByteCount),
                rawRequestCount: pack.objectCount.addingClamped(2))
        }
        return entries.filter { $0.base == nil } + entries.filter { $0.base != nil }
    }
}

extension ChannelPointer {
    fileprivate func version(with content: ObjectID?) -> String? {
        releases.compactMap(\.version).first { $0.content == content }?.name.description
    }
}

extension DeliveryEntry {
    package func writeMembers(to writer: inout JSONWriter) {
        writer.member("from", base?.description)
        writer.member("fromVersion", version)
        writer.member("packBytes", pack.byteCount)
        shares.writeMember(to: &writer)
        writer.member("bytes", byteCount)
        writer.member("requests", requestCount)
        writer.member("rawBytes", rawByteCount)
        writer.member("rawRequests", rawRequestCount)
    }

    /// The cost for a device in words.
    /// - Parameters:
    ///   - release: the version to which it leads.
    ///   - size: formats a number of bytes.
    package func sentence(to release: String, size: (Int64) -> String) -> String {
        let start =
            switch (base, version) {
            case (nil, _): "from nothing"
            case (_, let version?): "from \(version)\(channel.map { " of channel \($0)" } ?? "")"
            case (let base?, nil):
                "from a content that no channel here lists (\(base.shortDescription))"
            }
        let shares = shares.text(size: size)
        return "\(release) \(start): \(size(byteCount)) in \(requestCount) requests; "
            + "raw \(size(rawByteCount)) in \(rawRequestCount)"
            + (shares.isEmpty ? "" : " (\(shares))")
    }
}
