import HotPush
import Platform

/// A client's check for an update.
struct CodePushCheck {
    /// The deployment that the client belongs to.
    var deploymentKey: String
    /// The version of its app as it was sent: answers repeat it, since clients compare the text.
    var appVersion: String
    /// The parsed version.
    var version: SemanticVersion
    /// The hash of the package that it runs.
    var packageHash: String?
    /// The label of the release that it runs.
    var label: String?
    /// The client's name in roll-outs.
    var client: String?
    /// Whether it takes all releases, whatever its app's version.
    var isCompanion = false

    /// Reads the query of a request.
    init(_ request: ClientRequest) throws(ClientRefusal) {
        guard let values = request.queryValues() else {
            throw ClientRefusal(sentence: "The query is no text, or too long.\n")
        }
        try self.init(values)
    }

    /// Reads a check whose members have either spelling.
    init(_ values: [String: String]) throws(ClientRefusal) {
        func value(_ name: String, _ old: String) -> String? {
            let text = values[name] ?? values[old]
            return text?.isEmpty == true ? nil : text
        }
        // Apps send the line ends of the file that they have their key from.
        guard let key = value("deployment_key", "deploymentKey")?.trimmed(), !key.isEmpty
        else { throw ClientRefusal(sentence: "An update check must name a deployment key.\n") }
        guard let appVersion = value("app_version", "appVersion"),
            let version = Self.version(appVersion)
        else {
            throw ClientRefusal(
                sentence:
                    "An update check must name the version of the app, as in 1.0.0 (semver.org).\n")
        }
        deploymentKey = key
        self.appVersion = appVersion
        self.version = version
        packageHash = value("package_hash", "packageHash")
        label = value("label", "label")
        client = value("client_unique_id", "clientUniqueId")
        isCompanion = value("is_companion", "isCompanion")?.lowercased() == "true"
    }

    /// Whether a text has the form of a deployment key, as CodePush makes them.
    static func isKey(_ text: String) -> Bool {
        text.utf8.allSatisfy { $0.isPlain && $0 != UInt8(ascii: ".") }
    }

    /// Reads the version of an app as all systems here do, or as node-semver does (`v1.0.0`, white space).
    private static func version(_ text: String) -> SemanticVersion? {
        SemanticVersion(valid: text) ?? (text.utf8.count <= 256 ? SemanticVersion(app: text) : nil)
    }
}
