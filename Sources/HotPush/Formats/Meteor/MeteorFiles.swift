import CASStore
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
        var page = ReleaseFile(
            path: indexPath, source: layout == .server ? MeteorURL.base : path)
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
