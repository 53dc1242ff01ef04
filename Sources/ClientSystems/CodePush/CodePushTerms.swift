import HotPush

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
