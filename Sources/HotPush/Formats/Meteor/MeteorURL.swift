import CASStore

/// The `url` or `sourceMapUrl` of an entry in Meteor's manifest.
struct MeteorURL {
    /// The URL that local pages request: without the query, spelled as in the manifest.
    let route: String
    /// Where a server has the file: relative to the origin, or absolute.
    let source: String

    static let base = "__cordova/"
    /// Asks the server for 404 instead of the index page if it does not have the file.
    static let query = "meteor_dont_serve_index=true"
    /// No route may be longer.
    static let byteCountMax = 8192

    /// Sets `problem` to the broken rule if it returns nil.
    ///
    /// The query is not sent: it only distinguishes copies in caches, and with `meteor_css_resource` a missing file
    /// would come back as a style sheet. The prefix `/__cordova` of newer manifests is the folder itself.
    init?(_ text: String, _ problem: inout String) {
        let bytes = Array(text.utf8)
        if let broken = Self.problem(bytes) {
            problem = broken
            return nil
        }
        let pathEnd = bytes.firstIndex(of: 63) ?? bytes.count
        if OriginURL.isAbsolute(text) {
            // Another server does not know our query and may need its own.
            source = PercentEncoding.url(text)
            let start = bytes[8...].firstIndex(of: 47)
            route =
                if let start, start < pathEnd {
                    String(decoding: bytes[start..<pathEnd], as: UTF8.self)
                } else { "/" }
            return
        }
        route = String(decoding: bytes[..<pathEnd], as: UTF8.self)
        var path = bytes[1..<pathEnd]
        if path.starts(with: Self.base.utf8) { path = path.dropFirst(Self.base.utf8.count) }
        let encoded = PercentEncoding.path(String(decoding: path, as: UTF8.self))
        source = "\(Self.base)\(encoded)?\(Self.query)"
    }

    /// Whether the path contains a label, such as the one that names a source map.
    var hasLabel: Bool {
        var length = 0
        for byte in route.utf8 {
            length = Hex.value(of: byte) == nil ? 0 : length + 1
            if length == 40 { return true }
        }
        return false
    }

    private static func problem(_ bytes: [UInt8]) -> String? {
        if bytes.count > byteCountMax {
            return "it has \(bytes.count) bytes, more than \(byteCountMax)"
        }
        let text = String(decoding: bytes.prefix(16), as: UTF8.self)
        guard bytes.first == 47 || (OriginURL.isAbsolute(text) && bytes.count > 8) else {
            return "it must begin with \"/\""
        }
        // As the server sees it.
        let path = bytes.prefix { $0 != 63 }
        let decoded = path.contains(37) ? PercentEncoding.decoded(path) ?? Array(path) : Array(path)
        if decoded.contains(0) { return "it contains NUL" }
        if decoded.contains(92) { return "it contains a backslash" }
        for component in decoded.split(separator: 47) where component.first == 46 {
            if component.count == 1 { return "it contains \".\"" }
            if component.elementsEqual([46, 46]) { return "it contains \"..\"" }
        }
        return nil
    }
}
