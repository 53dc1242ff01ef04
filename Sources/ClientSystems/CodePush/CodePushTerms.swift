package import HotPush

/// For which versions of the app a release is, as CodePush says it: all of these ranges.
package struct CodePushTerms {
    /// The ranges, as they are spelled; none for every version.
    package var ranges: [VersionRange] = []

    /// Reads requirements; `nil` if one asks for what CodePush's clients do not say of themselves.
    package init?(_ requirements: [Requirement]) {
        for requirement in requirements {
            guard Self.objection(to: requirement) == nil, let range = Self.range(requirement) else {
                return nil
            }
            ranges.append(range)
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
            guard range(requirement) == nil else { return nil }
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

    private static func range(_ requirement: Requirement) -> VersionRange? {
        switch requirement.kind {
        case Requirement.appVersionRange: return VersionRange(requirement.value)
        case Requirement.minimumAppVersion:
            return SemanticVersion(requirement.value, padding: true).flatMap {
                VersionRange(">=\($0)")
            }
        default: return nil
        }
    }

    /// Whether a version of the app may run the release.
    package func admit(_ version: SemanticVersion) -> Bool {
        ranges.allSatisfy { $0.contains(version) }
    }

    /// What a client that has nothing to fetch is told: the range that its app does not meet, and whether only a newer
    /// app would; `nil` if it meets all.
    package func advice(to version: SemanticVersion) -> (range: String, asksForNewerApp: Bool)? {
        if let range = ranges.first(where: { $0.isBelow(version) }) {
            return (range.description, false)
        }
        return ranges.first { !$0.contains(version) }.map { ($0.description, true) }
    }
}
