internal import CASStore

package struct StagedPart: Sendable, Hashable {
    package var byteCount: Int64 = 0
    /// `nil` if the release does not give the size.
    package var wholeByteCount: Int64?
    /// The validator of the response that the bytes came from.
    package var validator: Validator?
    /// Whether a digest of the whole will be checked, which reveals parts that do not fit.
    package var isProvable: Bool

    package enum Question: Sendable, Hashable {
        case nothing
        /// The whole; staged bytes are useless.
        case whole
        /// The rest, from an offset; `ifRange` is the value of `If-Range`, if it is sent.
        case rest(offset: Int64, ifRange: String?)

        var isForRest: Bool { if case .rest = self { true } else { false } }
    }

    /// The rest if the parts are sure to fit, or will be verified together.
    package var question: Question {
        guard byteCount > 0 else { return wholeByteCount == 0 ? .nothing : .whole }
        if let wholeByteCount {
            if byteCount == wholeByteCount { return .nothing }
            if byteCount > wholeByteCount { return .whole }
        }
        if let validator { return .rest(offset: byteCount, ifRange: validator.fieldValue) }
        return isProvable ? .rest(offset: byteCount, ifRange: nil) : .whole
    }
}

package enum ResponseUse: Sendable, Hashable {
    /// Its bytes follow the staged ones.
    case append
    /// Its bytes are the whole; drop the staged ones.
    case startOver
    /// Nothing is missing: the staged bytes are the whole, and must be checked.
    case complete
    /// Drop the staged bytes and request the whole. The reason is for the event log.
    case askForWhole(String)
    /// The origin does not currently offer what the release says. The reason is for people.
    case refuse(String)
    /// An answer without content; ``RetryPolicy`` decides whether to try again.
    case failure(status: Int)
}

/// Decides what to do with a response to a request for a file, or for the rest of one.
///
/// Pure rules of RFC 9110, sections 13 to 15. The request that follows ``ResponseUse/askForWhole(_:)`` has no range, so
/// it cannot lead there again.
package enum Resumption {
    /// - Parameters:
    ///   - head: the head of the final response.
    ///   - question: what was asked; `whole` for a request that knows of no part.
    package static func use(
        of head: TransferHead, for part: StagedPart, asked question: StagedPart.Question
    ) -> ResponseUse {
        switch head.status {
        case 200: whole(head, part)
        case 206: partial(head, part, question)
        case 304: .refuse("the server says 304 (not modified) to a plain request")
        case 416: unsatisfiable(head, part, question)
        case 203: .refuse("a proxy before the server has changed the content (203)")
        case 400...: .failure(status: head.status)
        default:
            .refuse("the server says \(head.status), which is no answer to a request for a file")
        }
    }

    private static func whole(_ head: TransferHead, _ part: StagedPart) -> ResponseUse {
        // The length of encoded content says nothing about the file's.
        if head["content-encoding"] == nil, let wholeByteCount = part.wholeByteCount,
            let length = head["content-length"].flatMap(Int64.init), length != wholeByteCount
        {
            return wrongSize(length, wholeByteCount)
        }
        return .startOver
    }

    private static func partial(
        _ head: TransferHead, _ part: StagedPart, _ question: StagedPart.Question
    ) -> ResponseUse {
        guard case .rest(let offset, _) = question else {
            return .refuse("the server sent a part (206) though the whole was asked for")
        }
        if let type = head["content-type"], type.lowercased().hasPrefix("multipart/") {
            return .askForWhole("the server sent several parts in one response")
        }
        guard let value = head["content-range"], let range = ContentRange(value),
            let bytes = range.bytes
        else { return .askForWhole("the server sent a part without saying which") }
        guard bytes.lowerBound == offset else {
            return .askForWhole(
                "the server sent bytes from \(bytes.lowerBound) where \(offset) was asked for")
        }
        if let length = head["content-length"].flatMap(Int64.init), length != Int64(bytes.count) {
            return .askForWhole("the server sent a part whose length is not what its range says")
        }
        if range.total == nil, part.wholeByteCount == nil {
            return .askForWhole("the server sent a part without saying how large the whole is")
        }
        if let total = range.total
            ?? (bytes.upperBound > part.wholeByteCount ?? .max ? bytes.upperBound : nil),
            let wholeByteCount = part.wholeByteCount, total != wholeByteCount
        {
            return wrongSize(total, wholeByteCount)
        }
        return fits(head, part)
            ? .append : .askForWhole("the file has changed at the server since its first part came")
    }

    /// Whether a part belongs to the same bytes as the staged ones (RFC 9110, section 15.3.7.3).
    private static func fits(_ head: TransferHead, _ part: StagedPart) -> Bool {
        guard let validator = part.validator else { return part.isProvable }
        if let isSame = validator.matches(head) { return isSame }
        switch validator {
        // If an earlier response had a tag, this one must repeat it (section 15.3.7).
        case .entityTag: return part.isProvable
        // A date need not be repeated, but a new tag may mean new content.
        case .lastModified: return head["etag"] == nil || part.isProvable
        }
    }

    private static func unsatisfiable(
        _ head: TransferHead, _ part: StagedPart, _ question: StagedPart.Question
    ) -> ResponseUse {
        guard case .rest(let offset, _) = question else { return .failure(status: 416) }
        guard let value = head["content-range"], let range = ContentRange(value),
            range.bytes == nil, let total = range.total
        else { return .askForWhole("the server has no bytes from \(offset) on") }
        if let wholeByteCount = part.wholeByteCount, total != wholeByteCount {
            return wrongSize(total, wholeByteCount)
        }
        guard total == offset else {
            return .askForWhole("the server has \(total) bytes, but refuses the offset \(offset)")
        }
        // Without proof, only a matching validator shows that the staged bytes are the server's.
        if let validator = part.validator, validator.matches(head) == false {
            return .askForWhole("the file has changed at the server since its first part came")
        }
        return .complete
    }

    private static func wrongSize(_ count: Int64, _ wholeByteCount: Int64) -> ResponseUse {
        .refuse("the server has \(count) bytes where the release says \(wholeByteCount)")
    }
}

