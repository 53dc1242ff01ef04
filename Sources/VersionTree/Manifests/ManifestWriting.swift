package import CASStore
import StrictJSON

// Writes the canonical bytes: JSON without white space, keys sorted (RFC 8785), entries sorted by path. Equal
// manifests have equal bytes. A large manifest is never in memory as a whole.

extension Manifest {
    package static let formatVersion: Int64 = 1

    /// Calls `body` with the canonical bytes, in pieces of about 32 KiB.
    /// - Throws: `.tooLarge` if they could not be read back; what `body` throws.
    package func serialize(
        limits: Limits = Limits(), _ body: ([UInt8]) throws(StoreError) -> Void
    ) throws(StoreError) {
        var written = 0
        func emit(_ piece: [UInt8]) throws(StoreError) {
            written += piece.count
            guard written <= limits.byteCount else { throw tooLong(limits) }
            try body(piece)
        }
        var writer = JSONWriter()
        writer.beginObject()
        // Our own fields and the foreign ones, in order.
        var known = ["castree", "createdAt", "entries", "order", "version"]
        if received != nil { known.append("received") }
        if recovered != nil { known.append("recovered") }
        for key in Self.merged(known, foreign) {
            writer.key(key)
            switch key {
            case "castree": writer.integer(Self.formatVersion)
            case "createdAt": writer.integer(createdAt)
            case "order": writer.integer(ordinal)
            case "received":
                if let received {
                    write(received.reference, format: received.format, &writer)
                }
            case "recovered":
                writer.array((recovered ?? []).sorted()) { write($1, &$0) }
            case "version": writer.string(version.description)
            case "entries":
                writer.beginArray()
                for position in 0..<count {
                    write(position, &writer)
                    if writer.bytes.count > 32 * 1024 { try emit(writer.drain()) }
                }
                writer.endArray()
            default: Self.write(key, of: foreign, &writer)
            }
        }
        writer.endObject()
        try emit(writer.drain())
    }

    private func tooLong(_ limits: Limits) -> StoreError {
        StoreError(
            .tooLarge,
            "the manifest of version \(version) would have more than \(limits.byteCount) bytes, which "
                + "nobody reads; make several versions of it, or shorten its paths and fields")
    }

    /// The canonical bytes.
    /// - Throws: `.tooLarge` above 1 GiB.
    package func serialized() throws(StoreError) -> [UInt8] {
        var bytes: [UInt8] = []
        try serialize { (piece) throws(StoreError) in bytes += piece }
        return bytes
    }

    private func write(
        _ reference: Reference, format: String? = nil, _ writer: inout JSONWriter
    ) {
        writer.beginObject()
        writer.key("address")
        writeAddress(reference.address, &writer)
        writer.member("bytes", reference.byteCount)
        if let format { writer.member("format", format) }
        writer.endObject()
    }

    private func write(_ position: Int, _ writer: inout JSONWriter) {
        let record = records[position]
        // The path of nearly all entries.
        guard let more = extras[position] else { return writePlain(position, &writer) }
        writer.beginObject()
        var known = ["address", "bytes", "path"]
        if record.isExecutable { known.append("executable") }
        if !more.labels.isEmpty { known.append("labels") }
        if !more.routes.isEmpty { known.append("routes") }
        for key in Self.merged(known, more.foreign) {
            writer.key(key)
            switch key {
            case "address": writeAddress(record.address, &writer)
            case "bytes": writer.integer(record.byteCount)
            case "executable": writer.bool(true)
            case "path": withPath(position) { writer.string(utf8: $0) }
            case "labels":
                writer.object { writer in
                    for label in more.labels.sorted(by: {
                        $0.algorithm.rawValue < $1.algorithm.rawValue
                    }) {
                        writer.member(label.algorithm.rawValue, Hex.string(label.bytes))
                    }
                }
            case "routes": writer.array(more.routes) { $0.string($1) }
            default: Self.write(key, of: more.foreign, &writer)
            }
        }
        writer.endObject()
    }

    /// Writes the keys in order, without sorting them.
    private func writePlain(_ position: Int, _ writer: inout JSONWriter) {
        let record = records[position]
        writer.beginObject()
        writer.key("address")
        writeAddress(record.address, &writer)
        writer.key("bytes")
        writer.integer(record.byteCount)
        if record.isExecutable {
            writer.key("executable")
            writer.bool(true)
        }
        writer.key("path")
        withPath(position) { writer.string(utf8: $0) }
        writer.endObject()
    }

    /// The paths and content of the entries alone, as
    /// `{"entries":[{"address":"…","bytes":1,"executable":true,"path":"…"}]}`.
    ///
    /// Manifests of equal content give equal bytes, whatever their names and publishers.
    package func plainEntries() -> [UInt8] {
        JSONWriter.document { writer in
            writer.key("entries")
            writer.beginArray()
            for position in 0..<count { writePlain(position, &writer) }
            writer.endArray()
        }
    }

    private func writeAddress(_ address: ObjectID, _ writer: inout JSONWriter) {
        withUnsafeTemporaryAllocation(of: UInt8.self, capacity: 64) { digits in
            guard let start = digits.baseAddress else { return }
            address.writeDigits(to: start)
            writer.string(utf8: UnsafeBufferPointer(digits))
        }
    }

    // RFC 8785 sorts keys by UTF-16 code units.
    private static func merged(_ known: [String], _ foreign: [JSONValue.Member]) -> [String] {
        (known + foreign.map(\.key)).sorted(by: JSONWriter.keyPrecedes)
    }

    private static func write(
        _ key: String, of members: [JSONValue.Member], _ writer: inout JSONWriter
    ) {
        // Foreign values are canonical inside, too. Keys are compared as bytes, unlike canonically equal Strings.
        let value = members.first { $0.key.utf8.elementsEqual(key.utf8) }?.value ?? .null
        writer.value(value.withSortedKeys)
    }
}
