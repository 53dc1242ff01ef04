/// A JSON document, read by its members, `document.store.objects`, and by its elements; what is not there is null.
@dynamicMemberLookup
package enum JSON: Hashable, Sendable {
    case null
    case bool(Bool)
    case number(Double)
    case text(String)
    case list([JSON])
    case object([String: JSON])

    package init(_ bytes: some Sequence<UInt8>) throws {
        self = try JSONDecoder().decode(JSON.self, from: Data(bytes))
    }

    package init(_ text: some StringProtocol) throws { try self.init(text.utf8) }

    /// The document that a text is, which must have a shape.
    package init(_ text: some StringProtocol, of shape: JSON) throws {
        try self.init(text)
        expect(differences(from: shape), equals: [], "\(self)")
    }

    package subscript(name: String) -> JSON { members[name] ?? .null }
    package subscript(dynamicMember name: String) -> JSON { self[name] }

    package var members: [String: JSON] {
        if case .object(let members) = self { members } else { [:] }
    }
    package var text: String {
        if case .text(let text) = self { return text }
        Issue.record("\(self) is no text")
        return ""
    }
    package var double: Double {
        if case .number(let number) = self { return number }
        Issue.record("\(self) is no number")
        return 0
    }
    package var number: Int { Int(double) }
    package var isTrue: Bool { self == .bool(true) }
    package var isNull: Bool { self == .null }

    /// What differs from a shape, with its place.
    ///
    /// A shape has the type of each member beside its name, or beside the names of all that have it: "text", "number",
    /// "flag", the shape of an object, or a list with the shape of its elements. A name with "?" may be null or not there.
    package func differences(from shape: JSON, at place: String = "") -> [String] {
        switch (shape, self) {
        case (.text("text"), .text), (.text("number"), .number), (.text("flag"), .bool): return []
        case (.list(let shapes), .list(let elements)):
            return elements.flatMap { $0.differences(from: shapes[0], at: place + "[]") }
        case (.object(let shapes), .object(let members)):
            return shapes.flatMap { names, shape in
                names.split(separator: " ").flatMap { name -> [String] in
                    let (key, isOptional) = (name.prefix { $0 != "?" }, name.hasSuffix("?"))
                    let value = members[String(key)] ?? .null
                    if value.isNull, isOptional { return [] }
                    return value.differences(from: shape, at: "\(place).\(key)")
                }
            }
        default: return ["\(place) is \(self), and no \(shape)"]
        }
    }
}

extension JSON: Decodable {
    package init(from decoder: any Decoder) throws {
        let value = try decoder.singleValueContainer()
        if value.decodeNil() {
            self = .null
        } else if let bool = try? value.decode(Bool.self) {
            self = .bool(bool)
        } else if let number = try? value.decode(Double.self) {
            self = .number(number)
        } else if let text = try? value.decode(String.self) {
            self = .text(text)
        } else if let list = try? value.decode([JSON].self) {
            self = .list(list)
        } else {
            self = .object(try value.decode([String: JSON].self))
        }
    }
}

extension JSON: RandomAccessCollection {
    package var elements: [JSON] {
        if case .list(let list) = self { return list }
        Issue.record("\(self) is no list")
        return []
    }
    package var startIndex: Int { 0 }
    package var endIndex: Int { elements.count }
    package subscript(position: Int) -> JSON {
        elements.indices.contains(position) ? elements[position] : .null
    }
}

extension JSON: CustomStringConvertible {
    package var description: String {
        switch self {
        case .null: "null"
        case .bool(let bool): "\(bool)"
        case .number(let number): Int(exactly: number).map { "\($0)" } ?? "\(number)"
        case .text(let text): text
        case .list(let list): "\(list)"
        case .object(let members): "\(members)"
        }
    }
}

extension JSON: ExpressibleByBooleanLiteral, ExpressibleByIntegerLiteral,
    ExpressibleByStringLiteral,
    ExpressibleByArrayLiteral, ExpressibleByDictionaryLiteral
{
    package init(booleanLiteral value: Bool) { self = .bool(value) }
    package init(integerLiteral value: Int) { self = .number(Double(value)) }
    package init(stringLiteral value: String) { self = .text(value) }
    package init(arrayLiteral elements: JSON...) { self = .list(elements) }
    package init(dictionaryLiteral elements: (String, JSON)...) {
        self = .object(Dictionary(elements) { $1 })
    }
}

/// What a test holds a value of a document against.
package protocol JSONConvertible { var json: JSON { get } }
extension Bool: JSONConvertible { package var json: JSON { .bool(self) } }
extension Int: JSONConvertible { package var json: JSON { .number(Double(self)) } }
extension String: JSONConvertible { package var json: JSON { .text(self) } }
extension Array: JSONConvertible where Element: JSONConvertible {
    package var json: JSON { .list(map(\.json)) }
}
extension Optional: JSONConvertible where Wrapped: JSONConvertible {
    package var json: JSON { self?.json ?? .null }
}

extension JSON {
    package static func == (value: JSON, other: some JSONConvertible) -> Bool {
        value == other.json
    }
    package static func != (value: JSON, other: some JSONConvertible) -> Bool {
        !(value == other.json)
    }
    package static func > (value: JSON, other: JSON) -> Bool { value.number > other.number }
    package static func < (value: JSON, other: JSON) -> Bool { value.number < other.number }
    package static prefix func ! (value: JSON) -> Bool { !value.isTrue }
}

/// Records an issue unless a value of a document is the expected one; the test continues.
package func expect(
    _ found: JSON, equals expected: some JSONConvertible,
    _ comment: @autoclosure () -> Comment? = nil,
    fileID: String = #fileID, filePath: String = #filePath, line: Int = #line, column: Int = #column
) {
    expect(
        found == expected.json,
        "found \(found), expected \(expected)\n\(comment()?.rawValue ?? "")",
        fileID: fileID, filePath: filePath, line: line, column: column)
}

/// Records an issue with both lists unless the values of documents are the expected ones; the test continues.
package func expect(
    _ found: [JSON], equals expected: [some JSONConvertible],
    _ comment: @autoclosure () -> Comment? = nil,
    fileID: String = #fileID, filePath: String = #filePath, line: Int = #line, column: Int = #column
) {
    expect(
        JSON.list(found) == expected.json,
        "found \(found), expected \(expected)\n\(comment()?.rawValue ?? "")",
        fileID: fileID, filePath: filePath, line: line, column: column)
}
