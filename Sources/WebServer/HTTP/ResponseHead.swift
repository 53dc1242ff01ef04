package import Platform

/// The status line and fields of a response, kept as the bytes that are sent.
///
/// Without `Date` and `Connection`, which the transport adds, and without the empty line at the end. Heads that
/// repeat are made once and shared.
package struct ResponseHead: Sendable, Hashable {
    package let status: Int
    /// The bytes, except those that `object` adds.
    private(set) var written: [UInt8]
    /// Fields at the end, which are only written when the head is sent.
    package var object = ObjectFields.none

    /// `HTTP/1.1 200 OK\r\n` and each field with its line end.
    package var bytes: [UInt8] {
        guard !object.isEmpty else { return written }
        var bytes = written
        withUnsafeTemporaryAllocation(of: UInt8.self, capacity: ObjectFields.byteCountMax) {
            guard let start = $0.baseAddress else { return }
            let count = object.write(to: start)
            bytes.append(contentsOf: $0[..<count])
        }
        return bytes
    }

    /// Whether a shared cache may keep the response (RFC 9111, section 5.2.2.9).
    package var isPublic: Bool { written.contains(Array("\r\nCache-Control: public".utf8)) }

    /// Whether a response with this head and no body still needs a length (RFC 9112, section 6.3); without one its
    /// client waits until the connection ends.
    var lacksLength: Bool {
        status >= 200 && status != 204 && status != 304 && object.isEmpty
            && !written.contains(Array("\r\nContent-Length: ".utf8))
    }

    /// The first value of a field in a head that another server has written; the name is given in lower case.
    package func value(of name: String) -> ArraySlice<UInt8>? {
        for line in bytes.split(separator: 10).dropFirst() {
            guard let colon = line.firstIndex(of: 58),
                line[..<colon].lazy.map(FieldText.lowercased).elementsEqual(name.utf8)
            else { continue }
            return line[(colon + 1)...].trimmed()
        }
        return nil
    }

    package var isHTML: Bool {
        ["text/html", "application/xhtml+xml"].contains {
            bytes.contains(Array("\r\nContent-Type: \($0)".utf8))
        }
    }

    package static func == (left: ResponseHead, right: ResponseHead) -> Bool {
        left.status == right.status && left.bytes == right.bytes
    }

    package func hash(into hasher: inout Hasher) { hasher.combine(bytes) }

    package init(_ status: Int) {
        self.status = status
        written = Array("HTTP/1.1 \(status) \(Self.reason(status))\r\n".utf8)
    }

    /// A head whose status line and fields the caller has written and checked.
    init(_ status: Int, written bytes: [UInt8]) {
        self.status = status
        written = bytes
    }

    /// Adds a field, which MUST NOT contain CR, LF or NUL: callers check what comes from outside.
    package mutating func add(_ name: String, _ value: String) {
        precondition(!value.utf8.contains { $0 == 10 || $0 == 13 || $0 == 0 })
        written.append(contentsOf: name.utf8)
        written.append(contentsOf: [58, 32])
        written.append(contentsOf: value.utf8)
        written.append(contentsOf: [13, 10])
    }

    /// Adds a field whose value is bytes, which must meet the same condition.
    package mutating func add(_ name: StaticString, _ value: [UInt8]) {
        written.append(name, value)
    }

    package mutating func reserve(_ byteCount: Int) {
        written.reserveCapacity(written.count + byteCount)
    }

    static func reason(_ status: Int) -> String {
        switch status {
        case 101: "Switching Protocols"
        case 200: "OK"
        case 204: "No Content"
        case 205: "Reset Content"
        case 206: "Partial Content"
        case 226: "IM Used"
        case 301: "Moved Permanently"
        case 303: "See Other"
        case 304: "Not Modified"
        case 400: "Bad Request"
        case 403: "Forbidden"
        case 404: "Not Found"
        case 405: "Method Not Allowed"
        case 406: "Not Acceptable"
        case 408: "Request Timeout"
        case 409: "Conflict"
        case 412: "Precondition Failed"
        case 413: "Content Too Large"
        case 414: "URI Too Long"
        case 416: "Range Not Satisfiable"
        case 417: "Expectation Failed"
        case 421: "Misdirected Request"
        case 426: "Upgrade Required"
        case 431: "Request Header Fields Too Large"
        case 500: "Internal Server Error"
        case 501: "Not Implemented"
        case 502: "Bad Gateway"
        case 503: "Service Unavailable"
        case 504: "Gateway Timeout"
        case 505: "HTTP Version Not Supported"
        default: "Status"
        }
    }
}

/// The fields of a head that belong to an object: ETag, its address, and perhaps Content-Length.
///
/// No optionals: heads are copied for each request, and plain words are cheap to copy.
package struct ObjectFields: Sendable {
    /// ``ObjectID/zero`` if there are no such fields.
    var address: ObjectID
    /// -1 if the head has no Content-Length.
    var length: Int64

    package init(address: ObjectID, length: Int64) {
        self.address = address
        self.length = length
    }

    static let none = ObjectFields(address: .zero, length: -1)
    var isEmpty: Bool { address == .zero }

    /// The most bytes they take: two names, 64 digits in quotes, 19 digits, two line ends.
    static let byteCountMax = 128

    /// Writes the fields to `target`, which has space for ``byteCountMax`` bytes.
    /// - Returns: how many bytes they take.
    func write(to target: UnsafeMutablePointer<UInt8>) -> Int {
        var end = Self.put("ETag: \"", at: target)
        address.writeDigits(to: end)
        end = Self.put("\"\r\n", at: end + 64)
        guard length >= 0 else { return end - target }
        end = Self.put("Content-Length: ", at: end)
        var digits = 1
        var rest = UInt64(length)
        var power = rest
        while power >= 10 {
            digits += 1
            power /= 10
        }
        for place in (0..<digits).reversed() {
            end[place] = 48 + UInt8(rest % 10)
            rest /= 10
        }
        end = Self.put("\r\n", at: end + digits)
        return end - target
    }

    @inline(__always)
    private static func put(
        _ text: StaticString, at target: UnsafeMutablePointer<UInt8>
    ) -> UnsafeMutablePointer<UInt8> {
        target.update(from: text.utf8Start, count: text.utf8CodeUnitCount)
        return target + text.utf8CodeUnitCount
    }
}

// How heads are written.
extension [UInt8] {
    mutating func append(_ bytes: Span<UInt8>, _ range: Range<Int>) {
        bytes.withUnsafeBufferPointer {
            append(contentsOf: UnsafeBufferPointer(rebasing: $0[range]))
        }
    }

    mutating func append(_ text: StaticString) {
        append(
            contentsOf: UnsafeBufferPointer(start: text.utf8Start, count: text.utf8CodeUnitCount))
    }

    mutating func append(_ name: StaticString, _ value: some Collection<UInt8>) {
        append(name)
        append(": ")
        append(contentsOf: value)
        append("\r\n")
    }

    mutating func append(_ bytes: Span<UInt8>, _ field: RequestHead.Field) {
        append(bytes, field.name)
        append(": ")
        append(bytes, field.value)
        append("\r\n")
    }
}
