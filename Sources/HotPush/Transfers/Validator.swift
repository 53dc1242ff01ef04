internal import CASStore

/// Makes sure that a part fetched later belongs to the same bytes as the part that is here.
///
/// Remembered beside a staged part and sent as `If-Range` (RFC 9110, section 13.1.5). Only strong
/// validators are kept: a weak one does not promise equal bytes.
package enum Validator: Sendable, Hashable {
    /// A strong entity tag, with its quotes.
    case entityTag(String)
    /// A strong `Last-Modified`, as it came.
    case lastModified(String)

    /// The validator of a response; nil if it has no strong one.
    ///
    /// A weak tag also rules out the date beside it: a client that has a tag must not send a date. A
    /// date is strong if it is so much earlier than the response's own date that a second change
    /// within the same second would have shown (section 8.8.2.2); a minute allows for clock skew.
    package init?(_ head: TransferHead) {
        if let tag = head["etag"] {
            guard Self.isStrongTag(tag) else { return nil }
            self = .entityTag(tag)
            return
        }
        guard let value = head["last-modified"], let sent = head["date"] else { return nil }
        // Two-digit years are resolved relative to a current date; any will do for the difference.
        let now = HTTPDate(seconds: secondsNow())
        guard let modifiedAt = HTTPDate(value, now: now), let sentAt = HTTPDate(sent, now: now),
            sentAt.seconds - modifiedAt.seconds >= 60
        else { return nil }
        self = .lastModified(value)
    }

    /// The validator whose ``fieldValue`` was noted.
    init(fieldValue: String) {
        self = fieldValue.utf8.first == 34 ? .entityTag(fieldValue) : .lastModified(fieldValue)
    }

    /// The value of `If-Range`.
    package var fieldValue: String {
        switch self {
        case .entityTag(let value), .lastModified(let value): value
        }
    }

    /// Whether it is an entity tag and not a weak one (RFC 9110, section 8.8.3).
    static func isStrongTag(_ value: String) -> Bool {
        let bytes = Array(value.utf8)
        guard bytes.count >= 2, bytes.first == 34, bytes.last == 34 else { return false }
        for byte in bytes[1..<bytes.count - 1] where byte <= 32 || byte == 34 || byte == 127 {
            return false
        }
        return true
    }

    /// Whether the parts of a response with that head belong to the same bytes; nil if it does not say.
    func matches(_ head: TransferHead) -> Bool? {
        switch self {
        case .entityTag(let tag):
            // Compared as bytes, not characters: tags have no canonical equivalence.
            return head["etag"].map { $0.utf8.elementsEqual(tag.utf8) }
        case .lastModified(let date):
            if let other = head["last-modified"] { return other.utf8.elementsEqual(date.utf8) }
            return nil
        }
    }
}
