import CCrypto

/// A digest that castree can compute: the address and the labels that publishers use.
public enum DigestAlgorithm: String, Sendable, Hashable, CaseIterable {
    case md5, sha1, sha256, sha384, sha512

    /// The number of bytes of a digest.
    public var byteCount: Int {
        switch self {
        case .md5: 16
        case .sha1: 20
        case .sha256: 32
        case .sha384: 48
        case .sha512: 64
        }
    }

    /// libcrypto's name of the digest (EVP_MD_fetch(3)).
    var name: String {
        switch self {
        case .md5: "MD5"
        case .sha1: "SHA1"
        case .sha256: "SHA256"
        case .sha384: "SHA384"
        case .sha512: "SHA512"
        }
    }
}

/// A digest by which somebody else names or checks content.
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

    /// A label of the bytes that a digester gave.
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

/// A running digest through libcrypto, reusable for any number of messages.
///
/// Not for use by two threads at once; one per worker.
package struct Digester: ~Copyable {
    package let algorithm: DigestAlgorithm
    /// SHA-256 through the old functions.
    ///
    /// The others first make libcrypto list all that it can do, a millisecond that every process of
    /// some milliseconds would pay. The code behind is the same.
    private var sha256 = SHA256_CTX()
    private let other: Other?

    /// A digest that is fetched by its name.
    private struct Other {
        let context: OpaquePointer
        let method: OpaquePointer
    }

    /// Prepares a digest.
    ///
    /// - Throws: `.unsupported` when libcrypto does not offer it here, `.outOfMemory`.
    package init(_ algorithm: DigestAlgorithm) throws(StoreError) {
        let other = algorithm == .sha256 ? nil : try Self.fetch(algorithm)
        self.algorithm = algorithm
        self.other = other
        reset()
    }

    // Fetching the method once and reusing the context is three times faster for small messages
    // than EVP_Digest (EVP_DigestInit(3), NOTES).
    private static func fetch(_ algorithm: DigestAlgorithm) throws(StoreError) -> Other {
        guard let method = EVP_MD_fetch(nil, algorithm.name, nil) else {
            throw StoreError(
                .unsupported, "libcrypto has no \(algorithm.name) here; check its configuration")
        }
        guard let context = EVP_MD_CTX_new() else {
            EVP_MD_free(method)
            throw StoreError(.outOfMemory, "unable to prepare a digest: out of memory")
        }
        return Other(context: context, method: method)
    }

    /// Adds bytes to the message.
    package mutating func update(_ bytes: UnsafeRawBufferPointer) {
        let done =
            if let other {
                EVP_DigestUpdate(other.context, bytes.baseAddress, bytes.count)
            } else {
                castree_sha256_update(&sha256, bytes.baseAddress, bytes.count)
            }
        precondition(done == 1, "libcrypto failed to add to a digest")
    }

    /// Ends the message, calls `body` with its digest and begins the next message.
    package mutating func finish<R>(_ body: (UnsafeRawBufferPointer) -> R) -> R {
        withUnsafeTemporaryAllocation(byteCount: 64, alignment: 8) { target in
            let start = target.baseAddress?.assumingMemoryBound(to: UInt8.self)
            let done =
                if let other {
                    EVP_DigestFinal_ex(other.context, start, nil)
                } else {
                    castree_sha256_final(start, &sha256)
                }
            precondition(done == 1, "libcrypto failed to end a digest")
            reset()
            return body(UnsafeRawBufferPointer(rebasing: target[..<algorithm.byteCount]))
        }
    }

    /// Forgets the bytes of an unfinished message.
    package mutating func reset() {
        if let other {
            EVP_DigestInit_ex(other.context, other.method, nil)
        } else {
            castree_sha256_init(&sha256)
        }
    }

    deinit {
        guard let other else { return }
        EVP_MD_CTX_free(other.context)
        EVP_MD_free(other.method)
    }
}
