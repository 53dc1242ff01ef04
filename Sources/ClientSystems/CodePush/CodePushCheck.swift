package import HotPush

/// A client's question whether there is something new.
package struct CodePushCheck {
    /// Which deployment it belongs to.
    package var deploymentKey: String
    /// The version of its app, as it was sent: answers repeat it, because clients compare it as text.
    package var appVersion: String
    /// The same, read.
    package var version: SemanticVersion
    /// The hash of the package that it runs.
    package var packageHash: String?
    /// The label of the release that it runs.
    package var label: String?
    /// Who it is in roll-outs.
    package var client: String?
    /// Whether it runs everybody's releases, whatever its own version is.
    package var isCompanion = false

    /// Why a question is no question: a sentence for its answer.
    package struct Malformed: Error {
        /// The sentence.
        package var sentence: String
    }

    /// Reads a question; members by either of their two spellings.
    package init(_ values: [String: String]) throws(Malformed) {
        func value(_ name: String, _ old: String) -> String? {
            let text = values[name] ?? values[old]
            return text?.isEmpty == true ? nil : text
        }
        guard let key = value("deployment_key", "deploymentKey").map(Self.trimmed), !key.isEmpty
        else { throw Malformed(sentence: "An update check must name a deployment key.\n") }
        guard let appVersion = value("app_version", "appVersion"),
            let version = Self.version(appVersion)
        else {
            throw Malformed(
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

    /// Whether a text can be the key of a deployment: CodePush makes no others.
    static func isKey(_ text: String) -> Bool {
        text.utf8.allSatisfy { byte in
            (48...57).contains(byte) || (65...90).contains(byte) || (97...122).contains(byte)
                || byte == UInt8(ascii: "_") || byte == UInt8(ascii: "-")
        }
    }

    /// Apps send the line ends of the file that they have their key from.
    private static func trimmed(_ text: String) -> String {
        func isWhite(_ byte: UInt8) -> Bool { byte == 32 || (9...13).contains(byte) }
        var rest = text.utf8[...]
        while let byte = rest.first, isWhite(byte) { rest.removeFirst() }
        while let byte = rest.last, isWhite(byte) { rest.removeLast() }
        return String(decoding: rest, as: UTF8.self)
    }

    /// Reads the version of an app: as everybody's here, or what node-semver takes besides (`v1.0.0`, white space).
    private static func version(_ text: String) -> SemanticVersion? {
        SemanticVersion(valid: text) ?? (text.utf8.count <= 256 ? SemanticVersion(app: text) : nil)
    }
}
