import HotPush
import Platform

/// The decision about a check, made before anything is looked up.
enum CodePushDecision {
    case update(ClientChannel.Live, isMandatory: Bool)
    /// Nothing to fetch. `range` is the newest release's range of app versions, if the client's is outside it.
    case nothing(runsBinary: Bool, range: String, asksForNewerApp: Bool)

    /// Decides as CodePush's server does: the newest release for this app, unless the client already has that
    /// package.
    ///
    /// Roll-outs only withhold new releases; they never take one back. A client that the newest roll-out does not
    /// select gets the newest release that selects it, or that it already has.
    static func decide(_ check: CodePushCheck, in channel: ClientChannel) -> Self {
        let decision = decide(check, among: channel.live, in: channel)
        guard case .update(let live, _) = decision, !isFor(check, live) else { return decision }
        return decide(
            check, among: channel.live.filter { isFor(check, $0) || has(check, $0) }, in: channel)
    }

    private static func isFor(_ check: CodePushCheck, _ live: ClientChannel.Live) -> Bool {
        CodePushRollout.selects(check.client, live.release.rollout, label: live.offer.label ?? "")
    }

    private static func has(_ check: CodePushCheck, _ live: ClientChannel.Live) -> Bool {
        check.packageHash != nil && check.packageHash == live.offer.packageHash
    }

    /// A release is also mandatory if the client skips a mandatory one that is newer than its own and for its app.
    private static func decide(
        _ check: CodePushCheck, among releases: [ClientChannel.Live], in channel: ClientChannel
    ) -> Self {
        let current = check.sequence(in: channel.past)
        var newest: CodePushTerms?
        var fitting: ClientChannel.Live?
        var isMandatory = false
        for live in releases {
            guard let terms = CodePushTerms(live.release.requirements) else { continue }
            newest = newest ?? terms
            guard check.isCompanion || terms.admit(check.version) else { continue }
            fitting = fitting ?? live
            // Releases older than the client's own were not skipped.
            if let current, live.offer.sequence <= current { break }
            if live.release.isMandatory {
                isMandatory = true
                break
            }
        }
        let runsBinary = fitting?.offer.version == nil
        guard let fitting, !runsBinary, !has(check, fitting) else {
            let advice =
                fitting?.release.target == .embedded ? nil : newest?.advice(to: check.version)
            return .nothing(
                runsBinary: runsBinary, range: advice?.range ?? "",
                asksForNewerApp: advice?.asksForNewerApp ?? false)
        }
        return .update(fitting, isMandatory: isMandatory || fitting.release.isMandatory)
    }
}

extension CodePushCheck {
    /// The sequence of the client's release among all offers, found by its label, else by its hash, which may have
    /// been offered more than once; `nil` if none matches.
    fileprivate func sequence(in past: [ClientOffer]) -> Int64? {
        let own = past.filter { offer in
            if let label { return offer.label == label }
            if let packageHash { return offer.packageHash == packageHash }
            return false
        }
        return own.map(\.sequence).max()
    }
}

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

enum CodePushRollout {
    /// Whether a client gets a release: shares are whole per cents, rounded down; without a name, only full
    /// roll-outs.
    static func selects(_ client: String?, _ rollout: Rollout?, label: String) -> Bool {
        guard let rollout, rollout.perMille < 1000 else { return true }
        guard let client else { return false }
        return bucket(of: client + "-" + label) < rollout.perMille / 10
    }

    static func bucket(of identifier: String) -> Int64 {
        Int64(hash(of: identifier).magnitude % 100)
    }

    /// CodePush's hash over UTF-16 units; its server is JavaScript, where only the shift is cut to 32 bits.
    ///
    /// The sum may exceed them: each unit adds at most 2³¹ + 2¹⁶.
    static func hash(of text: String) -> Int64 {
        var hash: Int64 = 0
        for unit in text.utf16 {
            let shifted = Int32(truncatingIfNeeded: hash) << 5
            hash = Int64(shifted) &- hash &+ Int64(unit)
        }
        return hash
    }
}
