import CASStore

/// An object that a URL path names, and what the manifest says about it.
struct Resource: Sendable {
    var address: ObjectID
    var byteCount: Int64
    /// The key of its path in the site's table; -1 if there is none.
    var path: Int32 = -1
    /// The position of its label in the site's labels; -1 if it has none.
    var label: Int32 = -1
    /// The position of its precompressed variants in the site's; -1 if it has none.
    var variants: Int32 = -1
    /// The coding of its bytes, if the name before the ending describes their content: `game.wasm.gz`.
    var coding = ContentCoding.identity
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

struct Destination: Sendable {
    /// -1 for the same path with a trailing slash, because the directory has an index.
    var resource: Int32
    var isImmutable = false

    static let directory = Destination(resource: -1)
}
