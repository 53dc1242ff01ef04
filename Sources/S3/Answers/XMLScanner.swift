import Platform

/// Reads the elements of a small XML document from left to right.
///
/// Answers of S3 consist of elements and text. Attributes and name-space prefixes are ignored. Document types, CDATA
/// and processing instructions besides the declaration are refused, so nothing expands; the caller bounds the size.
struct XMLScanner {
    /// The document is not well-formed, or has something that no answer of S3 has.
    struct Malformed: Error {}

    private let bytes: [UInt8]
    private var position = 0
    private var open: [Range<Int>] = []
    /// The last tag was `<name/>`, whose end is still to be returned.
    private var isEmptyElement = false

    private static let depthMax = 16

    init(_ bytes: [UInt8], root name: String) throws(Malformed) {
        self.bytes = bytes
        // Some stores send blanks while they work, then the declaration.
        skipBlanks()
        if starts(with: "<?xml") {
            try skip(past: "?>")
            skipBlanks()
        }
        guard let root = try nextTag(), bytes[root].elementsEqual(name.utf8) else {
            throw Malformed()
        }
    }

    /// The next element in the open one; at its end, closes it and returns `nil`.
    mutating func next() throws(Malformed) -> String? {
        if isEmptyElement {
            isEmptyElement = false
            open.removeLast()
            return nil
        }
        while position < bytes.count, bytes[position] != UInt8(ascii: "<") { position += 1 }
        return try nextTag().map { String(decoding: bytes[$0], as: UTF8.self) }
    }

    /// The text of the open element, which has no elements in it, and closes it.
    mutating func text() throws(Malformed) -> String {
        if isEmptyElement {
            isEmptyElement = false
            open.removeLast()
            return ""
        }
        let start = position
        var isPlain = true
        while position < bytes.count, bytes[position] != UInt8(ascii: "<") {
            if bytes[position] == UInt8(ascii: "&") { isPlain = false }
            position += 1
        }
        let raw = bytes[start..<position]
        guard try nextTag() == nil else { throw Malformed() }
        let text = isPlain ? Array(raw) : try Self.resolved(raw)
        guard let text = String(validating: text, as: UTF8.self) else { throw Malformed() }
        return text
    }

    mutating func skip() throws(Malformed) {
        let depth = open.count
        while open.count >= depth { _ = try next() }
    }

    /// The texts of the elements with these names in the open one, the last of each; others are skipped.
    mutating func texts(_ names: String...) throws(Malformed) -> [String: String] {
        var texts: [String: String] = [:]
        while let name = try next() {
            if names.contains(name) { texts[name] = try text() } else { try skip() }
        }
        return texts
    }

    // MARK: tags

    private mutating func nextTag() throws(Malformed) -> Range<Int>? {
        while starts(with: "<!--") { try skipComment() }
        guard position + 1 < bytes.count, bytes[position] == UInt8(ascii: "<") else {
            throw Malformed()
        }
        position += 1
        if bytes[position] == UInt8(ascii: "/") {
            position += 1
            let name = try name()
            skipBlanks()
            guard let last = open.popLast(), bytes[last] == bytes[name], take(">") else {
                throw Malformed()
            }
            return nil
        }
        let name = try name()
        try skipAttributes()
        isEmptyElement = take("/")
        guard take(">"), open.count < Self.depthMax else { throw Malformed() }
        open.append(name)
        // The local name: without its prefix.
        let colon = bytes[name].firstIndex(of: UInt8(ascii: ":"))
        return (colon.map { $0 + 1 } ?? name.lowerBound)..<name.upperBound
    }

    private mutating func skipComment() throws(Malformed) {
        try skip(past: "-->")
        while position < bytes.count, bytes[position] != UInt8(ascii: "<") { position += 1 }
    }

    private mutating func name() throws(Malformed) -> Range<Int> {
        let start = position
        while position < bytes.count, Self.isNameByte(bytes[position]) { position += 1 }
        guard position > start, position - start <= 128 else { throw Malformed() }
        return start..<position
    }

    private mutating func skipAttributes() throws(Malformed) {
        while true {
            skipBlanks()
            guard position < bytes.count else { throw Malformed() }
            guard Self.isNameByte(bytes[position]) else { return }
            _ = try name()
            skipBlanks()
            guard take("=") else { throw Malformed() }
            skipBlanks()
            guard position < bytes.count, [34, 39].contains(bytes[position]) else {
                throw Malformed()
            }
            let quote = bytes[position]
            position += 1
            while position < bytes.count, bytes[position] != quote {
                if bytes[position] == UInt8(ascii: "<") { throw Malformed() }
                position += 1
            }
            position += 1
        }
    }

    private static func isNameByte(_ byte: UInt8) -> Bool {
        byte.isPlain || byte == UInt8(ascii: ":")
    }

    // MARK: characters

    private mutating func skipBlanks() {
        while position < bytes.count, [32, 9, 10, 13].contains(bytes[position]) { position += 1 }
    }

    private mutating func take(_ character: Unicode.Scalar) -> Bool {
        guard position < bytes.count, bytes[position] == UInt8(ascii: character) else {
            return false
        }
        position += 1
        return true
    }

    private func starts(with text: StaticString) -> Bool {
        text.withUTF8Buffer { bytes[position...].starts(with: $0) }
    }

    private mutating func skip(past text: StaticString) throws(Malformed) {
        while position < bytes.count, !starts(with: text) { position += 1 }
        guard position < bytes.count else { throw Malformed() }
        position += text.utf8CodeUnitCount
    }

    /// Replaces references (XML 1.0, section 4.6: the five that every document has).
    private static func resolved(_ raw: ArraySlice<UInt8>) throws(Malformed) -> [UInt8] {
        var text: [UInt8] = []
        var rest = raw
        while let byte = rest.popFirst() {
            guard byte == UInt8(ascii: "&") else {
                text.append(byte)
                continue
            }
            guard let end = rest.prefix(12).firstIndex(of: UInt8(ascii: ";")) else {
                throw Malformed()
            }
            let name = String(decoding: rest[..<end], as: UTF8.self)
            rest = rest[(end + 1)...]
            switch name {
            case "amp": text.append(UInt8(ascii: "&"))
            case "lt": text.append(UInt8(ascii: "<"))
            case "gt": text.append(UInt8(ascii: ">"))
            case "quot": text.append(UInt8(ascii: "\""))
            case "apos": text.append(UInt8(ascii: "'"))
            default:
                guard let scalar = scalar(name) else { throw Malformed() }
                text.append(contentsOf: String(Character(scalar)).utf8)
            }
        }
        return text
    }

    /// The character of `#65` or `#x41`.
    private static func scalar(_ name: String) -> Unicode.Scalar? {
        guard name.hasPrefix("#") else { return nil }
        let digits = name.dropFirst()
        let isHex = digits.hasPrefix("x")
        let number = isHex ? UInt32(digits.dropFirst(), radix: 16) : UInt32(digits, radix: 10)
        guard let number, number != 0 else { return nil }
        return Unicode.Scalar(number)
    }
}

func xmlEscaped(_ text: String) -> String {
    var result = ""
    for scalar in text.unicodeScalars {
        switch scalar {
        case "&": result += "&amp;"
        case "<": result += "&lt;"
        case ">": result += "&gt;"
        case "\r": result += "&#13;"
        default: result.unicodeScalars.append(scalar)
        }
    }
    return result
}
