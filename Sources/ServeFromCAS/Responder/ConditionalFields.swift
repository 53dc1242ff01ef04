/// Where in a request the fields stand that choose the answer; found in one pass.
struct ConditionalFields {
    // Positions in the request's fields; -1: not there.
    private(set) var ifMatch = -1
    private(set) var ifNoneMatch = -1
    private(set) var ifModifiedSince = -1
    private(set) var ifUnmodifiedSince = -1
    private(set) var range = -1
    private(set) var ifRange = -1
    private(set) var acceptEncoding = -1

    /// Whether a request has none that can make the answer other than the whole representation.
    private(set) var isPlain = true

    init(_ request: borrowing RequestHead) {
        for position in request.fields.indices {
            let name = request.fields[position].name
            switch name.count {
            case 5 where request.matches(name, "range"): Self.note(position, in: &range)
            case 8 where request.matches(name, "if-match"): Self.note(position, in: &ifMatch)
            case 8 where request.matches(name, "if-range"): Self.note(position, in: &ifRange)
            case 13 where request.matches(name, "if-none-match"):
                Self.note(position, in: &ifNoneMatch)
            case 15 where request.matches(name, "accept-encoding"):
                if acceptEncoding < 0 { acceptEncoding = position }
                continue
            case 17 where request.matches(name, "if-modified-since"):
                Self.note(position, in: &ifModifiedSince)
            case 19 where request.matches(name, "if-unmodified-since"):
                Self.note(position, in: &ifUnmodifiedSince)
            default: continue
            }
            isPlain = false
        }
    }

    @inline(__always)
    private static func note(_ position: Int, in field: inout Int) {
        if field < 0 { field = position }
    }

    /// The value of a field; all its lines as one list if it was sent in several
    /// (RFC 9110, section 5.3); `nil` if it was not sent.
    static func list(_ request: borrowing RequestHead, _ position: Int) -> FieldText? {
        guard position >= 0 else { return nil }
        let first = request.fields[position]
        var joined: [UInt8]?
        for other in request.fields.indices.dropFirst(position + 1)
        where sameName(request, request.fields[other].name, first.name) {
            var value = joined ?? Array(request.bytes[first.value])
            value.append(44)
            value.append(contentsOf: request.bytes[request.fields[other].value])
            joined = value
        }
        if let joined { return joined[...] }
        return request.bytes[first.value]
    }

    /// The value of a field that has one value; `nil` if it was not sent, or more than once.
    static func single(_ request: borrowing RequestHead, _ position: Int) -> FieldText? {
        guard position >= 0 else { return nil }
        let first = request.fields[position]
        for other in request.fields.indices.dropFirst(position + 1)
        where sameName(request, request.fields[other].name, first.name) {
            return nil
        }
        return request.bytes[first.value]
    }

    private static func sameName(
        _ request: borrowing RequestHead, _ left: Range<Int>, _ right: Range<Int>
    ) -> Bool {
        guard left.count == right.count else { return false }
        for (first, second) in zip(left, right)
        where FieldText.lowercased(request.bytes[first])
            != FieldText.lowercased(request.bytes[second])
        {
            return false
        }
        return true
    }
}
