internal import CASStore
internal import HotPush

/// Reads response heads line by line and keeps the final one.
///
/// Drops interim responses (1xx; RFC 9110, section 15.2). The head, all interim responses together and the trailer are
/// bounded: a server can neither fill the memory with fields nor send interim responses indefinitely.
struct HeadReader {
    enum Progress {
        case more
        case whole(status: Int, fields: [(name: String, value: String)])
        case malformed(String)
    }

    /// The largest head, in bytes, as in most servers and clients, and the limit of all interim responses together.
    static let byteCountMax = 65_536

    private var bytes: [UInt8] = []
    /// The bytes of dropped interim responses.
    private var interimByteCount = 0
    private var trailerByteCount = 0

    mutating func reset() {
        bytes.removeAll(keepingCapacity: true)
        interimByteCount = 0
        trailerByteCount = 0
    }

    /// Takes a line of the trailer of a chunked body (RFC 9112, section 7.1.2).
    ///
    /// The trailer is unused, but libcurl keeps its fields, as those of heads, until the transfer ends.
    mutating func readTrailer(_ line: UnsafeRawBufferPointer) -> Progress {
        trailerByteCount += line.count
        guard trailerByteCount <= Self.byteCountMax else {
            return .malformed("the response's trailer is larger than \(Self.byteCountMax) bytes")
        }
        return .more
    }

    /// Takes a line with its line end, as libcurl passes it.
    mutating func read(_ line: UnsafeRawBufferPointer) -> Progress {
        guard bytes.count + line.count <= Self.byteCountMax else {
            return .malformed("the response's head is larger than \(Self.byteCountMax) bytes")
        }
        bytes.append(contentsOf: line)
        guard Self.isEmptyLine(line) else { return .more }
        guard let status = status() else { return .malformed("the response has no status line") }
        guard status >= 200 else {
            interimByteCount += bytes.count
            bytes.removeAll(keepingCapacity: true)
            guard interimByteCount <= Self.byteCountMax else {
                return .malformed(
                    "the server sent more than \(Self.byteCountMax) bytes of interim responses "
                        + "(1xx) and no answer")
            }
            return .more
        }
        return .whole(status: status, fields: fields())
    }

    var isHTTP1: Bool { bytes.starts(with: "HTTP/1.".utf8) }

    private static func isEmptyLine(_ line: UnsafeRawBufferPointer) -> Bool {
        line.count == 1 && line[0] == 10 || line.count == 2 && line[0] == 13 && line[1] == 10
    }

    /// The three digits after the first blank: `HTTP/1.1 200 OK`, `HTTP/2 200`.
    private func status() -> Int? {
        guard let blank = bytes.firstIndex(of: 32), blank + 3 < bytes.count else { return nil }
        let status = Int(String(decoding: bytes[(blank + 1)...(blank + 3)], as: UTF8.self)) ?? 0
        return status >= 100 ? status : nil
    }

    /// Names in lower case; a folded line belongs to the field before it (RFC 9112, section 5.2), and a line without a
    /// name is not a field.
    private func fields() -> [(name: String, value: String)] {
        var fields: [(name: String, value: String)] = []
        fields.reserveCapacity(16)
        var start = (bytes.firstIndex(of: 10) ?? bytes.count - 1) + 1
        while start < bytes.count {
            let end = bytes[start...].firstIndex(of: 10) ?? bytes.count
            let line = bytes[start..<end].trimmed(where: Self.isBlank)
            if bytes[start] == 32 || bytes[start] == 9 {
                if let last = fields.indices.last, !line.isEmpty {
                    fields[last].value += " " + String(decoding: line, as: UTF8.self)
                }
            } else if let colon = line.firstIndex(of: 58), colon > line.startIndex {
                let value = line[(colon + 1)...].trimmed(where: Self.isBlank)
                fields.append(
                    (
                        name: String(decoding: line[..<colon].map(\.lowercased), as: UTF8.self),
                        value: String(decoding: value, as: UTF8.self)
                    ))
            }
            start = end + 1
        }
        return fields
    }

    private static func isBlank(_ byte: UInt8) -> Bool { byte == 32 || byte == 9 || byte == 13 }
}
