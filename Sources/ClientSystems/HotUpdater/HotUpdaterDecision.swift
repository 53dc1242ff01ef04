import HotPush

/// The decision about a check, made before anything is looked up.
enum HotUpdaterDecision {
    case nothing
    case update(ClientChannel.Live)
    /// An older bundle, because the one that runs is no longer for the device.
    case goBack(ClientChannel.Live)
    case goBackToBuiltIn

    /// Decides on the newest bundle for this device; else its own, if still offered to it; else the newest older one,
    /// whatever its roll-out; else the built-in one.
    ///
    /// Bundles are ordered by their ids, which never change, so offering an older release again withdraws the newer
    /// ones.
    static func decide(_ check: HotUpdaterCheck, in channel: ClientChannel) -> Self {
        // Nothing was ever offered: never withdraw bundles that come from other servers.
        if channel.past.isEmpty { return .nothing }
        let candidates = candidates(check, in: channel).filter { !precedes($0.id, check.minimum) }
        let newest = candidates.filter(\.isEligible).max { precedes($0.id, $1.id) }
        if let newest, precedes(check.current, newest.id) { return .update(newest.live) }
        if check.current == HotUpdaterCheck.builtIn { return .nothing }
        if candidates.contains(where: { $0.id == check.current && $0.isEligible }) {
            return .nothing
        }
        let older = candidates.filter { precedes($0.id, check.current) }
        if let older = older.max(by: { precedes($0.id, $1.id) }) { return .goBack(older.live) }
        return precedes(check.minimum, check.current) ? .goBackToBuiltIn : .nothing
    }

    private struct Candidate {
        var live: ClientChannel.Live
        var id: String
        var isEligible: Bool
    }

    /// The bundles that the channel offers to the app and has not withdrawn from this device.
    private static func candidates(
        _ check: HotUpdaterCheck, in channel: ClientChannel
    ) -> [Candidate] {
        var candidates: [Candidate] = []
        var head: String?
        for live in channel.live {
            guard
                let terms = HotUpdaterTerms(live.release.requirements, platform: check.platform)
            else { continue }
            guard let id = live.offer.id, live.offer.version != nil else {
                // Devices return to what was shipped, so everything below is withdrawn.
                if live.release.rollout == nil, terms.groups.isEmpty { break }
                continue
            }
            guard terms.admit(check.app) else { continue }
            // Offered before `head` was offered again.
            if let head, precedes(head, id) { continue }
            let isEligible = HotUpdaterCohort.includes(
                check.cohort, live.release.rollout, groups: terms.groups, bundle: id)
            if isEligible, head == nil { head = id }
            candidates.append(Candidate(live: live, id: id, isEligible: isEligible))
        }
        return candidates
    }

    private static func precedes(_ left: String, _ right: String) -> Bool {
        left.utf8.lexicographicallyPrecedes(right.utf8)
    }
}

/// A client's check for the bundle that it should run.
struct HotUpdaterCheck {
    var app: App
    var platform: String
    var channel: String
    /// The oldest bundle that the app may run, made with the app.
    var minimum: String
    var current: String
    var cohort: HotUpdaterCohort?

    /// The two ways in which clients identify their app.
    enum App: Hashable {
        case version(String)
        case fingerprint(String)
    }

    /// The id of the app's built-in bundle.
    static let builtIn = "00000000-0000-0000-0000-000000000000"

    init?(_ segments: [String]) {
        // A trailing slash begins no cohort.
        let segments = segments.last == "" ? segments.dropLast() : segments
        guard (6...7).contains(segments.count), !segments.contains("") else { return nil }
        switch segments[0] {
        case "app-version": app = .version(segments[2])
        case "fingerprint": app = .fingerprint(segments[2])
        default: return nil
        }
        platform = segments[1]
        channel = segments[3]
        minimum = segments[4].lowercased()
        current = segments[5].lowercased()
        cohort = segments.count > 6 ? HotUpdaterCohort(segments[6]) : nil
    }

    var deployment: String { "\(platform)/\(channel)" }
}

/// A device's place in hot-updater's roll-outs: a number from 1 to 1000, or the name of a group.
enum HotUpdaterCohort: Hashable {
    case number(Int)
    case name(String)

    static let count = 1000

    init(_ text: String) {
        let name = text.trimmed { $0.properties.isWhitespace }.lowercased()
        let isNumber = !name.isEmpty && name.utf8.allSatisfy { (48...57).contains($0) }
        if isNumber, let number = Int(name), (1...Self.count).contains(number) {
            self = .number(number)
        } else {
            self = .name(name)
        }
    }

    /// Whether a device can send it: a number, or up to 64 of the characters `a–z 0–9 -`.
    var canBeSaid: Bool {
        guard case .name(let name) = self else { return true }
        let isNumber = name.utf8.allSatisfy { (48...57).contains($0) }
        return (1...64).contains(name.utf8.count) && !isNumber
            && name.utf8.allSatisfy { byte in
                (48...57).contains(byte) || (97...122).contains(byte) || byte == UInt8(ascii: "-")
            }
    }

    /// The place of a number in the roll-out of a bundle, from 0: `n` per mille are the first `n` places.
    ///
    /// Each bundle shuffles the numbers: `number - 1 = multiplier · place + offset` modulo 1000, with an invertible
    /// multiplier.
    static func place(of number: Int, in bundle: String) -> Int {
        var multiplier = modulo(hash(of: bundle + ":multiplier"), 997)
        if multiplier == 0 { multiplier = 1 }
        // Coprime to 1000: neither even nor divisible by five.
        while multiplier % 2 == 0 || multiplier % 5 == 0 { multiplier = (multiplier + 1) % count }
        let offset = modulo(hash(of: bundle + ":offset"), count)
        let wanted = modulo(number - 1 - offset, count)
        // The multiplier has an inverse, so exactly one place fits.
        return (0..<count).first { multiplier * $0 % count == wanted } ?? 0
    }

    /// Java's string hash: over UTF-16 units, cut to 32 bits at each step.
    static func hash(of text: String) -> Int {
        var hash: Int32 = 0
        for unit in text.utf16 { hash = (hash << 5) &- hash &+ Int32(unit) }
        return Int(hash)
    }

    private static func modulo(_ value: Int, _ modulus: Int) -> Int {
        let rest = value % modulus
        return rest < 0 ? rest + modulus : rest
    }

    /// Whether a release is for a device: by a group of its own, or by its number.
    ///
    /// A release for groups is for nobody else. A device in a group of its own takes part in no roll-out, not even a
    /// full one.
    static func includes(
        _ cohort: Self?, _ rollout: Rollout?, groups: [String], bundle: String
    ) -> Bool {
        if let cohort, groups.contains(where: { Self($0) == cohort }) { return true }
        let share = groups.isEmpty ? min(max(rollout?.perMille ?? count, 0), count) : 0
        switch cohort {
        case nil: return share >= count
        case .name: return false
        case .number(let number):
            return share >= count || share > 0 && place(of: number, in: bundle) < share
        }
    }
}

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
