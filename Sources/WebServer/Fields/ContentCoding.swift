/// A content coding that a precompressed variant may have (RFC 9110, section 8.4.1; RFC 7932, 8878).
package enum ContentCoding: UInt8, CaseIterable, Sendable {
    case identity, brotli, zstandard, gzip

    package var name: StaticString {
        switch self {
        case .identity: "identity"
        case .brotli: "br"
        case .zstandard: "zstd"
        case .gzip: "gzip"
        }
    }

    /// The suffix that the variant's path adds to the file's.
    package var ending: String {
        switch self {
        case .identity: ""
        case .brotli: ".br"
        case .zstandard: ".zst"
        case .gzip: ".gz"
        }
    }
}

/// A client's weight for each coding, in thousandths (RFC 9110, section 12.5.3).
package struct AcceptEncoding {
    // `nil`: not mentioned.
    private var brotli: Int?
    private var zstandard: Int?
    private var gzip: Int?
    /// `nil`: not mentioned, so acceptable, but less welcome than any coding that is mentioned.
    package private(set) var identity: Int?
    private var others: Int?

    /// Reads the field's value; without a field (`nil`) only identity counts as acceptable.
    ///
    /// Strictly, a request without the field accepts every coding, but a client that sends none usually understands
    /// none. Malformed elements are skipped.
    package init(_ value: FieldText?) {
        guard let value else { return }
        for element in value.split(separator: 44) {
            let (name, weight) = element.weighted()
            guard let weight else { continue }
            if name.isWord("br") {
                brotli = weight
            } else if name.isWord("zstd") {
                zstandard = weight
            } else if name.isWord("gzip") || name.isWord("x-gzip") {
                gzip = weight
            } else if name.isWord("identity") {
                identity = weight
            } else if name.isWord("*") {
                others = weight
            }
        }
        // A star that refuses also refuses identity; one that welcomes adds nothing about it.
        if identity == nil, others == 0 { identity = 0 }
    }

    /// The weight of a coding; 0 is refused.
    package subscript(coding: ContentCoding) -> Int {
        switch coding {
        case .identity: identity ?? 1
        case .brotli: brotli ?? others ?? 0
        case .zstandard: zstandard ?? others ?? 0
        case .gzip: gzip ?? others ?? 0
        }
    }
}
