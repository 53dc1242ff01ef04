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

/// The conditions on the version of the app, all of which must hold, as CodePush states them.
struct CodePushTerms {
    static let kinds = [Requirement.appVersionRange, Requirement.minimumAppVersion]

    private var conditions: [Condition] = []

    fileprivate enum Condition {
        case range(VersionRange)
        case atLeast(SemanticVersion)
    }

    /// Returns `nil` if CodePush's clients cannot tell whether they meet a requirement.
    init?(_ requirements: [Requirement]) {
        for requirement in requirements {
            guard Self.objection(to: requirement) == nil,
                let condition = Condition(requirement)
            else { return nil }
            conditions.append(condition)
        }
    }

    /// Why CodePush's clients cannot be told of a requirement; `nil` if they can.
    static func objection(to requirement: Requirement) -> String? {
        if let platform = requirement.platform {
            return
                "it asks for \(requirement.kind) on \(platform) only, and CodePush's clients do not say on which "
                + "platform they run: offer it in a channel for that platform alone"
        }
        switch requirement.kind {
        case Requirement.appVersionRange, Requirement.minimumAppVersion:
            guard Condition(requirement) == nil else { return nil }
            return "it asks for the app version \(requirement.value), which is no range of versions"
        case Requirement.group:
            return
                "it is for the group \(requirement.value), and CodePush's clients are in no groups: offer it in a "
                + "channel of its own, with a deployment key of its own"
        default:
            return
                "it asks for \(requirement.kind) \(requirement.value), and CodePush's clients say only the version "
                + "of their app: ask for appVersionRange instead"
        }
    }

    func admit(_ version: SemanticVersion) -> Bool {
        conditions.allSatisfy { $0.admits(version) }
    }

    /// The advice to a client without an update: the range that excludes its app, and whether a newer app would be
    /// inside; `nil` if the app meets all conditions.
    func advice(to version: SemanticVersion) -> (range: String, asksForNewerApp: Bool)? {
        if let condition = conditions.first(where: { $0.isBelow(version) }) {
            return (condition.text, false)
        }
        return conditions.first { !$0.admits(version) }.map { ($0.text, true) }
    }
}

extension CodePushTerms.Condition {
    fileprivate init?(_ requirement: Requirement) {
        switch requirement.kind {
        case Requirement.appVersionRange:
            guard let range = VersionRange(requirement.value) else { return nil }
            self = .range(range)
        case Requirement.minimumAppVersion:
            guard let least = SemanticVersion(requirement.value, padding: true) else { return nil }
            self = .atLeast(least)
        default: return nil
        }
    }

    fileprivate func admits(_ version: SemanticVersion) -> Bool {
        switch self {
        case .range(let range): range.contains(version)
        case .atLeast(let least): version >= least
        }
    }

    fileprivate func isBelow(_ version: SemanticVersion) -> Bool {
        if case .range(let range) = self { range.isBelow(version) } else { false }
    }

    fileprivate var text: String {
        switch self {
        case .range(let range): range.description
        case .atLeast(let least): ">=\(least)"
        }
    }
}
