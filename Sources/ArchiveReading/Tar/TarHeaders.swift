/// What stands before the header of a tar archive's entry: longer names, and what else pax(1) adds.
enum TarHeaders {
    /// The name that contains NUL, if one does.
    ///
    /// - Parameter bytes: begins with the headers of an entry; what follows them does not matter.
    static func nameWithNUL(_ bytes: [UInt8]) -> String? {
        var rest = bytes[...]
        while rest.count >= 512 {
            let header = rest.prefix(512)
            let type = header[header.startIndex + 156]
            let size = octal(header.dropFirst(124).prefix(12))
            let content = rest.dropFirst(512).prefix(size)
            switch type {
            case UInt8(ascii: "x"), UInt8(ascii: "g"), UInt8(ascii: "X"):
                if let name = nameWithNUL(inRecords: content) { return name }
            case UInt8(ascii: "L"), UInt8(ascii: "K"):
                // GNU's long names end with NUL, as often as their writer likes.
                let end = content.lastIndex { $0 != 0 } ?? content.startIndex
                if content[..<end].contains(0) { return String(decoding: content, as: UTF8.self) }
            case UInt8(ascii: "A"), UInt8(ascii: "V"): break
            default: return nil
            }
            rest = rest.dropFirst(512 + (size + 511) / 512 * 512)
        }
        return nil
    }

    /// Looks at records `LENGTH KEY=VALUE\n`, of which those for names count: others may be any bytes.
    private static func nameWithNUL(inRecords content: ArraySlice<UInt8>) -> String? {
        var rest = content
        while let blank = rest.firstIndex(of: 32),
            let length = Int(String(decoding: rest[..<blank], as: UTF8.self)),
            length > blank - rest.startIndex, length <= rest.count
        {
            let record = rest.prefix(length).dropLast()[(blank + 1)...]
            let parts = record.split(separator: 61, maxSplits: 1, omittingEmptySubsequences: false)
            let key = String(decoding: parts[0], as: UTF8.self)
            if ["path", "linkpath", "GNU.sparse.name"].contains(key), parts.count == 2,
                parts[1].contains(0)
            {
                return String(decoding: parts[1], as: UTF8.self)
            }
            rest = rest.dropFirst(length)
        }
        return nil
    }

    /// A number in octal digits; no header that matters here is longer than these can say.
    private static func octal(_ field: ArraySlice<UInt8>) -> Int {
        field.drop { $0 == 32 }.prefix { (48..<56).contains($0) }
            .reduce(0) { $0 << 3 | Int($1) - 48 }
    }
}
