public import CASStore

/// How a version is shown as a site.
public struct SiteOptions: Sendable {
    /// The answer to a request whose path names nothing.
    public enum Fallback: Sendable, Hashable {
        /// 404.
        case none
        /// Navigations get the index, so that an app may make its own URLs; everything else gets 404.
        ///
        /// Where the browser does not say whether it loads a document (`Sec-Fetch-Dest`), paths that look like a
        /// script, style, image or hashed name also get 404: HTML in place of a script is the "Unexpected token <" of
        /// Meteor's users.
        case navigations
        /// Everything gets the index, as in cordova-plugin-meteor-webapp, except `/favicon.ico`, paths that begin
        /// with `/local-filesystem`, and requests whose query declines it.
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
        /// Also those whose name contains a digest of their content, at least eight digits of it.
        case hashedNames
        /// Entries whose foreign field `cacheable` is true, if the request has a query or the path has 40 lower-case
        /// hexadecimal digits: Meteor's rule.
        case meteor
    }

    /// The name of the file that is shown for its directory.
    public var index = "index.html"
    /// The answer for a path that names nothing.
    public var fallback = Fallback.navigations
    /// Whether `/docs/` shows `/docs/index.html`, and `/docs` redirects there; `/` always shows the index.
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
    private var fieldsOfSome: [(files: ProxyPattern, name: String, value: String)] = []
    /// Types of files by their endings, which begin with a dot and are in lower case.
    private var types: [(ending: [UInt8], type: String)] = []

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
    /// - Throws: `.badField` for a name that is no token, a value with control characters, a field that the server
    ///   itself writes, or one that would delete its cookies.
    public mutating func add(_ name: String, _ value: String) throws(StoreError) {
        let lowered = try Self.checked(name, value)
        if lowered == "referrer-policy" { referrerPolicy = nil }
        fields.append((name, value))
    }

    /// Adds a field to the files at some paths, replacing one of that name for all files.
    /// - Parameters:
    ///   - name: as in `add(_:_:)`.
    ///   - value: as in `add(_:_:)`.
    ///   - files: a path, with all below it; or a pattern with stars that the whole path matches, `*` for
    ///     anything within a segment, `**` for any number of segments: `/models/**`, `/**/*.wasm`.
    /// - Throws: as `add(_:_:)`; `.badField` for an invalid pattern.
    public mutating func add(
        _ name: String, _ value: String, toFiles files: String
    ) throws(StoreError) {
        _ = try Self.checked(name, value)
        let isPattern = files.utf8.contains(UInt8(ascii: "*"))
        guard files.hasPrefix("/"),
            let pattern = ProxyPattern(Array((isPattern ? files : files + "/**").utf8))
        else {
            throw StoreError(
                .badField,
                "\"\(printable(files))\" names no files: write a path, /models, or one with stars, /**/*.wasm, "
                    + "in which ** is a whole segment and stands there once")
        }
        fieldsOfSome.append((pattern, name, value))
    }

    /// Sets the type of files whose names end with `ending`, such as `.usdz`.
    /// - Throws: `.badField` for an invalid ending or type.
    public mutating func setType(_ type: String, ofEnding ending: String) throws(StoreError) {
        let bytes = ending.utf8.map { FieldText.lowercased($0) }
        guard bytes.first == 46, bytes.count > 1, !bytes.contains(47),
            bytes.allSatisfy({ $0 > 32 && $0 < 127 })
        else {
            throw StoreError(
                .badField,
                "\"\(printable(ending))\" is no ending of a file's name: begin it with a dot, as in .usdz"
            )
        }
        let halves = type.utf8.prefix { $0 != 59 }.split(
            separator: 47, omittingEmptySubsequences: false)
        guard halves.count == 2,
            halves.allSatisfy({ !$0.isEmpty && $0.allSatisfy(ByteClass.isToken) }),
            type.utf8.allSatisfy({ $0 >= 32 && $0 < 127 })
        else {
            throw StoreError(
                .badField,
                "\"\(printable(type))\" is no media type: write it as in model/vnd.usdz+zip")
        }
        types.removeAll { $0.ending == bytes }
        types.append((bytes, type))
        // The longest ending that fits decides.
        types.sort { $0.ending.count > $1.ending.count }
    }

    func hasFields(for path: ArraySlice<UInt8>) -> Bool {
        fieldsOfSome.contains { $0.files.matches(path) }
    }

    func fields(for path: ArraySlice<UInt8>) -> [(name: String, value: String)] {
        let own = fieldsOfSome.filter { $0.files.matches(path) }
        return fields.filter { field in
            !own.contains { $0.name.lowercased() == field.name.lowercased() }
        } + own.map { ($0.name, $0.value) }
    }

    func contentType(of path: ArraySlice<UInt8>) -> String? {
        for (ending, type) in types
        where path.suffix(ending.count).map({ FieldText.lowercased($0) }) == ending {
            let isText = type.lowercased().hasPrefix("text/") && !type.utf8.contains(59)
            return isText && namesCharset ? type + "; charset=utf-8" : type
        }
        return MediaType.known(path)?.contentType(withCharset: namesCharset)
    }

    /// Checks a field that is to be added.
    /// - Returns: its name in lower case.
    private static func checked(_ name: String, _ value: String) throws(StoreError) -> String {
        guard !name.isEmpty, name.utf8.allSatisfy(ByteClass.isToken) else {
            // Do not print anything after a blank: it may be a value, and secret.
            let (start, cut) = (name.prefix { $0 != " " }, name.contains(" ") ? " …" : "")
            throw StoreError(
                .badField,
                "\"\(start)\(cut)\" cannot be the name of a field: use letters, digits and -")
        }
        guard value.utf8.allSatisfy({ $0 == 9 || $0 >= 32 && $0 != 127 }) else {
            throw StoreError(
                .badField, "the value of \(name) has control characters: leave them out")
        }
        let lowered = name.lowercased()
        if ours.contains(lowered) {
            throw StoreError(.badField, "\(name) is written by the server: leave it out")
        }
        if lowered == "clear-site-data", ClearedData.withoutCookies(Array(value.utf8)) != nil {
            throw StoreError(
                .badField,
                "\(name): \(value) would delete the cookies by which the server knows its pages: name what else"
                    + " shall go, \"cache\", \"storage\"")
        }
        if lowered == "permissions-policy", StructuredField(dictionary: value) == nil {
            throw StoreError(
                .badField,
                "\(name): \(value) breaks the grammar of this field, so browsers would drop it and what the server adds "
                    + "to it: write it as in geolocation=(self), camera=()")
        }
        return lowered
    }

    package static func isIndex(_ name: String) -> Bool {
        let bytes = Array(name.utf8)
        return !bytes.isEmpty && bytes.count <= 255 && name != "." && name != ".."
            && bytes.allSatisfy { $0 != 47 && $0 >= 32 && $0 != 127 }
    }

    /// The field that says whose pages may show an answer (Fetch, section 3.7).
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
