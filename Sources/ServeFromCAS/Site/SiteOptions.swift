public import CASStore

/// How a version is shown as a site.
public struct SiteOptions: Sendable {
    /// The answer to a request whose path is the path of nothing.
    public enum Fallback: Sendable, Hashable {
        /// 404.
        case none
        /// Navigations get the index, so that an app may make its own URLs; everything else gets 404.
        ///
        /// So does a navigation to a missing script, style, image or hashed name: HTML in place of a
        /// script is the "Unexpected token <" of Meteor's users.
        case navigations
        /// Everything gets the index, as in cordova-plugin-meteor-webapp, except `/favicon.ico`,
        /// paths that begin with `/local-filesystem`, and requests whose query declines it.
        case meteor
    }

    /// What entity tags are made of.
    public enum EntityTags: Sendable, Hashable {
        /// The address.
        case address
        /// The publisher's label, if the entry has one: the foreign field `hash`, else a SHA-1.
        case label
    }

    /// Which answers a cache may keep for a year without asking again.
    public enum ImmutableURLs: Sendable, Hashable {
        /// Only those under ``SiteOptions/immutablePrefixes``.
        case prefixes
        /// Also those whose file name has a content hash; see `HashedName`.
        case hashedNames
        /// Entries whose foreign field `cacheable` is true, if the request has a query or the path
        /// has 40 lower-case hexadecimal digits: Meteor's rule.
        case meteor
    }

    /// The name of the file that is shown for its directory.
    public var index = "index.html"
    /// The answer for a path that is the path of nothing.
    public var fallback = Fallback.navigations
    /// Whether `/docs/` shows `/docs/index.html`, and `/docs` leads there; `/` always shows the index.
    public var hasDirectoryIndexes = true
    /// Whether `/about` shows `/about.html`.
    public var hasCleanURLs = false
    /// What entity tags are made of.
    public var entityTags = EntityTags.address
    /// Which URLs are immutable.
    public var immutableURLs = ImmutableURLs.hashedNames
    /// Paths that begin with one of these are immutable, whatever their names; pages never are.
    public var immutablePrefixes: [String] = []
    /// Whether text has `; charset=utf-8` in its Content-Type.
    public var namesCharset = true
    /// Referrer-Policy of all answers; pinning needs the Referer of every request that a page makes.
    public var referrerPolicy: String? = "same-origin"
    /// Fields added to every representation.
    public private(set) var fields: [(name: String, value: String)] = []

    /// The usual site: navigations fall back to the index, hashed names are immutable.
    public init() {}

    /// A site that passes the tests of cordova-plugin-meteor-webapp.
    public static var meteor: SiteOptions {
        var options = SiteOptions()
        options.fallback = .meteor
        options.entityTags = .label
        options.immutableURLs = .meteor
        options.hasDirectoryIndexes = false
        options.namesCharset = false
        return options
    }

    /// Adds a field to every representation.
    /// - Throws: `.badField` for a name that is no token, a value with control characters, or a
    ///   field that the server itself writes.
    public mutating func add(_ name: String, _ value: String) throws(StoreError) {
        guard !name.isEmpty, name.utf8.allSatisfy(ByteClass.isToken) else {
            throw StoreError(
                .badField, "\"\(name)\" cannot be the name of a field: use letters, digits and -")
        }
        guard value.utf8.allSatisfy({ $0 == 9 || $0 >= 32 && $0 != 127 }) else {
            throw StoreError(
                .badField, "the value of \(name) has control characters: leave them out")
        }
        let lowered = name.lowercased()
        if Self.ours.contains(lowered) {
            throw StoreError(.badField, "\(name) is written by the server: leave it out")
        }
        if lowered == "referrer-policy" { referrerPolicy = nil }
        fields.append((name, value))
    }

    /// Whether a text can be the name of a directory's index file.
    package static func isIndex(_ name: String) -> Bool {
        let bytes = Array(name.utf8)
        return !bytes.isEmpty && bytes.count <= 255 && name != "." && name != ".."
            && bytes.allSatisfy { $0 != 47 && $0 >= 32 && $0 != 127 }
    }

    /// Says whose pages may show an answer (Fetch, section 3.7).
    static let resourcePolicy = "Cross-Origin-Resource-Policy"

    private static let ours: Set<String> = [
        "connection", "content-encoding", "content-length", "content-range", "date", "etag",
        "keep-alive", "last-modified", "transfer-encoding", "upgrade", "trailer", "content-type",
        "accept-ranges", "vary", "x-content-type-options",
    ]
}

extension StoreError.Code {
    /// A header field cannot be sent.
    public static let badField = Self("badField")
}
