/// A content coding that a precompressed variant may have (RFC 9110, section 8.4.1; RFC 7932, 8878).
package enum ContentCoding: UInt8, CaseIterable, Sendable {
    case identity, brotli, zstandard, gzip

    /// The coding's name in Content-Encoding and Accept-Encoding.
    package var name: StaticString {
        switch self {
        case .identity: "identity"
        case .brotli: "br"
        case .zstandard: "zstd"
        case .gzip: "gzip"
        }
    }

    /// What the variant's path has after the path of the file.
    package var ending: StaticString {
        switch self {
        case .identity: ""
        case .brotli: ".br"
        case .zstandard: ".zst"
        case .gzip: ".gz"
        }
    }
}

/// How welcome each coding is to a client, in thousandths (RFC 9110, section 12.5.3).
package struct AcceptEncoding: Equatable {
    private(set) var brotli = 0
    private(set) var zstandard = 0
    private(set) var gzip = 0
    /// `nil`: not mentioned, so acceptable, but less welcome than any coding that is.
    package private(set) var identity: Int?

    /// Reads the field's value; without a field (`nil`) only identity is taken for acceptable.
    ///
    /// A request without the field accepts every coding by the letter; who sends none usually
    /// understands none. Elements that are malformed are skipped.
    package init(_ value: FieldText?) {
        guard let value else { return }
        var others: Int?
        var isNamed: (brotli: Bool, zstandard: Bool, gzip: Bool) = (false, false, false)
        for element in value.split(separator: 44) {
            let semicolon = element.firstIndex(of: 59) ?? element.endIndex
            let name = element[..<semicolon].trimmed()
            guard let weight = Self.weight(element[semicolon...]) else { continue }
            if name.isWord("br") {
                (brotli, isNamed.brotli) = (weight, true)
            } else if name.isWord("zstd") {
                (zstandard, isNamed.zstandard) = (weight, true)
            } else if name.isWord("gzip") || name.isWord("x-gzip") {
                (gzip, isNamed.gzip) = (weight, true)
            } else if name.isWord("identity") {
                identity = weight
            } else if name.isWord("*") {
                others = weight
            }
        }
        guard let others else { return }
        if !isNamed.brotli { brotli = others }
        if !isNamed.zstandard { zstandard = others }
        if !isNamed.gzip { gzip = others }
        // A star that refuses refuses identity too; one that welcomes says nothing new of it.
        if identity == nil, others == 0 { identity = 0 }
    }

    /// How welcome a coding is; 0 is refused.
    package subscript(coding: ContentCoding) -> Int {
        switch coding {
        case .identity: identity ?? 1
        case .brotli: brotli
        case .zstandard: zstandard
        case .gzip: gzip
        }
    }

    /// The weight in `;q=0.5`: 1000 if there is none, `nil` if it is malformed.
    static func weight(_ parameters: FieldText) -> Int? {
        for parameter in parameters.split(separator: 59) {
            let parameter = parameter.trimmed()
            guard parameter.count >= 2, parameter.prefix(2).isWord("q=") else { continue }
            let digits = parameter.dropFirst(2)
            guard let first = digits.first, first == 48 || first == 49, digits.count <= 5 else {
                return nil
            }
            var result = Int(first - 48) * 1000
            if digits.count > 1 {
                guard digits[digits.startIndex + 1] == 46 else { return nil }
                var unit = 100
                for byte in digits.dropFirst(2) {
                    guard byte >= 48, byte <= 57 else { return nil }
                    result += Int(byte - 48) * unit
                    unit /= 10
                }
            }
            return result <= 1000 ? result : nil
        }
        return 1000
    }
}
