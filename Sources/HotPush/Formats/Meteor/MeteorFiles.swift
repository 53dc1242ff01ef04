package import CASStore
import StrictJSON
import VersionTree

/// The files of a Meteor manifest: each path once, however many URLs lead to it.
struct MeteorFiles {
    private var files: [ReleaseFile]
    private let layout: DocumentLayout
    private var positions: [ByteText: Int]
    private var routes: [ByteText: Int] = [:]
    /// Whether any entry has the field `sri`, as scripts and style sheets do since Meteor 1.8.
    private var hasIntegrity = false

    /// Begins with the index page, which no manifest lists.
    init(layout: DocumentLayout, likelyCount: Int) {
        self.layout = layout
        files = []
        positions = [:]
        files.reserveCapacity(likelyCount)
        positions.reserveCapacity(likelyCount)
        routes.reserveCapacity(likelyCount)
        let path = MeteorFormat.indexPath
        // The path is always valid.
        guard let indexPath = try? TreePath(path) else { return }
        var page = ReleaseFile(path: indexPath, source: layout == .server ? MeteorURL.base : path)
        page.routes = ["/"]
        page.isLaunchFile = true
        page.needsInspection = true
        files.append(page)
        positions[ByteText(path)] = 0
        routes[ByteText("/")] = 0
    }

    mutating func take() -> [ReleaseFile] {
        defer { (files, positions, routes) = ([], [:], [:]) }
        // Without `sri` it is a release of Meteor 1.7 or older, whose labels cover only content.
        if !hasIntegrity {
            for position in files.indices {
                for case .meteorLabel in files[position].checks {
                    files[position].needsProof = true
                }
            }
        }
        return files
    }

    /// Adds an entry, and its source map if it has one; returns an error message, or nil.
    mutating func add(_ entry: MeteorEntry) -> String? {
        guard let path = entry.path else { return "an entry has no \"path\"" }
        guard let url = entry.url else { return "the entry of \(shown(path)) has no \"url\"" }
        guard let type = entry.type else { return "the entry of \(shown(path)) has no \"type\"" }
        guard let isCacheable = entry.isCacheable else {
            return "the entry of \(shown(path)) has no \"cacheable\""
        }
        var listed = Listed(isMap: false)
        listed.byteCount = entry.byteCount
        listed.hash = entry.hash
        if let sri = entry.sri {
            guard let label = Self.integrity(sri) else {
                return "the \"sri\" of \(shown(path)) is no SHA-512 in base64"
            }
            listed.integrity = label
            hasIntegrity = true
        }
        listed.isLaunchFile = type == "js" || type == "css"
        listed.fields = Self.fields(type: type, isCacheable: isCacheable, entry)
        if let problem = add(path, url, listed) { return problem }
        guard let map = entry.sourceMap, let mapURL = entry.sourceMapURL else { return nil }
        var implied = Listed(isMap: true)
        implied.fields = Self.fields(type: "json", isCacheable: true, nil)
        return add(map, mapURL, implied)
    }

    private struct Listed {
        var isMap: Bool
        var byteCount: Int64?
        var hash: String?
        var integrity: Label?
        var isLaunchFile = false
        var fields: [JSONValue.Member] = []
    }

    private mutating func add(_ path: String, _ url: String, _ listed: Listed) -> String? {
        var problem = ""
        guard let place = MeteorURL(url, &problem) else {
            return "the URL \(shown(url)) of \(shown(path)) is refused: \(problem)"
        }
        let position: Int
        if let known = positions[ByteText(path)] {
            if known == 0 { return "\(shown(path)) is the path of the index page" }
            if let problem = merge(listed, into: known) { return problem }
            position = known
        } else {
            let file: ReleaseFile
            do throws(StoreError) {
                let treePath = try TreePath.foreign(path)
                file = ReleaseFile(
                    path: treePath,
                    source: layout == .server ? place.source : PercentEncoding.name(path))
            } catch {
                return error.message
            }
            position = files.count
            files.append(file)
            positions[ByteText(path)] = position
            fill(position, listed)
        }
        if listed.isMap, files[position].isOptional {
            files[position].hasImmutableSource = place.hasLabel
        }
        return addRoute(place.route, position)
    }

