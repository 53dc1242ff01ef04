import HotPush

/// A release's requirements as hot-updater states them: versions of the app, or a fingerprint, and groups.
struct HotUpdaterTerms {
    static let versionKinds = [Requirement.appVersionRange, Requirement.minimumAppVersion]

    /// `nil` for a release that requires a fingerprint.
    var ranges: [VersionRange]? = []
    var fingerprint: String?
    /// Empty for everybody.
    var groups: [String] = []

    /// Returns `nil` if clients on the platform cannot tell whether they meet a requirement.
    init?(_ requirements: [Requirement], platform: String) {
        for requirement in requirements where requirement.concerns(platform: platform) {
            guard Self.objection(to: requirement) == nil else { return nil }
            switch requirement.kind {
            case Requirement.fingerprint: fingerprint = requirement.value
            case Requirement.group:
                groups = requirement.value.split(separator: ",").map(String.init)
            default:
                guard let range = Self.range(requirement) else { return nil }
                ranges?.append(range)
            }
        }
        guard fingerprint != nil else { return }
        // A client sends its app's version or its fingerprint, never both.
        if ranges?.isEmpty == false { return nil }
        ranges = nil
    }

    /// Why clients cannot be told of a requirement; `nil` if they can.
    static func objection(to requirement: Requirement) -> String? {
        switch requirement.kind {
        case Requirement.fingerprint: return nil
        case Requirement.appVersionRange, Requirement.minimumAppVersion:
            guard range(requirement) == nil else { return nil }
            return "it asks for the app version \(requirement.value), which is no range of versions"
        case Requirement.group:
            let groups = requirement.value.split(separator: ",").map(String.init)
            guard let group = groups.first(where: { !HotUpdaterCohort($0).canBeSaid }) else {
                return nil
            }
            return
                "it is for the group \(group), and no device of hot-updater can be in it: a cohort is a number from 1 "
                + "to 1000, or up to 64 lower-case letters, digits and hyphens"
        default:
            return
                "it asks for \(requirement.kind) \(requirement.value), and hot-updater's clients say only the version "
                + "of their app or its fingerprint: ask for appVersionRange or fingerprint instead"
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

    func admit(_ app: HotUpdaterCheck.App) -> Bool {
        switch app {
        case .version(let text):
            // Versions that hot-updater's own server cannot read, such as a leading zero, are read as the other
            // systems do.
            guard let ranges,
                let version = SemanticVersion(coercing: text) ?? SemanticVersion(app: text)
            else { return false }
            return ranges.allSatisfy { $0.contains(version) }
        case .fingerprint(let text):
            return fingerprint.map { $0.utf8.elementsEqual(text.utf8) } ?? false
        }
    }
}
