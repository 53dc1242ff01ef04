import HotPush
import Platform
import StrictJSON
import VersionTree

/// A version as Meteor's clients read it: the inverse of ``MeteorFormat``.
struct MeteorProgram {
    static let format = "web-program-pre1"
    static let indexPath = "index.html"
    static let indexRoute = "/"
    private static let compatibilityKey = "cordovaCompatibilityVersions"
    private static let otherKeys = [
        "versionRefreshable", "versionNonRefreshable", "versionReplaceable", "PUBLIC_SETTINGS",
        "hmrVersion", "refreshableAssets", "meteorRuntimeConfig",
    ]

    private let manifest: Manifest
    private let compatibility: JSONValue

    /// - Throws: `.unsuitableRelease` for a version that was not read from Meteor.
    init(_ manifest: Manifest) throws(StoreError) {
        self.manifest = manifest
        guard let index = manifest[try TreePath(Self.indexPath)],
            index.routes.contains(where: { $0.utf8.elementsEqual(Self.indexRoute.utf8) }),
            let compatibility = manifest.foreign.value(Self.compatibilityKey),
            compatibility.asObject != nil
        else { throw Self.refusal("was not read as a release of Meteor's") }
        self.compatibility = compatibility
        for entry in manifest.entries where entry.path != index.path {
            guard entry.foreign.value("type")?.asString != nil,
                entry.foreign.value("cacheable")?.asBool != nil
            else {
                throw Self.refusal(
                    "has \(printable(entry.path.description)), of which Meteor's manifest said nothing"
                )
            }
        }
    }

    var version: String {
        manifest.foreign.value(Release.publisherVersionKey)?.asString
            ?? manifest.version.description
    }

    /// The keys that tell whether the version fits an app's native code.
    var compatibilityVersions: [String] {
        (compatibility.asObject ?? []).compactMap(\.value.asString)
    }

    var bytes: [UInt8] {
        JSONWriter.document { writer in
            writer.member("format", Self.format)
            writer.member("version", version)
            writer.key(Self.compatibilityKey)
            writer.value(compatibility)
            writer.members(Self.otherKeys, of: manifest.foreign)
            writer.key("manifest")
            writer.beginArray()
            for entry in manifest.entries where entry.path.description != Self.indexPath {
                // Without a route, a file is served at its path.
                let routes = entry.routes.isEmpty ? ["/\(entry.path)"] : entry.routes
                for route in routes { writer.object { Self.write(entry, route, to: &$0) } }
            }
            writer.endArray()
        }
    }

    private static func write(_ entry: Manifest.Entry, _ route: String, to writer: inout JSONWriter)
    {
        writer.member("path", entry.path.description)
        writer.member("where", "client")
        writer.members(["type", "cacheable"], of: entry.foreign)
        writer.member("url", route)
        writer.member("size", entry.byteCount)
        writer.members(["hash", "sourceMap", "sourceMapUrl", "replaceable"], of: entry.foreign)
        if let digest = entry.labels.first(where: { $0.algorithm == .sha512 }) {
            writer.member("sri", Base64.string(digest.bytes))
        }
    }

    /// The hash that clients compare with a file's entity tag, and whether its URL never names another file.
    static func label(of entry: Manifest.Entry) -> (text: String, isFinal: Bool)? {
        guard let text = entry.foreign.value("hash")?.asString, MeteorLabel(text) != nil else {
            return nil
        }
        let isNamed =
            entry.path.description.contains(text)
            || entry.routes.contains { $0.contains(text) }
        return (text, isNamed && entry.foreign.value("cacheable")?.asBool == true)
    }

    /// The file that a URL below `__cordova/` names: by a route with that prefix, by one without, by its own path.
    static func file(
        _ path: String, in manifest: Manifest
    ) throws(StoreError) -> Manifest.Entry? {
        if path.isEmpty { return manifest[try TreePath(indexPath)] }
        for wanted in ["/__cordova/\(path)", "/\(path)"] {
            if let position = position(ofRoute: Array(wanted.utf8), in: manifest) {
                return manifest[position]
            }
        }
        // A text that is not a path names no file.
        guard let treePath = try? TreePath(path), let entry = manifest[treePath],
            entry.routes.isEmpty
        else { return nil }
        return entry
    }

    /// Routes keep their author's spelling, encoded or not.
    private static func position(ofRoute wanted: [UInt8], in manifest: Manifest) -> Int? {
        manifest.extras.first { _, extras in
            extras.routes.contains { route in
                route.utf8.elementsEqual(wanted)
                    || route.utf8.contains(0x25) && PercentEncoding.decoded(route.utf8) == wanted
            }
        }?.key
    }

    private static func refusal(_ problem: String) -> StoreError {
        StoreError(
            .unsuitableRelease,
            "Meteor's clients cannot run this version: it \(problem); castree pull --format meteor reads a server's, or "
                + "the directory with program.json that Meteor builds")
    }
}

extension [JSONValue.Member] {
    fileprivate func value(_ key: String) -> JSONValue? {
        first { $0.key.utf8.elementsEqual(key.utf8) }?.value
    }
}

extension JSONWriter {
    fileprivate mutating func members(_ keys: [String], of fields: [JSONValue.Member]) {
        for key in keys {
            guard let value = fields.value(key) else { continue }
            self.key(key)
            self.value(value)
        }
    }
}
