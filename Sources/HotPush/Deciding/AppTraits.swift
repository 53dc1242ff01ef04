import CASStore

/// What an app says of itself, so that releases for other apps are left alone.
public struct AppTraits: Sendable, Hashable {
    /// The app's version in the store it came from: numbers with points between, of which three count, or by semver.org.
    public var version: String?
    /// What native code it has: equal keys mean equal native interfaces (Meteor's
    /// `cordovaCompatibilityVersion`).
    public var compatibility: String?
    /// The name of its runtime (Expo's `runtimeVersion`).
    public var runtimeVersion: String?
    /// The number of its native interface; a larger one includes the smaller ones (chcp).
    public var nativeInterface: Int64?
    /// A fingerprint of its native code from when it was built (Expo's and hot-updater's
    /// `fingerprint`): apps with equal ones run the same releases.
    public var fingerprint: String?
    /// The groups that this device is in: testers, a cohort, a customer.
    public var groups: Set<String> = []

    /// An app that says nothing of itself.
    public init() {}

    /// Why an app cannot run a release; empty if it can.
    ///
    /// A requirement of a kind that this castree does not know is not met: the publisher had a reason
    /// to make it. Of requirements of one kind on several platforms, one must be met: an app is made
    /// for one platform.
    package func objections(to requirements: [Requirement]) -> [String] {
        unmet(requirements).compactMap { objection(to: $0) }
    }

    func unmet(_ requirements: [Requirement]) -> [Requirement] {
        requirements.filter { requirement in
            if objection(to: requirement) == nil { return false }
            guard requirement.platform != nil else { return true }
            return !requirements.contains { other in
                other.platform != nil && other.kind == requirement.kind
                    && objection(to: other) == nil
            }
        }
    }

    private func objection(to requirement: Requirement) -> String? {
        let wanted = requirement.value
        switch requirement.kind {
        case Requirement.compatibility:
            return difference("compatibility key", wanted, compatibility)
        case Requirement.runtimeVersion:
            return difference("runtime version", wanted, runtimeVersion)
        case Requirement.fingerprint:
            return difference("fingerprint", wanted, fingerprint)
        case Requirement.minimumAppVersion:
            guard let least = SemanticVersion(wanted, padding: true) else {
                return "it asks for app version \(wanted), which is no version"
            }
            return versionObjection("\(wanted) or later") { $0 >= least }
        case Requirement.appVersionRange:
            guard let range = VersionRange(wanted) else {
                return "it asks for app versions \(wanted), which is no range"
            }
            return versionObjection(wanted) { range.contains($0) }
        case Requirement.minimumNativeInterface:
            guard let least = Int64(wanted) else {
                return "it asks for native interface \(wanted), which is no number"
            }
            guard let nativeInterface else {
                return "it asks for native interface \(least); this app does not say which it has"
            }
            return nativeInterface >= least
                ? nil
                : "it asks for native interface \(least); this app has \(nativeInterface)"
        case Requirement.group:
            guard groups.isDisjoint(with: wanted.split(separator: ",").map(String.init)) else {
                return nil
            }
            return "it is for the group \(wanted), and this device does not say that it is in it"
        case Requirement.epochs where requirement == .knowingEpochs: return nil
        default:
            return "it asks for \(requirement.kind) \(wanted), which this castree does not know"
        }
    }

    /// What is said of a version that cannot be compared, so that releases which ask for one pass the app over; `nil`
    /// if there is nothing to say.
    package var problemOfVersion: String? {
        guard let version, SemanticVersion(app: version) == nil else { return nil }
        return
            "the app's version \(printable(version)) is no version, as in 2.1.0: releases that ask for a version of the app "
            + "are passed over"
    }

    private func difference(_ name: String, _ wanted: String, _ ours: String?) -> String? {
        guard let ours else {
            return "it asks for \(name) \(wanted); this app does not say which it has"
        }
        // Keys are compared by their bytes: Unicode equivalence is not equality.
        guard !ours.utf8.elementsEqual(wanted.utf8) else { return nil }
        return "it asks for \(name) \(wanted); this app has \(ours)"
    }

    private func versionObjection(
        _ wanted: String, _ admits: (SemanticVersion) -> Bool
    ) -> String? {
        guard let version else {
            return "it asks for app version \(wanted); this app does not say which it is"
        }
        guard let own = SemanticVersion(app: version) else {
            return "it asks for app version \(wanted); this app's version \(version) is no version"
        }
        return admits(own) ? nil : "it asks for app version \(wanted); this app is \(version)"
    }
}

extension Requirement {
    /// Must equal ``AppTraits/compatibility``.
    public static let compatibility = "compatibility"
    /// Must equal ``AppTraits/runtimeVersion``.
    public static let runtimeVersion = "runtimeVersion"
    /// Must equal ``AppTraits/fingerprint``.
    public static let fingerprint = "fingerprint"
    /// The lowest ``AppTraits/version`` allowed.
    public static let minimumAppVersion = "minimumAppVersion"
    /// A range that must contain ``AppTraits/version``.
    public static let appVersionRange = "appVersionRange"
    /// The lowest ``AppTraits/nativeInterface`` allowed.
    public static let minimumNativeInterface = "minimumNativeInterface"
    /// Must be one of ``AppTraits/groups``; of several, with commas between them, one is enough.
    package static let group = "group"

    /// The kinds that a publisher may require.
    package static let kinds = [
        compatibility, runtimeVersion, fingerprint, minimumAppVersion, appVersionRange,
        minimumNativeInterface, group,
    ]

    /// Why no device could ever meet it; `nil` if it makes sense.
    package var objection: String? {
        guard Self.kinds.contains(kind) else {
            return "there is no kind \"\(printable(kind))\": the kinds are "
                + Self.kinds.joined(separator: ", ")
        }
        if value.isEmpty { return "\(kind) needs a value" }
        let isSound =
            switch kind {
            case Self.minimumAppVersion: SemanticVersion(value, padding: true) != nil
            case Self.appVersionRange: VersionRange(value) != nil
            case Self.minimumNativeInterface: Int64(value) != nil
            default: true
            }
        guard isSound else {
            let example =
                kind == Self.minimumNativeInterface
                ? "a number"
                : kind == Self.appVersionRange ? "a range, as in >=3.1 <4" : "a version, as in 3.1"
            return "\(kind) takes \(example), not \"\(printable(value))\""
        }
        return nil
    }
}
