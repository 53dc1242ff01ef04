import HotPush
import Platform
import StrictJSON

/// The body of a POST by Capgo's client.
struct CapgoRequest {
    private(set) var app = ""
    /// The channel that is built into the app; empty for none.
    private(set) var channel = ""
    /// The version that runs; for the app's built-in content `builtin`, or from newer plugins the app's version.
    private(set) var version = ""
    private(set) var appVersion: String?
    private(set) var device: String?
    /// Whether the plugin reads files as they are and identifies archives by SHA-256.
    ///
    /// Older plugins (three release lines in the field) decompress every listed file by Brotli, whatever its name,
    /// and compare an archive's CRC-32.
    private(set) var isModern = true
    /// By major number, the first version that is modern.
    private static let modernPlugins = ["5.10.0", "6.25.0", "7.0.37"].compactMap {
        SemanticVersion($0)
    }

    static let builtin = "builtin"

    /// Whether the app's built-in content runs; plugins since 2026-03 name it by the app's own version.
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

    /// An unknown version counts as the newest.
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

    var deployment: String { channel.isEmpty ? app : "\(app)/\(channel)" }
}
