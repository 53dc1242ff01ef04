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

/// The positions of a request's fields that choose the answer, found in one pass.
package struct ConditionalFields {
    // Positions in the request's fields; -1: absent.
    private(set) var ifMatch = -1
    package private(set) var ifNoneMatch = -1
    package private(set) var range = -1
    private(set) var ifRange = -1
    package private(set) var acceptEncoding = -1

    /// Whether the answer is the whole representation, as far as the request's fields decide.
    package private(set) var isPlain = true
    package var isOnlyIfNoneMatch: Bool { conditions == 1 && ifNoneMatch >= 0 }

    private var conditions = 0
    private var isRepeated = false

    package init(_ request: borrowing RequestHead) {
        var repeated = false
        func note(_ field: inout Int, _ position: Int) {
            if field < 0 { field = position } else { repeated = true }
        }
        for position in request.fields.indices {
            let name = request.fields[position].name
            switch name.count {
            case 5 where request.matches(name, "range"): note(&range, position)
            case 8 where request.matches(name, "if-match"): note(&ifMatch, position)
            case 8 where request.matches(name, "if-range"): note(&ifRange, position)
            case 13 where request.matches(name, "if-none-match"):
                note(&ifNoneMatch, position)
            case 15 where request.matches(name, "accept-encoding"):
                note(&acceptEncoding, position)
                continue
            default: continue
            }
            isPlain = false
            conditions += 1
        }
        isRepeated = repeated
    }

    /// The value of a field; all its lines as one list if it was sent in several (RFC 9110, section 5.3); `nil` if it
    /// was not sent.
    package func list(_ request: borrowing RequestHead, _ position: Int) -> FieldText? {
        guard position >= 0 else { return nil }
        let first = request.bytes[request.fields[position].value]
        let others = repetitions(request, position)
        if others.isEmpty { return first }
        var joined = Array(first)
        for other in others {
            joined.append(44)
            joined.append(contentsOf: request.bytes[request.fields[other].value])
        }
        return joined[...]
    }

    /// The value of a field that has one value; `nil` if it was not sent, or more than once.
    package func single(_ request: borrowing RequestHead, _ position: Int) -> FieldText? {
        guard position >= 0, repetitions(request, position).isEmpty else { return nil }
        return request.bytes[request.fields[position].value]
    }

    private func repetitions(_ request: borrowing RequestHead, _ position: Int) -> [Int] {
        var others: [Int] = []
        guard isRepeated else { return others }
        let name = request.fields[position].name
        for other in request.fields.indices.dropFirst(position + 1)
        where request.bytes.span.areSame(request.fields[other].name, name) {
            others.append(other)
        }
        return others
    }
}
