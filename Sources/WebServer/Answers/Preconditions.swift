import Platform

/// Evaluates the preconditions of a request, in the order of RFC 9110, section 13.2.2.
package enum Preconditions {
    package enum Verdict: Equatable { case proceed, notModified, failed }

    /// Evaluates If-Match, then If-None-Match.
    ///
    /// Nothing served here has a date of modification: two versions may come within one second, and a rollback shows
    /// an older file after a newer one, so a date says nothing about the bytes. Where there is none,
    /// If-Modified-Since and If-Unmodified-Since are ignored (sections 13.1.3 and 13.1.4).
    /// - Parameter tag: the entity tag of the selected representation, strong, with its quotes.
    package static func evaluate(
        _ request: borrowing RequestHead, _ fields: ConditionalFields, tag: [UInt8]
    ) -> Verdict {
        if let list = fields.list(request, fields.ifMatch),
            !EntityTagList.matches(list, tag, .strong)
        {
            return .failed
        }
        if let list = fields.list(request, fields.ifNoneMatch),
            EntityTagList.matches(list, tag, .weak)
        {
            return .notModified
        }
        return .proceed
    }

    /// Whether a Range field counts (RFC 9110, section 13.1.5): only with our own strong tag, since no answer has a
    /// date.
    package static func rangeCounts(
        _ request: borrowing RequestHead, _ fields: ConditionalFields, tag: [UInt8]
    ) -> Bool {
        guard fields.ifRange >= 0 else { return true }
        guard let value = fields.single(request, fields.ifRange) else { return false }
        return EntityTagList.isTag(value) && value.elementsEqual(tag)
    }
}