/// Proves that a part fetched later belongs to the same bytes as the part that is here.
///
/// Kept beside a staged part and sent as `If-Range` (RFC 9110, section 13.1.5). Only strong validators are kept: a weak
/// one does not promise equal bytes.
package enum Validator: Sendable, Hashable {
    /// A strong entity tag, with its quotes.
    case entityTag(String)
    /// A strong `Last-Modified`, as it came.
    case lastModified(String)

    /// The strong validator of a response, if it has one.
    ///
    /// A weak tag also rules out the date beside it, because a client that has a tag must not send a date. A date is
    /// strong if it is so much earlier than the response's own date that a second change within the same second would
    /// have shown (section 8.8.2.2); a minute allows for clock skew.
    package init?(_ head: TransferHead) {
        if let tag = head["etag"] {
            guard Self.isStrongTag(tag) else { return nil }
            self = .entityTag(tag)
            return
        }
        guard let value = head["last-modified"], head.secondsSinceChange ?? 0 >= 60 else {
            return nil
        }
        self = .lastModified(value)
    }

    init(fieldValue: String) {
        self = fieldValue.utf8.first == 34 ? .entityTag(fieldValue) : .lastModified(fieldValue)
    }

    package var fieldValue: String {
        switch self {
        case .entityTag(let value), .lastModified(let value): value
        }
    }

    /// RFC 9110, section 8.8.3.
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

extension TransferHead {
    /// How many seconds after its last change the content was sent.
    var secondsSinceChange: Int64? {
        // Two-digit years are resolved relative to a current date; any will do for the difference.
        let now = HTTPDate(seconds: secondsNow())
        guard let modifiedAt = self["last-modified"].flatMap({ HTTPDate($0, now: now) }),
            let sentAt = self["date"].flatMap({ HTTPDate($0, now: now) })
        else { return nil }
        return sentAt.seconds - modifiedAt.seconds
    }
}