    private mutating func addRoute(_ route: String, _ position: Int) -> String? {
        if let taken = routes.updateValue(position, forKey: ByteText(route)) {
            if taken == position { return nil }
            return "the URL \(shown(route)) is that of \(shown(files[taken])) and of "
                + shown(files[position])
        }
        // The file's own path needs no route.
        let path = files[position].path.description
        if route.utf8.dropFirst().elementsEqual(path.utf8) { return nil }
        files[position].routes.append(route)
        return nil
    }

    private mutating func fill(_ position: Int, _ listed: Listed) {
        files[position].byteCount = listed.byteCount
        files[position].isLaunchFile = listed.isLaunchFile
        files[position].isOptional = listed.isMap
        files[position].hasImmutableSource = false
        files[position].foreign = listed.fields
        if let integrity = listed.integrity {
            files[position].checks.append(.digest(integrity))
        }
        if let label = listed.hash.flatMap({ MeteorLabel($0) }) {
            files[position].checks.append(.meteorLabel(label.description))
            files[position].checks.append(.entityTag(label.description))
        }
    }

    /// Accepts a second entry for a path unless it contradicts the first.
    private mutating func merge(_ listed: Listed, into position: Int) -> String? {
        // A source map says nothing about a path except that it exists.
        if listed.isMap { return nil }
        if files[position].isOptional {
            let routes = files[position].routes
            fill(position, listed)
            files[position].routes = routes
            return nil
        }
        let file = files[position]
        if let old = file.byteCount, let new = listed.byteCount, old != new {
            return "\(shown(file)) has two sizes"
        }
        files[position].byteCount = file.byteCount ?? listed.byteCount
        for field in file.foreign where field.key == "hash" {
            guard let new = listed.hash, let old = field.value.asString else { continue }
            if !old.utf8.elementsEqual(new.utf8) { return "\(shown(file)) has two hashes" }
        }
        if let new = listed.integrity {
            var isKnown = false
            for case .digest(let old) in file.checks {
                if old != new { return "\(shown(file)) has two values of \"sri\"" }
                isKnown = true
            }
            if !isKnown { files[position].checks.insert(.digest(new), at: 0) }
        }
        return nil
    }

    private static func fields(
        type: String, isCacheable: Bool, _ entry: MeteorEntry?
    ) -> [JSONValue.Member] {
        let texts: [(key: String, value: String?)] = [
            ("hash", entry?.hash), ("sourceMap", entry?.sourceMap),
            ("sourceMapUrl", entry?.sourceMapURL),
        ]
        let foreign = entry?.foreign ?? []
        var count = 2 + foreign.count + (entry?.isReplaceable == nil ? 0 : 1)
        for text in texts where text.value != nil { count += 1 }
        // Sized exactly: there may be a million of these.
        var fields: [JSONValue.Member] = []
        fields.reserveCapacity(count)
        fields.append(.init(key: "type", value: .string(type)))
        fields.append(.init(key: "cacheable", value: .bool(isCacheable)))
        for case (let key, let value?) in texts {
            fields.append(.init(key: key, value: .string(value)))
        }
        if let replaceable = entry?.isReplaceable {
            fields.append(.init(key: "replaceable", value: .bool(replaceable)))
        }
        fields.append(contentsOf: foreign)
        return fields
    }

    /// Accepts a digest with or without the prefix of SRI.
    private static func integrity(_ text: String) -> Label? {
        let prefix = "sha512-"
        let digits = text.hasPrefix(prefix) ? String(text.dropFirst(prefix.count)) : text
        guard let bytes = Base64.bytes(digits) else { return nil }
        return Label(.sha512, bytes: bytes)
    }

