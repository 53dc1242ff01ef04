package import CASStore
import StrictJSON
import Synchronization

// Parses manifests from anywhere, checking every rule first; only the manifest itself is allocated.

extension Manifest {
    /// - Throws: `.badManifest` with what is wrong and where.
    package init(parsing bytes: [UInt8], limits: Limits = Limits()) throws(StoreError) {
        do throws(JSONError) {
            let decoder = ManifestDecoder(
                try JSONReader(bytes, limits: limits.text), byteCount: bytes.count,
                countMax: limits.count, isMetered: limits.isMetered)
            try self.init(decoding: decoder)
        } catch {
            throw StoreError(.badManifest, "the manifest is refused: \(error.message)")
        }
    }

    /// Reads a manifest from a file piece by piece, so that its text is never in memory as a whole.
    /// - Parameter address: gets the text as it is read; `nil` if its address is not needed.
    /// - Throws: `.badManifest` with what is wrong and where; what reading throws.
    init(
        reading file: borrowing RegularFile, _ fileSystem: any FileSystem,
        _ address: RunningAddress? = nil
    ) throws(StoreError) {
        let failure = ReadFailure()
        let raw = file.descriptor.raw
        do throws(JSONError) {
            let reader = try JSONReader(byteCount: file.byteCount, limits: Limits().text) {
                offset, count in
                do throws(StoreError) {
                    let bytes = try fileSystem.read(raw, at: Int64(offset), count: count)
                    address?.add(bytes, at: offset)
                    return bytes
                } catch {
                    failure.note(error)
                    return []
                }
            }
            try self.init(
                decoding: ManifestDecoder(
                    reader, byteCount: file.byteCount, countMax: Self.countMax))
        } catch {
            // A text that could not be read looks truncated.
            if let first = failure.first { throw first }
            throw StoreError(.badManifest, "the manifest is refused: \(error.message)")
        }
    }
}

extension Manifest.Limits {
    fileprivate var text: JSONLimits {
        JSONLimits(depth: Manifest.depthMax, byteCount: byteCount)
    }
}

private final class ReadFailure: Sendable {
    private let error = Mutex<StoreError?>(nil)

    func note(_ failure: StoreError) { error.withLock { if $0 == nil { $0 = failure } } }
    var first: StoreError? { error.withLock { $0 } }
}

private struct ManifestDecoder: ~Copyable {
    var reader: JSONReader
    let countMax: Int
    /// `nil` for the store's own manifests, which are not metered.
    var meter: ReadingMeter?
    var version: String?
    var ordinal: Int64?
    var createdAt: Int64?
    var hasEntries = false
    var received: Manifest.Received?
    var recovered: [Reference]?
    var foreign: [JSONValue.Member] = []
    var records: [Manifest.Record] = []
    var paths: [UInt8] = []
    var extras: [Int: Manifest.Extras] = [:]

    init(
        _ reader: consuming JSONReader, byteCount: Int, countMax: Int, isMetered: Bool = false
    ) {
        self.reader = reader
        self.countMax = countMax
        if isMetered { meter = ReadingMeter(byteCount: byteCount, entryCountMax: countMax) }
        // No entry is shorter than a hundred bytes, and paths are seldom half of the text. A reservation that is
        // never filled takes addresses, not memory, whereas a growing array exists twice for a moment.
        records.reserveCapacity(min(byteCount / 100, countMax))
        paths.reserveCapacity(byteCount / 2)
    }

