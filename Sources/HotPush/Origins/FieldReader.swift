package import CASStore
package import StrictJSON

/// Why a document of an origin is refused.
package enum PointerProblem: Error {
    case broken(String)
    case newer(Int64)
    case tooLarge(Int)

    /// - Parameters:
    ///   - subject: the document, as the subject of a sentence.
    ///   - code: the code for a refused document.
    ///   - formatVersion: the newest known format.
    package func storeError(
        _ subject: String, _ code: StoreError.Code, formatVersion: Int64
    ) -> StoreError {
        switch self {
        case .broken(let problem):
            let end = problem.hasSuffix(".") ? String(problem.dropLast()) : problem
            return StoreError(code, "\(subject) is refused: \(end)")
        case .newer(let format):
            return StoreError(
                .unsupportedFormat,
                "\(subject) has format \(format); this castree knows up to \(formatVersion), use a newer one"
            )
        case .tooLarge(let count):
            return StoreError(code, "\(subject) is refused: it has \(count) bytes")
        }
    }
}

extension JSONValue {
    package static func read(
        _ bytes: [UInt8], byteCountMax: Int, depth: Int
    ) throws(PointerProblem) -> JSONValue {
        guard bytes.count <= byteCountMax else { throw .tooLarge(bytes.count) }
        do throws(JSONError) {
            return try JSONValue.parse(bytes, limits: JSONLimits(depth: depth))
        } catch {
            throw .broken(error.message)
        }
    }
}

/// Takes known fields out of an object's members; the rest is foreign.
package struct FieldReader {
    package private(set) var rest: [JSONValue.Member]
    private let place: String

    package init(_ members: [JSONValue.Member], place: String) {
        rest = members
        self.place = place
    }

    package init(_ value: JSONValue, place: String) throws(PointerProblem) {
        guard let members = value.asObject else { throw .broken("\(place) is not an object") }
        self.init(members, place: place)
    }

    /// Begins to read a document, with its format before anything else.
    package init(
        _ document: JSONValue, _ place: String = "it", format key: String, upTo newest: Int64
    ) throws(PointerProblem) {
        guard let members = document.asObject else { throw .broken("it is not an object") }
        self.init(members, place: place)
        let format = try integer(key, 1...ChannelPointer.sequenceMax)
        guard format <= newest else { throw .newer(format) }
    }

    package func has(_ key: String) -> Bool {
        for member in rest where member.key.utf8.elementsEqual(key.utf8) { return true }
        return false
    }

    package mutating func take(_ key: String) -> JSONValue? {
        guard let position = rest.firstIndex(where: { $0.key.utf8.elementsEqual(key.utf8) })
        else { return nil }
        return rest.remove(at: position).value
    }

    private mutating func required(_ key: String) throws(PointerProblem) -> JSONValue {
        guard let value = take(key) else { throw .broken("\(place) has no \"\(key)\"") }
        return value
    }

    package mutating func text(_ key: String) throws(PointerProblem) -> String {
        guard let text = try required(key).asString else {
            throw .broken("\"\(key)\" of \(place) is not a string")
        }
        return text
    }

    package mutating func integer(
        _ key: String, _ range: ClosedRange<Int64>
    ) throws(PointerProblem) -> Int64 {
        guard let number = try required(key).asInt64, range.contains(number) else {
            throw .broken(
                "\"\(key)\" of \(place) is not a whole number from \(range.lowerBound) to "
                    + "\(range.upperBound)")
        }
        return number
    }

    package mutating func integer(
        ifThere key: String, _ range: ClosedRange<Int64>
    ) throws(PointerProblem) -> Int64? {
        has(key) ? try integer(key, range) : nil
    }

    package mutating func address(ifThere key: String) throws(PointerProblem) -> ObjectID? {
        has(key) ? try address(key) : nil
    }

    package mutating func address(_ key: String) throws(PointerProblem) -> ObjectID {
        guard let address = ObjectID(try text(key)) else {
            throw .broken("\"\(key)\" of \(place) is not 64 lower-case hexadecimal digits")
        }
        return address
    }

    package mutating func array(_ key: String) throws(PointerProblem) -> [JSONValue] {
        guard let array = try required(key).asArray else {
            throw .broken("\"\(key)\" of \(place) is not an array")
        }
        return array
    }

    package mutating func flag(_ key: String) throws(PointerProblem) -> Bool {
        guard let value = take(key) else { return false }
        guard let flag = value.asBool else {
            throw .broken("\"\(key)\" of \(place) is neither true nor false")
        }
        return flag
    }
}
