internal import CCurl
internal import HotPush

/// Builds a request's header fields in the form that libcurl takes.
enum RequestFields {
    /// Fields that identify the client: they are not sent to another origin.
    private static let credentials: Set<String> = [
        "authorization", "cookie", "proxy-authorization",
    ]

    /// The lines of a request: `Name: value`.
    ///
    /// - Parameter isForeign: whether a redirect led to an origin other than the request's own.
    /// - Returns: nil if a field is invalid (RFC 9110, section 5): a line end in a value would
    ///   smuggle in further fields.
    static func lines(of request: TransferRequest, isForeign: Bool = false) -> [String]? {
        var lines: [String] = []
        // Sent explicitly, so that no proxy in between encodes on its own.
        if !request.acceptsEncodings { lines.append("Accept-Encoding: identity") }
        if let range = request.range { lines.append("Range: \(range)") }
        var fields = request.fields
        if !isForeign { fields += request.confinedFields }
        if let value = request.ifRange, request.range != nil { fields.append(("If-Range", value)) }
        for (name, value) in fields {
            guard isToken(name), isFieldValue(value) else { return nil }
            if isForeign, credentials.contains(name.lowercased()) { continue }
            // A name with a semicolon tells libcurl to send the field with an empty value.
            lines.append(value.isEmpty ? "\(name);" : "\(name): \(value)")
        }
        return lines
    }

    /// Whether the lines of a request without fields are enough.
    static func isPlain(_ request: TransferRequest) -> Bool {
        request.range == nil && request.fields.isEmpty && request.confinedFields.isEmpty
            && !request.acceptsEncodings
    }

    /// `token` of RFC 9110, section 5.6.2.
    static func isToken(_ name: String) -> Bool {
        for byte in name.utf8 {
            switch byte {
            case 48...57, 65...90, 97...122: continue
            case 33, 35...39, 42, 43, 45, 46, 94, 95, 96, 124, 126: continue
            default: return false
            }
        }
        return !name.isEmpty
    }

    /// Whether a value contains no line end and no NUL (RFC 9110, section 5.5).
    static func isFieldValue(_ value: String) -> Bool {
        for byte in value.utf8 where byte == 10 || byte == 13 || byte == 0 { return false }
        return true
    }
}

/// A list of lines that libcurl reads while a transfer runs.
struct LineList: ~Copyable {
    private(set) var first: UnsafeMutablePointer<curl_slist>?

    /// Makes a list; nil if there is no memory.
    init?(_ lines: [String]) {
        var list: UnsafeMutablePointer<curl_slist>?
        for line in lines {
            guard let longer = curl_slist_append(list, line) else {
                curl_slist_free_all(list)
                return nil
            }
            list = longer
        }
        first = list
    }

    deinit { curl_slist_free_all(first) }
}
