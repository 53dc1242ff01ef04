import HotPush
import Platform

struct CodePushCheck {
    var deploymentKey: String
    /// As sent: answers repeat it, because clients compare the text.
    var appVersion: String
    var version: SemanticVersion
    var packageHash: String?
    var label: String?
    var client: String?
    /// Whether it takes all releases, whatever its app's version.
    var isCompanion = false

    init(_ request: ClientRequest) throws(ClientRefusal) {
        guard let values = request.queryValues() else {
            throw ClientRefusal(sentence: "The query is no text, or too long.\n")
        }
        try self.init(values)
    }

    init(_ values: [String: String]) throws(ClientRefusal) {
        func value(_ name: String, _ old: String) -> String? {
            let text = values[name] ?? values[old]
            return text?.isEmpty == true ? nil : text
        }
        // Apps send the line ends of the file that holds their key.
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

    /// Whether a text has the form of the deployment keys that CodePush makes.
    static func isKey(_ text: String) -> Bool {
        text.utf8.allSatisfy { $0.isPlain && $0 != UInt8(ascii: ".") }
    }

    /// Reads an app's version as all systems here do, or as node-semver does (`v1.0.0`, white space).
    private static func version(_ text: String) -> SemanticVersion? {
        SemanticVersion(valid: text) ?? (text.utf8.count <= 256 ? SemanticVersion(app: text) : nil)
    }
}
