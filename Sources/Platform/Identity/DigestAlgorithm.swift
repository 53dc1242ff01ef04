/// A digest that castree can compute, for addresses and for the labels that publishers use.
public enum DigestAlgorithm: String, Sendable, Hashable, CaseIterable {
    case crc32, md5, sha1, sha256, sha384, sha512

    /// Whether contents with one digest may be taken for one content, unlike with a checksum.
    ///
    /// Among 77,000 different contents two are likely to have the same CRC-32.
    package var identifiesContent: Bool { self != .crc32 }

    package var byteCount: Int {
        switch self {
        case .crc32: 4
        case .md5: 16
        case .sha1: 20
        case .sha256: 32
        case .sha384: 48
        case .sha512: 64
        }
    }

    /// libcrypto's name of the digest (EVP_MD_fetch(3)).
    var name: String { rawValue.uppercased() }
}

/// A digest by which a publisher names or checks content.
///
/// A label is never an address: it says what the bytes must also match before they become an object.
public struct Label: Hashable, Sendable, CustomStringConvertible {
    /// How the digest is computed.
    public let algorithm: DigestAlgorithm
    /// The digest.
    public let bytes: [UInt8]

    /// Makes a label; `nil` unless `bytes` has the length of the algorithm's digest.
    public init?(_ algorithm: DigestAlgorithm, bytes: [UInt8]) {
        guard bytes.count == algorithm.byteCount else { return nil }
        self.algorithm = algorithm
        self.bytes = bytes
    }

    init(unchecked algorithm: DigestAlgorithm, bytes: [UInt8]) {
        self.algorithm = algorithm
        self.bytes = bytes
    }

    /// Reads a label from lower-case hexadecimal digits; `nil` for another spelling or length.
    public init?(_ algorithm: DigestAlgorithm, hex: String) {
        guard let bytes = Hex.bytes(hex) else { return nil }
        self.init(algorithm, bytes: bytes)
    }

    /// The algorithm and the digits, as in `sha1:aaf4…`.
    public var description: String { "\(algorithm.rawValue):\(Hex.string(bytes))" }
}
