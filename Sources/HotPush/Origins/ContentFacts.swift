package import CASStore
import StrictJSON

/// What other systems' clients need to know of a version's objects: the file `facts/<address>.json`.
///
/// It is made from the objects alone and named by the SHA-256 of its bytes.
package struct ContentFacts: Sendable, Hashable {
    /// One for each object of the version, sorted by address.
    package var objects: [ObjectFacts]

    package init(_ objects: [ObjectFacts]) {
        self.objects = objects.sorted { $0.address < $1.address }
    }

    /// The distinct deflated copies that they name, by ascending address.
    package var deflatedCopies: [Reference] { Set(objects.compactMap(\.deflatedCopy)).sorted() }

    /// The facts of an object; `nil` if the version does not have it.
    package subscript(address: ObjectID) -> ObjectFacts? {
        let place = objects.firstPosition { $0.address < address }
        return place < objects.count && objects[place].address == address ? objects[place] : nil
    }
}

package struct ObjectFacts: Sendable, Hashable {
    package var address: ObjectID
    package var byteCount: Int64
    /// CRC-32 (ISO 3309).
    package var crc32: UInt32
    /// 32 lower-case hexadecimal digits.
    package var md5: String
    /// The object's bytes as raw DEFLATE (RFC 1951), by the SHA-256 of these; `nil` if they would not be smaller.
    package var deflatedCopy: Reference?

    package init(
        address: ObjectID, byteCount: Int64, crc32: UInt32, md5: String, deflatedCopy: Reference?
    ) {
        self.address = address
        self.byteCount = byteCount
        self.crc32 = crc32
        self.md5 = md5
        self.deflatedCopy = deflatedCopy
    }
}

extension ContentFacts {
    private static let formatVersion: Int64 = 1
    private static let depthMax = 4
    /// The most objects of a version for other systems' clients.
    package static let objectCountMax = 250_000
    package static let byteCountMax = 80 << 20
    /// The largest size that every JSON reader keeps exact (RFC 8259, section 6).
    private static let sizes: ClosedRange<Int64> = 0...ChannelPointer.sequenceMax

    package func serialized() -> [UInt8] {
        JSONWriter.document { writer in
            writer.member("castreeFacts", Self.formatVersion)
            writer.member("objects", objects) { writer, object in
                writer.member("address", object.address.description)
                writer.member("bytes", object.byteCount)
                writer.member("crc32", object.crc32)
                writer.member("md5", object.md5)
                if let deflatedCopy = object.deflatedCopy {
                    writer.member("twin", deflatedCopy.address.description)
                    writer.member("twinBytes", deflatedCopy.byteCount)
                }
            }
        } + [10]
    }

    /// Reads the facts that a release names.
    /// - Throws: `.damagedOrigin` with what is wrong; also if the bytes do not match the address, or are not spelled
    ///   as the publisher spells them.
    package init(_ bytes: [UInt8], named address: ObjectID) throws(StoreError) {
        guard try ObjectID(of: bytes) == address else {
            throw Self.refusal("they are not what their address says")
        }
        try self.init(parsing: bytes)
    }

    /// - Throws: `.damagedOrigin` with what is wrong.
    package init(parsing bytes: [UInt8]) throws(StoreError) {
        do throws(JSONError) {
            self = try Self.parse(bytes)
        } catch {
            throw Self.refusal(error.message)
        }
        guard serialized() == bytes else { throw Self.refusal("their spelling is not canonical") }
    }

    private static func refusal(_ problem: String) -> StoreError {
        let end = problem.hasSuffix(".") ? String(problem.dropLast()) : problem
        return .damagedOrigin(
            "the facts of a version's objects are refused: \(end); castree publish --verify creates them again"
        )
    }

