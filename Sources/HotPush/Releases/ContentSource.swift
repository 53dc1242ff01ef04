public import CASStore

/// One way to get the content of a file: what to request, and what to do with the body.
public struct ContentSource: Sendable, Hashable {
    /// A URL reference, percent-encoded, relative to the origin or absolute (`OriginURL`).
    public var reference: String
    /// The steps that turn the body into the content, in order; none if the body is the content.
    ///
    /// castree reads only bodies without steps. A format may also offer others, which an app can fetch itself
    /// (``CASStore/IncomingContents``).
    public var steps: [Step] = []
    /// The size of the body, if it differs from the file's.
    public var byteCount: Int64?
    /// What the body must satisfy, besides what its content must.
    public var checks: [ContentCheck] = []
    /// Request fields that the publisher asks for (Expo's `assetRequestHeaders`).
    public var fields: [Field] = []

    /// Creates a source whose body is the content.
    public init(_ reference: String) { self.reference = reference }

    package var isPlain: Bool { steps.isEmpty }

    /// A step that is applied to the bytes of a body.
    public enum Step: Sendable, Hashable {
        /// Extracted from an archive such as `zip`: the file with this path there.
        case extract(String, path: String)
        /// Decompressed: `br`, `gzip`, `zstd`.
        case decompress(String)
        /// Decrypted, with a key that the format knows: `aes-128-cbc`.
        case decrypt(String)
        /// Applied as a difference to other content: `bsdiff`.
        case patch(String, of: Base)

        package var name: String {
            switch self {
            case .extract(let name, _), .decompress(let name), .decrypt(let name),
                .patch(let name, _):
                name
            }
        }
    }

    /// The content to which a difference applies.
    public struct Base: Sendable, Hashable {
        /// The publisher's name of the version that has it; nil if any version may have it.
        public var version: String?
        /// Its digest: the base is whatever has these bytes, under any name.
        public var digest: Label?

        /// Creates a base.
        public init(version: String? = nil, digest: Label? = nil) {
            self.version = version
            self.digest = digest
        }
    }

    /// A field of a request (RFC 9110, section 5).
    public struct Field: Sendable, Hashable {
        /// Its name, in any case.
        public var name: String
        /// Its value.
        public var value: String

        /// Creates a field.
        public init(_ name: String, _ value: String) {
            self.name = name
            self.value = value
        }
    }
}

extension ReleaseFile {
    /// The sources that castree can read, in their order.
    var plainSources: [ContentSource] {
        sources.allSatisfy(\.isPlain) ? sources : sources.filter(\.isPlain)
    }
}

/// What the bytes of a file must satisfy.
public enum ContentCheck: Sendable, Hashable {
    /// A digest of the bytes: `sri`, MD5, SHA-1, or only a checksum.
    case digest(Label)
    /// A digest that castree cannot compute, as its publisher writes it; it is kept, and proves nothing.
    case unknownDigest(algorithm: String, text: String)
    /// A name in lower-case hex that some publishers' servers use as the entity tag; compared only if the server's
    /// entity tag has that form.
    case entityTag(String)
    /// Meteor's `hash`, one of several digests of the bytes, or of more than the bytes (see `MeteorLabel`).
    ///
    /// A match is proof; a mismatch proves nothing.
    case meteorLabel(String)
}
