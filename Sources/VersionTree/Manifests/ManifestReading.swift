public import CASStore
import StrictJSON

// Bytes → manifest. The bytes may come from anywhere: every rule is checked before anything is
// believed, and nothing but the manifest itself is allocated.

extension Manifest {
    /// Reads a manifest.
    /// - Throws: `.badManifest` with what is wrong and where.
    public init(parsing bytes: [UInt8]) throws(StoreError) {
        do throws(JSONError) {
            var decoder = try ManifestDecoder(bytes)
            try decoder.decode()
            try self.init(decoder)
        } catch {
            throw StoreError(.badManifest, "the manifest is refused: \(error.message)")
        }
    }
}

/// A manifest half read.
private struct ManifestDecoder: ~Copyable {
    var reader: JSONReader
    var version: String?
    var ordinal: Int64?
    var createdAt: Int64?
    var hasEntries = false
    var foreign: [JSONValue.Member] = []
    var records: [Manifest.Record] = []
    var paths: [UInt8] = []
    var details: [Int: Manifest.Details] = [:]

    init(_ bytes: [UInt8]) throws(JSONError) {
        reader = try JSONReader(bytes)
    }

    mutating func decode() throws(JSONError) {
        var format: Int64?
        try reader.enterObject()
        while let key = try reader.nextKey() {
            switch key {
            case "castree":
                format = try reader.readInteger()
                if format != Manifest.formatVersion {
                    throw reader.failure(
                        "the manifest has format \(format ?? 0); this castree knows "
                            + "\(Manifest.formatVersion)")
                }
            case "version": version = try reader.readString()
            case "order": ordinal = try natural("order")
            case "createdAt": createdAt = try natural("createdAt")
            case "entries":
                hasEntries = true
                try reader.enterArray()
                while try reader.nextElement() { try decodeEntry() }
            default: foreign.append(.init(key: key, value: try reader.readValue()))
            }
        }
        try reader.finish()
        guard format != nil else { throw reader.failure("the field \"castree\" is missing") }
        guard hasEntries else { throw reader.failure("the field \"entries\" is missing") }
    }

    private mutating func natural(_ name: String) throws(JSONError) -> Int64 {
        let value = try reader.readInteger()
        guard value >= 0 else { throw reader.failure("\"\(name)\" must not be negative") }
        return value
    }

    private mutating func decodeEntry() throws(JSONError) {
        guard records.count < Manifest.countMax else {
            throw reader.failure("more than \(Manifest.countMax) entries")
        }
        var address: ObjectID?
        var byteCount: Int64?
        var isExecutable = false
        var more = Manifest.Details()
        let start = paths.count
        try reader.enterObject()
        while let key = try reader.nextKey() {
            switch key {
            case "address": address = try decodeAddress()
            case "bytes": byteCount = try natural("bytes")
            case "path": try decodePath(from: start)
            case "executable": isExecutable = try reader.readBool()
            case "routes":
                try reader.enterArray()
                while try reader.nextElement() { more.routes.append(try reader.readString()) }
            case "labels": more.labels = try decodeLabels()
            default: more.foreign.append(.init(key: key, value: try reader.readValue()))
            }
        }
        guard paths.count > start else { throw reader.failure("an entry has no \"path\"") }
        guard let address else { throw reader.failure("an entry has no \"address\"") }
        guard let byteCount else { throw reader.failure("an entry has no \"bytes\"") }
        guard paths.count <= Int(UInt32.max) else { throw reader.failure("too many paths") }
        if !more.isEmpty { details[records.count] = more }
        records.append(
            Manifest.Record(
                pathStart: UInt32(start), pathLength: UInt16(paths.count - start),
                isExecutable: isExecutable, byteCount: byteCount, address: address))
    }

    private mutating func decodePath(from start: Int) throws(JSONError) {
        try reader.readStringBytes(appendingTo: &paths)
        let problem = paths[start...].withUnsafeBufferPointer { TreePath.problem($0) }
        if let problem {
            let text = String(decoding: paths[start...], as: UTF8.self)
            throw reader.failure("\"\(printable(text))\" cannot be a path: \(problem)")
        }
    }

    private mutating func decodeAddress() throws(JSONError) -> ObjectID {
        let start = paths.count
        // The end of the path arena serves as scratch space; no string is made.
        try reader.readStringBytes(appendingTo: &paths)
        defer { paths.removeLast(paths.count - start) }
        let address = paths[start...].withUnsafeBufferPointer { ObjectID.parse($0) }
        guard let address else {
            throw reader.failure("an address has 64 lower-case hexadecimal digits")
        }
        return address
    }

    private mutating func decodeLabels() throws(JSONError) -> [Label] {
        var labels: [Label] = []
        try reader.enterObject()
        while let key = try reader.nextKey() {
            let text = try reader.readString()
            guard let algorithm = DigestAlgorithm(rawValue: key),
                let label = Label(algorithm, hex: text)
            else {
                throw reader.failure(
                    "the label \"\(printable(key))\" is not a known digest in lower-case digits")
            }
            labels.append(label)
        }
        return labels
    }
}

extension Manifest {
    fileprivate init(_ decoder: borrowing ManifestDecoder) throws(JSONError) {
        guard let text = decoder.version else {
            throw decoder.reader.failure("the field \"version\" is missing")
        }
        do throws(StoreError) {
            let (records, details) = Self.sorted(decoder)
            try self.init(
                version: VersionName(text), ordinal: decoder.ordinal ?? 0,
                createdAt: decoder.createdAt ?? 0, records: records, paths: decoder.paths,
                details: details, foreign: decoder.foreign)
        } catch {
            throw decoder.reader.failure(error.message)
        }
    }

    // Canonical bytes are sorted already; others are sorted here.
    private static func sorted(
        _ decoder: borrowing ManifestDecoder
    ) -> ([Record], [Int: Details]) {
        let records = decoder.records
        let paths = decoder.paths
        func bytes(_ position: Int) -> ArraySlice<UInt8> {
            let start = Int(records[position].pathStart)
            return paths[start..<start + Int(records[position].pathLength)]
        }
        let isSorted = (1..<max(records.count, 1)).allSatisfy {
            !bytes($0).lexicographicallyPrecedes(bytes($0 - 1))
        }
        if isSorted { return (records, decoder.details) }
        let order = (0..<records.count).sorted {
            bytes($0).lexicographicallyPrecedes(bytes($1))
        }
        var details: [Int: Details] = [:]
        for (position, old) in order.enumerated() {
            if let more = decoder.details[old] { details[position] = more }
        }
        return (order.map { records[$0] }, details)
    }
}

/// Reads manifests for the index.
package struct StoredManifests: ManifestReading {
    package init() {}

    package func registration(
        of name: String, from bytes: [UInt8]
    ) throws(StoreError) -> Registration {
        let manifest = try Manifest(parsing: bytes)
        guard manifest.version.description == name else {
            throw StoreError(
                .badManifest,
                "the manifest file of version \(printable(name)) is that of \(manifest.version)")
        }
        var digester = try Digester(.sha256)
        bytes.withUnsafeBytes { digester.update($0) }
        return try manifest.registration(manifest: digester.finish { ObjectID(unchecked: $0) })
    }
}