    private static func parse(_ bytes: [UInt8]) throws(JSONError) -> ContentFacts {
        var reader = try JSONReader(
            bytes, limits: JSONLimits(depth: depthMax, byteCount: byteCountMax))
        var format: Int64?
        var objects: [ObjectFacts]?
        try reader.enterObject()
        while let key = try reader.nextKey() {
            switch key {
            case "castreeFacts":
                format = try reader.readInteger()
                guard format == formatVersion else {
                    throw reader.failure("They have another format than \(formatVersion)")
                }
            case "objects": objects = try self.objects(&reader)
            default: throw reader.failure("They have an unknown field")
            }
        }
        try reader.finish()
        guard format != nil, let objects else {
            throw reader.failure("They have no \"castreeFacts\" or no \"objects\"")
        }
        return ContentFacts(objects)
    }

    private static func objects(_ reader: inout JSONReader) throws(JSONError) -> [ObjectFacts] {
        var objects: [ObjectFacts] = []
        try reader.enterArray()
        while try reader.nextElement() {
            guard objects.count < objectCountMax else {
                throw reader.failure("They are of more than \(objectCountMax) objects")
            }
            let object = try self.object(&reader)
            if let before = objects.last, before.address >= object.address {
                throw reader.failure("An object does not come after the one before it")
            }
            objects.append(object)
        }
        return objects
    }

    private static func object(_ reader: inout JSONReader) throws(JSONError) -> ObjectFacts {
        var (address, deflatedCopy): (ObjectID?, ObjectID?)
        var (byteCount, deflatedByteCount, crc32): (Int64?, Int64?, Int64?)
        var md5: String?
        try reader.enterObject()
        while let key = try reader.nextKey() {
            switch key {
            case "address": address = ObjectID(try reader.readString())
            case "bytes": byteCount = try reader.readInteger()
            case "crc32": crc32 = try reader.readInteger()
            case "md5": md5 = try reader.readString()
            case "twin":
                deflatedCopy = ObjectID(try reader.readString())
                guard deflatedCopy != nil else {
                    throw reader.failure("A deflated copy has no address")
                }
            case "twinBytes": deflatedByteCount = try reader.readInteger()
            default: throw reader.failure("An object has an unknown field")
            }
        }
        guard let address, let byteCount, sizes ~= byteCount,
            let checksum = crc32.flatMap({ UInt32(exactly: $0) }),
            let md5, Label(.md5, hex: md5) != nil
        else { throw reader.failure("An object is missing its address, bytes, crc32 or md5") }
        var object = ObjectFacts(
            address: address, byteCount: byteCount, crc32: checksum, md5: md5, deflatedCopy: nil)
        guard deflatedCopy != nil || deflatedByteCount != nil else { return object }
        guard let deflatedCopy, let deflatedByteCount, 1..<max(byteCount, 1) ~= deflatedByteCount
        else {
            throw reader.failure(
                "A deflated copy has no address, or is not smaller than its object")
        }
        object.deflatedCopy = Reference(address: deflatedCopy, byteCount: deflatedByteCount)
        return object
    }
}

extension DirectoryOrigin {
    /// The facts at an address; `nil` if the origin does not hold them.
    /// - Throws: `.damagedOrigin` if they do not match the address.
    package func facts(_ address: ObjectID) throws(StoreError) -> ContentFacts? {
        let bytes = try first(of: [OriginKey(.facts, address)]) { (key) throws(StoreError) in
            try fileSystem.derived(directory, key.path, limit: ContentFacts.byteCountMax)
        }
        return try bytes.map { (bytes) throws(StoreError) in
            try ContentFacts(bytes, named: address)
        }
    }
}

extension FileSystem {
    /// The content of a derived file; `nil` if it is missing (also below a non-directory), too large, closed, or no
    /// file.
    package func derived(
        _ directory: Int32, _ path: String, limit: Int
    ) throws(StoreError) -> [UInt8]? {
        try allowing(
            { [.notFound, .tooLarge].contains($0.code) || $0.isOfPlace },
            try status(directory, path)?.kind == .regular
                ? try contents(directory, path, limit: limit) : nil)
    }
}
