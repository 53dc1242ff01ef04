import HotPush
import Platform
import StrictJSON

/// The question of Capgo's client, which is the body of its POST.
struct CapgoRequest {
    /// The app, as its store knows it.
    private(set) var app = ""
    /// The channel that is built into the app; empty for none.
    private(set) var channel = ""
    /// The name of the version that runs; for what was shipped with the app `builtin`, or by newer plugins its version.
    private(set) var version = ""
    /// The app's version in the store.
    private(set) var appVersion: String?
    /// The device's name in roll-outs; `nil` for one that takes part in none.
    private(set) var device: String?
    /// Whether the plugin reads files as they are, and knows archives by their SHA-256.
    ///
    /// Older plugins decompress every file of a manifest by Brotli, whatever it is called, and compare the CRC-32 of an
    /// archive: three lines of them are in the field.
    private(set) var isModern = true
    /// The first versions of plugins that are modern, by their major number; all later ones are.
    private static let modernPlugins = ["5.10.0", "6.25.0", "7.0.37"].compactMap {
        SemanticVersion($0)
    }

    /// The clients' name of the app's built-in content.
    static let builtin = "builtin"

    /// Whether the app's built-in content runs.
    ///
    /// Plugins since 2026-03 name it by the app's own version.
    var runsBuiltIn: Bool {
        version == Self.builtin || appVersion.map { $0.utf8.elementsEqual(version.utf8) } ?? false
    }

    /// Reads a body strictly, but skips unknown fields.
    /// - Throws: what is wrong with it, and where.
    init(_ body: [UInt8]) throws(JSONError) {
        var reader = try JSONReader(body, limits: JSONLimits(depth: 16, byteCount: 64 * 1024))
        try reader.enterObject()
        while let key = try reader.nextKey() {
            switch key {
            case "app_id": app = try reader.readString()
            case "defaultChannel": channel = try Self.text(&reader) ?? ""
            case "version_name": version = try reader.readString()
            case "version_build": appVersion = try Self.text(&reader)
            case "device_id": device = try Self.text(&reader)
            case "plugin_version": isModern = Self.isModern(try Self.text(&reader) ?? "")
            default: try reader.skipValue()
            }
        }
        try reader.finish()
        if app.isEmpty { throw reader.failure("The field \"app_id\" is missing") }
        if version.isEmpty { throw reader.failure("The field \"version_name\" is missing") }
        if device?.isEmpty == true { device = nil }
        if appVersion?.isEmpty == true { appVersion = nil }
    }

    /// A version that no plugin has counts as the newest.
    private static func isModern(_ plugin: String) -> Bool {
        guard let version = SemanticVersion(plugin, padding: true), let oldest = modernPlugins.first
        else { return true }
        let first = modernPlugins.first { $0.major == version.major }
        return version >= first ?? oldest
    }

    /// A field that may be null, which counts as missing.
    private static func text(_ reader: inout JSONReader) throws(JSONError) -> String? {
        guard try reader.peekKind() == .null else { return try reader.readString() }
        try reader.readNull()
        return nil
    }

    /// The name of the deployment.
    var deployment: String { channel.isEmpty ? app : "\(app)/\(channel)" }
}
