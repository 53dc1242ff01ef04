import CASStore

/// What a URL path stands for: an object, and what the manifest says of it.
struct Resource: Sendable {
    var address: ObjectID
    var byteCount: Int64
    /// The key of its path in the site's table; -1 if it has none.
    var path: Int32 = -1
    /// Where its label stands in the site's; -1 if it has none.
    var label: Int32 = -1
    /// Where its precompressed variants stand in the site's; -1 if it has none.
    var variants: Int32 = -1
    /// What Meteor calls cacheable.
    var isCacheable = false
}

/// The resources that are another one's content, precompressed; -1 where there is none.
struct Variants: Sendable {
    var brotli: Int32 = -1
    var zstandard: Int32 = -1
    var gzip: Int32 = -1

    subscript(coding: ContentCoding) -> Int32 {
        get {
            switch coding {
            case .identity: -1
            case .brotli: brotli
            case .zstandard: zstandard
            case .gzip: gzip
            }
        }
        set {
            switch coding {
            case .identity: break
            case .brotli: brotli = newValue
            case .zstandard: zstandard = newValue
            case .gzip: gzip = newValue
            }
        }
    }
}

/// What a key of a site's table leads to.
struct Destination: Sendable {
    /// The resource; -1: to the same path with a slash at its end, for the directory has an index.
    var resource: Int32
    /// Whether the URL alone makes the answer immutable.
    var isImmutable = false

    static let directory = Destination(resource: -1)
}
