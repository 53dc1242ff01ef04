import Platform

/// What the preconditions of a request say, in the order of RFC 9110, section 13.2.2.
package enum Preconditions {
    package enum Verdict: Equatable { case proceed, notModified, failed }

    /// Evaluates If-Match or If-Unmodified-Since, then If-None-Match or If-Modified-Since.
    ///
    /// Entity tags always win over dates: if a tag field is there, the date field beside it does
    /// not count. So it is safe to use the version's own time as the date of its files. A date
    /// alone must equal ours exactly to be answered with 304, and not merely be as late: after a
    /// rollback, the files served are older than those the client has, and different.
    ///
    /// - Parameters:
    ///   - tag: the entity tag of the selected representation, strong, with its quotes.
    ///   - modifiedAt: seconds since 1970; 0 if there is no date, and then dates are ignored.
    package static func evaluate(
        _ request: borrowing RequestHead, _ fields: ConditionalFields, tag: [UInt8],
        modifiedAt: Int64
    ) -> Verdict {
        if let list = fields.list(request, fields.ifMatch) {
            if !EntityTagList.matches(list, tag, .strong) { return .failed }
        } else if modifiedAt > 0,
            let date = date(
                fields.single(request, fields.ifUnmodifiedSince), modifiedAt),
            date.seconds < modifiedAt
        {
            return .failed
        }
        if let list = fields.list(request, fields.ifNoneMatch) {
            if EntityTagList.matches(list, tag, .weak) { return .notModified }
        } else if modifiedAt > 0,
            let date = date(fields.single(request, fields.ifModifiedSince), modifiedAt),
            date.seconds == modifiedAt
        {
            return .notModified
        }
        return .proceed
    }

    /// Whether a Range field counts (RFC 9110, section 13.1.5).
    ///
    /// Only our own strong tag makes it count. A date never does: two versions may be made in one
    /// second, so the date is no strong validator, and a client that has a tag must not send one.
    package static func rangeCounts(
        _ request: borrowing RequestHead, _ fields: ConditionalFields, tag: [UInt8]
    ) -> Bool {
        guard fields.ifRange >= 0 else { return true }
        guard let value = fields.single(request, fields.ifRange) else { return false }
        return EntityTagList.isTag(value) && value.elementsEqual(tag)
    }

    // Years of two digits are read relative to the version's own time: no clock is needed.
    private static func date(_ value: FieldText?, _ modifiedAt: Int64) -> HTTPDate? {
        guard let value else { return nil }
        return HTTPDate(value, now: HTTPDate(seconds: modifiedAt))
    }
}