    private func shown(_ file: ReleaseFile) -> String { quoted(file.path.description) }
    private func shown(_ text: String) -> String { quoted(text) }
}

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

/// The `hash` of an entry in Meteor's manifest: a name of 40 hexadecimal digits.
///
/// The hashed data changed from release to release. If it was only the content, a match proves the content; if it was
/// the source before minification, only the publisher can compute it, and a mismatch proves nothing.
package struct MeteorLabel: Sendable, Hashable, CustomStringConvertible {
    /// The digits, in lower case.
    package let description: String

    /// Nil unless `text` is 40 lower-case hexadecimal digits.
    package init?(_ text: String) {
        guard text.utf8.count == 40, text.utf8.allSatisfy({ Hex.value(of: $0) != nil }) else {
            return nil
        }
        description = text
    }

    /// How labels were made from content; `‖` joins texts.
    package enum Rule: String, Sendable, Hashable, CaseIterable {
        /// SHA-1 of the bytes: Meteor up to 1.4.2.
        case content
        /// SHA-1 of `2 ‖ SHA-1 of the bytes in hexadecimal`: Meteor 1.4.2.2 to 1.7, and the files of `public/` since
        /// 1.8.1.
        case secondSalt
        /// SHA-1 of `1 ‖ SHA-1 of the bytes in hexadecimal`: Meteor 1.4.2.1.
        case firstSalt
        /// SHA-1 of `2 ‖ SHA-512 of the bytes in base64`: Meteor 1.8.
        case integrity
        /// SHA-1 of `2 ‖ SHA-1 of the bytes in hexadecimal ‖ SHA-512 of the bytes in base64`: files that are not
        /// minified in Meteor 1.8.0.1 and later.
        case contentAndIntegrity
    }

    package enum Proof: Sendable, Hashable {
        /// Only these bytes can have the label; with the rule that made it.
        case proved(Rule)
        /// These bytes or others may have the label.
        case unproved
    }

    /// - Parameters:
    ///   - sha1: in lower-case hexadecimal digits.
    ///   - sha512: in base64; without it two rules cannot be tried.
    /// - Throws: `.unsupported` if the system's libcrypto has no SHA-1.
    package func proof(sha1: String, sha512: String?) throws(StoreError) -> Proof {
        for rule in Rule.allCases {
            let made = try Self.digits(rule, sha1: sha1, sha512: sha512)
            if made?.utf8.elementsEqual(description.utf8) == true { return .proved(rule) }
        }
        return .unproved
    }

    /// Ignores all but SHA-1 and SHA-512; without a SHA-1, nothing is proved.
    /// - Throws: `.unsupported` if the system's libcrypto has no SHA-1.
    package func proof(_ digests: [Label]) throws(StoreError) -> Proof {
        var sha1: String?
        var sha512: String?
        for digest in digests {
            switch digest.algorithm {
            case .sha1: sha1 = Hex.string(digest.bytes)
            case .sha512: sha512 = Base64.string(digest.bytes)
            default: continue
            }
        }
        guard let sha1 else { return .unproved }
        return try proof(sha1: sha1, sha512: sha512)
    }

    /// The digests that ``proof(_:)`` can use.
    package static let algorithms: [DigestAlgorithm] = [.sha1, .sha512]

    /// Nil if the rule needs the SHA-512 and that is unknown.
    static func digits(_ rule: Rule, sha1: String, sha512: String?) throws(StoreError) -> String? {
        switch rule {
        case .content: return sha1
        case .secondSalt: return try sha1Digits(of: ["2", sha1])
        case .firstSalt: return try sha1Digits(of: ["1", sha1])
        case .integrity, .contentAndIntegrity:
            guard let sha512 else { return nil }
            return try sha1Digits(of: ["2", rule == .integrity ? "" : sha1, sha512])
        }
    }
}

func sha1Digits(of texts: [String]) throws(StoreError) -> String {
    Hex.string(try Digester.digest(.sha1, of: Array(texts.joined().utf8)))
}
