public import CASStore

/// One way to the content of a file: what to ask for, and what to do with the body that comes.
public struct ContentSource: Sendable, Hashable {
    /// A URL reference, percent-encoded, relative to the origin or absolute (`OriginURL`).
    public var reference: String
    /// What makes the content of the body, one after the other; none if the body is the content.
    ///
    /// castree reads bodies without steps. A format for another system may offer others beside them, or
    /// an app may fetch those by itself (``CASStore/Arrivals``).
    public var steps: [Step] = []
    /// The size of the body, if it is not that of the file.
    public var byteCount: Int64?
    /// What the body must fulfil, besides what its content must.
    public var checks: [ContentCheck] = []
    /// Fields of the request that the publisher asks for (Expo's `assetRequestHeaders`).
    public var fields: [Field] = []

    /// Makes a source whose body is the content.
    public init(_ reference: String) { self.reference = reference }

    /// Whether the body is the content.
    package var isPlain: Bool { steps.isEmpty }

    /// Something that is done with the bytes of a body.
    public enum Step: Sendable, Hashable {
        /// Taken out of an archive, such as `zip`: the file of this path there.
        case extract(String, path: String)
        /// Decompressed: `br`, `gzip`, `zstd`.
        case decompress(String)
        /// Decrypted, with a key that the format knows: `aes-128-cbc`.
        case decrypt(String)
        /// Taken for the difference to other content: `bsdiff`.
        case patch(String, of: Base)

        /// What the body is, in one word, for messages.
        package var name: String {
            switch self {
            case .extract(let name, _), .decompress(let name), .decrypt(let name),
                .patch(let name, _):
                name
            }
        }
    }

    /// What a difference was made to.
    public struct Base: Sendable, Hashable {
        /// The publisher's name of the version that has it; nil if any may have it.
        public var version: String?
        /// Its digest: a base is what has these bytes, whatever its name says.
        public var digest: Label?

        /// Makes a base.
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

        /// Makes a field.
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