    mutating func decode() throws(JSONError) {
        var format: Int64?
        try reader.enterObject()
        while let key = try reader.nextKey() {
            reader.discard()
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
            case "received":
                let (reference, format) = try decodeReference("received", hasFormat: true)
                received = .init(format: format ?? "", reference)
            case "recovered":
                var references: [Reference] = []
                try reader.enterArray()
                while try reader.nextElement() {
                    references.append(try decodeReference("recovered").reference)
                }
                recovered = references
            case "entries":
                hasEntries = true
                try reader.enterArray()
                while try reader.nextElement() {
                    reader.discard()
                    try decodeEntry()
                }
            default: foreign.append(.init(key: key, value: try foreignValue()))
            }
        }
        try reader.finish()
        guard format != nil else { throw reader.failure("the field \"castree\" is missing") }
        guard hasEntries else { throw reader.failure("the field \"entries\" is missing") }
    }

    private mutating func foreignValue() throws(JSONError) -> JSONValue {
        if let value = try meter?.readValue(&reader) { return value }
        return try reader.readValue()
    }

    private mutating func natural(_ name: String) throws(JSONError) -> Int64 {
        let value = try reader.readInteger()
        guard value >= 0 else { throw reader.failure("\"\(name)\" must not be negative") }
        return value
    }

    /// Reads an address and a size, and the format if there is one.
    private mutating func decodeReference(
        _ field: String, hasFormat: Bool = false
    ) throws(JSONError) -> (reference: Reference, format: String?) {
        var address: ObjectID?
        var byteCount: Int64?
        var format: String?
        try reader.enterObject()
        while let key = try reader.nextKey() {
            switch key {
            case "address": address = try decodeAddress()
            case "bytes": byteCount = try natural("bytes")
            case "format" where hasFormat: format = try reader.readString()
            default: throw reader.failure("\"\(field)\" has no field \"\(printable(key))\"")
            }
        }
        guard let address, let byteCount, hasFormat == (format != nil) else {
            throw reader.failure(
                hasFormat
                    ? "\"\(field)\" has the fields address, bytes and format"
                    : "each of \"\(field)\" has the fields address and bytes")
        }
        return (Reference(address: address, byteCount: byteCount), format)
    }

    private mutating func decodeEntry() throws(JSONError) {
        if let problem = meter?.addEntry() { throw reader.failure(problem) }
        guard records.count < countMax else {
            throw reader.failure("it has more than \(countMax) entries")
        }
        var address: ObjectID?
        var byteCount: Int64?
        var isExecutable = false
        var more = Manifest.Extras()
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
                while try reader.nextElement() {
                    let route = try reader.readString()
                    if let problem = meter?.addText(route.utf8.count) {
                        throw reader.failure(problem)
                    }
                    more.routes.append(route)
                }
            case "labels": more.labels = try decodeLabels()
            default: more.foreign.append(.init(key: key, value: try foreignValue()))
            }
        }
        guard paths.count > start else { throw reader.failure("an entry has no \"path\"") }
        guard let address else { throw reader.failure("an entry has no \"address\"") }
        guard let byteCount else { throw reader.failure("an entry has no \"bytes\"") }
        guard paths.count <= Int(UInt32.max) else { throw reader.failure("too many paths") }
        if !more.isEmpty { extras[records.count] = more }
        records.append(
            Manifest.Record(
                pathStart: UInt32(start), pathLength: UInt16(paths.count - start),
                isExecutable: isExecutable, byteCount: byteCount, address: address))
    }

    private mutating func decodePath(from start: Int) throws(JSONError) {
        try reader.readStringBytes(appendingTo: &paths)
        let objection = paths.withUnsafeBufferPointer {
            TreePath.objection(to: UnsafeBufferPointer(rebasing: $0[start...]))
        }
        if let objection { throw reader.failure(objection) }
    }

    private mutating func decodeAddress() throws(JSONError) -> ObjectID {
        let start = paths.count
        // The end of the path arena is scratch space; no string is made.
        try reader.readStringBytes(appendingTo: &paths)
        defer { paths.removeLast(paths.count - start) }
        let address = paths.withUnsafeBufferPointer {
            ObjectID.parse(UnsafeBufferPointer(rebasing: $0[start...]))
        }
        guard let address else {
            throw reader.failure("an address has 64 lower-case hexadecimal digits")
        }
        guard address != .zero else {
            throw reader.failure("no object has an address of zeros only")
        }
        return address
    }

    private mutating func decodeLabels() throws(JSONError) -> [Label] {
        var labels: [Label] = []
        try reader.enterObject()
        while let key = try reader.nextKey() {
            let text = try reader.readString()
            guard let algorithm = DigestAlgorithm(rawValue: key), algorithm.identifiesContent,
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
    fileprivate init(decoding decoder: consuming ManifestDecoder) throws(JSONError) {
        try decoder.decode()
        guard let text = decoder.version else {
            throw decoder.reader.failure("the field \"version\" is missing")
        }
        do throws(StoreError) {
            let (records, extras) = Self.sorted(decoder)
            try self.init(
                version: VersionName(text), ordinal: decoder.ordinal ?? 0,
                createdAt: decoder.createdAt ?? 0, records: records, paths: decoder.paths,
                extras: extras, foreign: decoder.foreign)
            received = decoder.received
            recovered = decoder.recovered
            // A short text of deep paths would make a tree of millions of directories.
            if decoder.meter != nil, count + directoryCount > decoder.countMax {
                throw StoreError(
                    .badManifest, ReadingMeter.tooMany(decoder.countMax, isWithDirectories: true))
            }
        } catch {
            throw decoder.reader.failure(error.message)
        }
    }

    // Canonical bytes are sorted already; others are sorted here.
    private static func sorted(
        _ decoder: borrowing ManifestDecoder
    ) -> ([Record], [Int: Extras]) {
        let records = decoder.records
        let order: [Int]? = decoder.paths.withUnsafeBufferPointer { paths in
            func bytes(_ position: Int) -> UnsafeBufferPointer<UInt8> {
                paths.path(
                    at: records[position].pathStart, length: records[position].pathLength)
            }
            let isSorted = (1..<max(records.count, 1)).allSatisfy {
                !bytes($0).precedes(bytes($0 - 1))
            }
            return isSorted
                ? nil : (0..<records.count).sorted { bytes($0).precedes(bytes($1)) }
        }
        guard let order else { return (records, decoder.extras) }
        var extras: [Int: Extras] = [:]
        for (position, old) in order.enumerated() {
            if let more = decoder.extras[old] { extras[position] = more }
        }
        return (order.map { records[$0] }, extras)
    }
}

/// The SHA-256 of a text that is read in pieces, which may overlap.
final class RunningAddress: Sendable {
    private struct State: ~Copyable {
        var digester: Digester
        var count = 0
    }

    private let state: Mutex<State>

    init() throws(StoreError) {
        let digester = try Digester(.sha256)
        state = Mutex(State(digester: digester))
    }

    func add(_ bytes: [UInt8], at offset: Int) {
        state.withLock { state in
            let known = state.count - offset
            guard known >= 0, known < bytes.count else { return }
            bytes.withUnsafeBytes {
                state.digester.update(UnsafeRawBufferPointer(rebasing: $0[known...]))
            }
            state.count = offset + bytes.count
        }
    }

    /// The address of a file's bytes; reads them again if the pieces did not cover all of them.
    func finish(
        _ file: borrowing RegularFile, _ fileSystem: any FileSystem
    ) throws(StoreError) -> ObjectID {
        let known: ObjectID? = state.withLock { state in
            guard state.count == file.byteCount else { return nil }
            return state.digester.finish { ObjectID(unchecked: $0) }
        }
        if let known { return known }
        var checker = try ObjectChecker()
        return try checker.hash(file.descriptor.raw, fileSystem).address
    }
}
