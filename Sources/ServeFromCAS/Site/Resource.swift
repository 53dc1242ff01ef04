import CASStore

/// What a URL path leads to: an object, and what the manifest says about it.
struct Resource: Sendable {
    var address: ObjectID
    var byteCount: Int64
    /// The key of its path in the site's table; -1 if there is none.
    var path: Int32 = -1
    /// The position of its label in the site's labels; -1 if it has none.
    var label: Int32 = -1
    /// The position of its precompressed variants in the site's; -1 if it has none.
    var variants: Int32 = -1
    /// The coding that its bytes have, if what is inside is what its name says: `game.wasm.gz`.
    var coding = ContentCoding.identity
    /// Meteor's `cacheable`.
    var isCacheable = false
}

/// The resources that hold another one's content, precompressed; -1 if there is none.
struct Variants: Sendable {
    private var resources = SIMD4<Int32>(repeating: -1)

    subscript(coding: ContentCoding) -> Int32 {
        get { resources[Int(coding.rawValue)] }
        set { resources[Int(coding.rawValue)] = newValue }
    }
}

/// Where a key of a site's table leads.
struct Destination: Sendable {
    /// The resource; -1 for the same path with a slash at its end, because the directory has an index.
    var resource: Int32
    /// Whether the URL alone makes the answer immutable.
    var isImmutable = false

    static let directory = Destination(resource: -1)
}
