import CASStore
import StrictJSON
import VersionTree

@testable import HotPush

/// The versions that Meteor computes of a manifest: what an app compares when it asks whether there
/// is something new.
struct MeteorVersions: Sendable, Hashable {
    /// Over everything; the manifest's `version` unless `AUTOUPDATE_VERSION` is set.
    var version: String
    /// Over the style sheets.
    var refreshable: String
    /// Over what needs the page to be loaded anew.
    var nonRefreshable: String
    /// Over what hot module replacement can replace.
    var replaceable: String

    /// Computes the versions.
    ///
    /// Each is the SHA-1 of `{"PUBLIC_SETTINGS":…}`, as JavaScript's `JSON.stringify` writes it, then
    /// the path and the hash of each entry of the client and of the index page, in order.
    ///
    /// - Parameters:
    ///   - manifest: the bytes of `manifest.json` or `program.json`.
    ///   - publicSettings: `public` of the settings, in JavaScript's order and spelling; nil for
    ///     what the manifest says itself, else `{}`.
    /// - Throws: `.badRelease` with what is wrong and where.
    init(manifest: [UInt8], publicSettings: JSONValue? = nil) throws(StoreError) {
        var settings = publicSettings
        var parts: [Part] = []
        do throws(JSONError) {
            var reader = try JSONReader(manifest)
            var meter = ReadingMeter(byteCount: manifest.count, entryCountMax: Manifest.countMax)
            try reader.enterObject()
            while let key = try reader.nextKey() {
                switch key {
                case "manifest":
                    try reader.enterArray()
                    while try reader.nextElement() {
                        let entry = try MeteorEntry(&reader, &meter)
                        if let part = Part(entry) { parts.append(part) }
                    }
                case "PUBLIC_SETTINGS" where settings == nil: settings = try reader.readValue()
                default: try reader.skipValue()
                }
            }
            try reader.finish()
        } catch {
            throw StoreError(.badRelease, "\(MeteorMessages.documentUnreadable): \(error.message)")
        }
        let document = JSONValue.object([
            .init(key: "PUBLIC_SETTINGS", value: settings ?? .object([]))
        ])
        let head = JSONWriter.serialize(document, sortedKeys: false)
        version = try Self.digits(head, parts) { _ in true }
        refreshable = try Self.digits(head, parts) { $0.isStyle }
        nonRefreshable = try Self.digits(head, parts) { !$0.isStyle && !$0.isReplaceable }
        replaceable = try Self.digits(head, parts) { $0.isReplaceable }
    }

    /// Computes the compatibility version of a platform: what an app's native side consists of.
    ///
    /// SHA-1 of the platform's version, then the name and version of each plugin, sorted by name as
    /// JavaScript sorts.
    ///
    /// - Parameters:
    ///   - platformVersion: the version of Cordova's platform, such as `7.1.0`.
    ///   - plugins: names and versions.
    ///   - excluded: names that do not count (`METEOR_CORDOVA_COMPAT_VERSION_EXCLUDE`).
    /// - Throws: `.unsupported` if the system's libcrypto has no SHA-1.
    static func compatibilityVersion(
        platformVersion: String, plugins: [(name: String, version: String)],
        excluding excluded: [String] = []
    ) throws(StoreError) -> String {
        var texts = [platformVersion]
        for plugin in plugins.sorted(by: { JSONWriter.keyPrecedes($0.name, $1.name) }) {
            if excluded.contains(where: { $0.utf8.elementsEqual(plugin.name.utf8) }) { continue }
            texts += [plugin.name, plugin.version]
        }
        return try sha1Digits(of: texts)
    }

    /// What one entry adds.
    private struct Part {
        var path: String
        var hash: String
        var isStyle: Bool
        var isReplaceable: Bool

        init?(_ entry: MeteorEntry) {
            guard entry.place == "client" || entry.place == "internal" else { return nil }
            path = entry.path ?? ""
            hash = entry.hash ?? ""
            isStyle = entry.type == "css"
            isReplaceable = entry.isReplaceable ?? false
        }
    }

    private static func digits(
        _ head: [UInt8], _ parts: [Part], _ counts: (Part) -> Bool
    ) throws(StoreError) -> String {
        var digester = try Digester(.sha1)
        head.withUnsafeBytes { digester.update($0) }
        for var part in parts where counts(part) {
            part.path.withUTF8 { digester.update(UnsafeRawBufferPointer($0)) }
            part.hash.withUTF8 { digester.update(UnsafeRawBufferPointer($0)) }
        }
        return digester.finish { Hex.string($0) }
    }
}
