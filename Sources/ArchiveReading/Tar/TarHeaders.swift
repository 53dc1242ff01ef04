/// The headers before the header of a tar archive's entry: longer names, and other extensions by pax(1).
///
/// libarchive reads them, too, but forgives what other programs understand differently, and composes names' characters.
struct TarHeaders {
    struct Objection: Equatable {
        var entry: String?
        var problem: String
        var isName = false
    }

    /// The types of headers that belong to the next one.
    private static let extending = Array("xXgLKAV".utf8)

    /// How often the entry gets a name besides that in its own header, and a link target.
    private var (nameCount, targetCount) = (0, 0)
    /// The name in an extended header, byte for byte; `nil` for none.
    private(set) var name: ArraySlice<UInt8>?
    /// The link target, likewise.
    private(set) var target: ArraySlice<UInt8>?

    /// - Parameter bytes: begins with the entry's headers; what follows does not matter.
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
                // GNU's long names end with any number of NULs.
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

    /// Checks records `LENGTH KEY=VALUE\n`.
    /// - Parameter isForAll: whether they apply to all following entries.
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

    static let isSparse =
        "it is a sparse file; castree reads regular files: pack it without tar's option --sparse (-S)"

    private static func text(_ field: ArraySlice<UInt8>) -> String? {
        let name = field.prefix { $0 != 0 }
        return name.isEmpty ? nil : String(decoding: name, as: UTF8.self)
    }

    /// A number in octal digits; no relevant header is larger than these can say.
    private static func octal(_ field: ArraySlice<UInt8>) -> Int {
        field.drop { $0 == 32 }.prefix { (48..<56).contains($0) }
            .reduce(0) { $0 * 8 + Int($1) - 48 }
    }
}
