/// What stands before the header of a tar archive's entry: longer names, and what else pax(1) adds.
///
/// libarchive reads them, forgives what other programs understand in another way, and composes the characters of names.
struct TarHeaders {
    /// Why an entry is refused.
    struct Objection: Equatable {
        /// Its name, as far as that is known.
        var entry: String?
        var problem: String
        /// Whether its name is to blame.
        var isName = false
    }

    /// The types of headers that belong to the next one.
    private static let extending = Array("xXgLKAV".utf8)

    /// How often the entry is given a name besides that in its own header, and something that it is a link to.
    private var (nameCount, targetCount) = (0, 0)
    /// The name that an extended header gives it, byte for byte; `nil` if none does.
    private(set) var name: ArraySlice<UInt8>?
    /// The same of what it is a link to.
    private(set) var target: ArraySlice<UInt8>?

    /// Reads the headers of an entry.
    ///
    /// - Parameter bytes: begins with them; what follows does not matter.
    /// - Returns: why the entry is refused; `nil` if its headers give no reason.
    mutating func objection(to bytes: [UInt8]) -> Objection? {
        self = TarHeaders()
        var rest = bytes[...]
        while rest.count >= 512 {
            let header = rest.prefix(512)
            let type = header[header.startIndex + 156]
            let field = header.dropFirst(124).prefix(12)
            // GNU's binary numbers are for sizes that no such header has.
            guard field.allSatisfy({ $0 < 0x80 }) || !Self.extending.contains(type) else {
                return Objection(problem: "the size of a header in it is no octal number")
            }
            let size = Self.octal(field)
            let content = rest.dropFirst(512).prefix(size)
            var objection: Objection?
            switch type {
            case UInt8(ascii: "x"), UInt8(ascii: "X"): objection = self.objection(in: content)
            case UInt8(ascii: "g"): objection = self.objection(in: content, isForAll: true)
            case UInt8(ascii: "L"), UInt8(ascii: "K"):
                // GNU's long names end with NUL, as often as their writer likes.
                let end = content.lastIndex { $0 != 0 } ?? content.startIndex
                if content[..<end].contains(0) { return Self.withNUL(content) }
                if type == UInt8(ascii: "L") { nameCount += 1 } else { targetCount += 1 }
            case UInt8(ascii: "A"), UInt8(ascii: "V"): break
            case UInt8(ascii: "S"): return Self.sparse(header.prefix(100))
            default:
                return max(nameCount, targetCount) > 1 ? Self.twice(header.prefix(100)) : nil
            }
            if let objection { return objection }
            rest = rest.dropFirst(512 + (size + 511) / 512 * 512)
        }
        return nil
    }

    /// Looks at records `LENGTH KEY=VALUE\n`.
    /// - Parameter isForAll: whether they are for all entries that follow.
    private mutating func objection(
        in content: ArraySlice<UInt8>, isForAll: Bool = false
    ) -> Objection? {
        var rest = content
        var sparseName: ArraySlice<UInt8>?
        while let blank = rest.firstIndex(of: 32),
            let length = Int(String(decoding: rest[..<blank], as: UTF8.self)),
            length > blank - rest.startIndex, length <= rest.count
        {
            let record = rest.prefix(length).dropLast()[(blank + 1)...]
            let parts = record.split(separator: 61, maxSplits: 1, omittingEmptySubsequences: false)
            let key = String(decoding: parts[0], as: UTF8.self)
            let value = parts.count == 2 ? parts[1] : []
            let isName = ["path", "linkpath", "GNU.sparse.name"].contains(key)
            // Other values may be any bytes.
            if isName, value.contains(0) { return Self.withNUL(value) }
            if key.hasPrefix("GNU.sparse.") {
                sparseName = isName ? value : sparseName ?? []
            }
            if isForAll, isName || key == "size" || key == "hdrcharset" {
                return Objection(
                    problem: "it gives all its entries one \(key), which not every program heeds")
            }
            if key == "path" { (nameCount, name) = (nameCount + 1, value) }
            if key == "linkpath" { (targetCount, target) = (targetCount + 1, value) }
            rest = rest.dropFirst(length)
        }
        return sparseName.map(Self.sparse)
    }

    private static func withNUL(_ name: ArraySlice<UInt8>) -> Objection {
        Objection(
            entry: String(decoding: name, as: UTF8.self), problem: "its name contains NUL",
            isName: true)
    }

    private static func twice(_ name: ArraySlice<UInt8>) -> Objection {
        Objection(
            entry: text(name), problem: "it is given more than one name, or links to more than one",
            isName: true)
    }

    private static func sparse(_ name: ArraySlice<UInt8>) -> Objection {
        Objection(entry: text(name), problem: isSparse)
    }

    /// Why a sparse file is refused.
    static let isSparse =
        "it is a sparse file; castree reads regular files: pack it without tar's option --sparse (-S)"

    private static func text(_ field: ArraySlice<UInt8>) -> String? {
        let name = field.prefix { $0 != 0 }
        return name.isEmpty ? nil : String(decoding: name, as: UTF8.self)
    }

    /// A number in octal digits; no header that matters here is longer than these can say.
    private static func octal(_ field: ArraySlice<UInt8>) -> Int {
        field.drop { $0 == 32 }.prefix { (48..<56).contains($0) }
            .reduce(0) { $0 * 8 + Int($1) - 48 }
    }
}
