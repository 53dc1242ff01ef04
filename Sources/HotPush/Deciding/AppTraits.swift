package import CASStore

/// What an app says of itself, so that it ignores releases for other apps.
public struct AppTraits: Sendable, Hashable {
    /// The app's version in its app store: dotted numbers, of which three count, or semver.org.
    public var version: String?
    /// The key of its native interfaces: equal keys mean equal interfaces (Meteor's `cordovaCompatibilityVersion`).
    public var compatibility: String?
    /// The name of its runtime (Expo's `runtimeVersion`).
    public var runtimeVersion: String?
    /// The number of its native interface; a larger one includes the smaller ones (chcp).
    public var nativeInterface: Int64?
    /// A build-time fingerprint of its native code (`fingerprint` of Expo and hot-updater); equal ones run the same
    /// releases.
    public var fingerprint: String?
    /// The groups that this device is in: testers, a cohort, a customer.
    public var groups: Set<String> = []

    /// Creates traits of an app that says nothing of itself.
    public init() {}

    /// Why an app cannot run a release; empty if it can.
    ///
    /// A requirement of an unknown kind is not met, because its publisher had a reason for it. Of requirements of one
    /// kind for several platforms, one must be met, because an app is made for one platform.
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
                return "it requires app version \(wanted), which is not a version"
            }
            return versionObjection("\(wanted) or later") { $0 >= least }
        case Requirement.appVersionRange:
            guard let range = VersionRange(wanted) else {
                return "it requires app versions \(wanted), which is not a range"
            }
            return versionObjection(wanted) { range.contains($0) }
        case Requirement.minimumNativeInterface:
            guard let least = Int64(wanted) else {
                return "it requires native interface \(wanted), which is not a number"
            }
            guard let nativeInterface else {
                return "it requires native interface \(least); this app does not say which it has"
            }
            return nativeInterface >= least
                ? nil
                : "it requires native interface \(least); this app has \(nativeInterface)"
        case Requirement.group:
            guard groups.isDisjoint(with: wanted.split(separator: ",").map(String.init)) else {
                return nil
            }
            return "it is for the group \(wanted), and this device does not claim to be in it"
        case Requirement.epochs where requirement == .knowingEpochs: return nil
        default:
            return
                "it requires \(requirement.kind) \(wanted), which this version of castree does not know"
        }
    }

    /// A message about a version that cannot be compared, and so fails every requirement on it; `nil` if there is none.
    package var problemOfVersion: String? {
        guard let version, SemanticVersion(app: version) == nil else { return nil }
        return
            "the app's version \(printable(version)) is not a version such as 2.1.0: releases that require an app version are skipped"
    }

    private func difference(_ name: String, _ wanted: String, _ ours: String?) -> String? {
        guard let ours else {
            return "it requires \(name) \(wanted); this app does not say which it has"
        }
        // Keys are compared by their bytes: Unicode equivalence is not equality.
        guard !ours.utf8.elementsEqual(wanted.utf8) else { return nil }
        return "it requires \(name) \(wanted); this app has \(ours)"
    }

    private func versionObjection(
        _ wanted: String, _ admits: (SemanticVersion) -> Bool
    ) -> String? {
        guard let version else {
            return "it requires app version \(wanted); this app does not say which it is"
        }
        guard let own = SemanticVersion(app: version) else {
            return
                "it requires app version \(wanted); this app's version \(version) is not a version"
        }
        return admits(own) ? nil : "it requires app version \(wanted); this app is \(version)"
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
    /// One of these, separated by commas, must be in ``AppTraits/groups``.
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

extension Audience {
    /// Why a device does not get the release, as sentences about the release; empty if it does.
    /// - Parameter device: its name in rollouts; nil for a device that takes part in none.
    func objections(device: String?, _ app: AppTraits) throws(StoreError) -> [String] {
        var reasons: [String] = []
        if isDisabled { reasons.append("its publisher has disabled it") }
        if !groups.isEmpty, app.groups.isDisjoint(with: groups) {
            let names = groups.prefix(3).map { "\"\(printable($0))\"" }.joined(separator: ", ")
            reasons.append(
                "it is for \(names)\(groups.count > 3 ? " and others" : "") only, and this device does not claim to be one of them"
            )
        }
        if let rollout, try !rollout.includes(device) {
            reasons.append(
                "it is rolled out to \(rollout.share) of the devices, and not to this one yet")
        }
        return reasons
    }
}

extension Rollout {
    fileprivate var share: String {
        perMille % 10 == 0 ? "\(perMille / 10) %" : "\(perMille / 10).\(perMille % 10) %"
    }

    /// A device's place among 1,000, which must be below a rollout's share.
    ///
    /// The first 8 bytes of SHA-256(salt, NUL, device) as a big-endian number, modulo 1000. So a larger share never
    /// excludes a device, and another salt chooses other devices.
    /// - Parameters:
    ///   - salt: makes the choice differ from release to release.
    ///   - device: a permanent name; neither a secret nor a number that identifies a person.
    package static func place(salt: String, device: String) throws(StoreError) -> Int {
        let bytes = Array(salt.utf8) + [0] + Array(device.utf8)
        let digest = try Digester.digest(.sha256, of: bytes)
        return Int(digest.prefix(8).reduce(UInt64(0)) { $0 << 8 | UInt64($1) } % 1000)
    }

    /// Whether a device gets the release; a device without a name gets it only if all do.
    package func includes(_ device: String?) throws(StoreError) -> Bool {
        if perMille >= 1000 { return true }
        guard let device, perMille > 0, rule == Self.ownRule else { return false }
        return try Self.place(salt: salt, device: device) < perMille
    }
}
