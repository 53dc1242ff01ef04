import CASStore

/// A plan of which versions to retire, decided without changing anything.
public struct RetentionPlan: Sendable, Hashable {
    /// The decision about a version.
    public struct Verdict: Sendable, Hashable {
        /// The version.
        public var version: String
        /// Why it is kept or retired, for people.
        public var reason: String

        package init(_ version: String, _ reason: String) {
            self.version = version
            self.reason = reason
        }
    }

    /// The versions to keep, newest first.
    public private(set) var kept: [Verdict] = []
    /// The versions to retire, newest first.
    public private(set) var retired: [Verdict] = []
    /// The size of the store's objects after a collection, in bytes; `nil` without a limit.
    public private(set) var byteCount: Int64?

    /// Why a known good version stays if the policy does not limit their number.
    static let goodReason = "it is known good"
    /// How many versions stay only because they are known good.
    package var goodCount: Int { kept.count { $0.reason == Self.goodReason } }

    /// Applies a policy, except for its limit of bytes, which ``reach(_:from:freeing:)`` applies.
    /// - Parameters:
    ///   - versions: all registered versions, newest first, as ``VersionStore/versions()`` lists them.
    ///   - pinned: the versions that some process shows to a page.
    ///   - pinReasons: explanations for versions pinned by processes other than servers.
    ///   - fetched: the versions that some process is fetching.
    ///   - now: seconds since 1970.
    package init(
        _ versions: [VersionSummary], _ lifecycle: Lifecycle, pinned: Set<String>,
        pinReasons: [String: String] = [:], fetched: Set<String> = [], policy: RetentionPolicy,
        now: Int64
    ) {
        var deciding = Deciding(versions, lifecycle, pinned, policy, now)
        deciding.fetched = fetched
        deciding.pinReasons = pinReasons
        for version in Self.dated(versions, now: now, within: policy.minimumAgeSeconds ?? 0) {
            if let need = deciding.need(of: version) {
                kept.append(Verdict(version.version, need))
            } else {
                retired.append(Verdict(version.version, deciding.excuse(version)))
            }
        }
    }

    /// The versions, newest first, with times from wrong clocks replaced by the next one's.
    ///
    /// A time later than a newer version's, or than now, comes from a clock that was ahead; one earlier than an older
    /// version's by more than `age`, from a clock that was behind. Such a version counts as no older than the next
    /// one registered.
    private static func dated(
        _ versions: [VersionSummary], now: Int64, within age: Int64
    ) -> [VersionSummary] {
        var older: [Int64] = []
        var latest = Int64.min
        for version in versions.reversed() {
            older.append(latest)
            if version.createdAt <= now { latest = max(latest, version.createdAt) }
        }
        var next = now
        return versions.enumerated().map { (place, version) in
            let before = older[versions.count - 1 - place]
            let isBehind = before != .min && version.createdAt < before - age
            guard isBehind || version.createdAt > next else {
                next = version.createdAt
                return version
            }
            var dated = version
            dated.createdAt = next
            return dated
        }
    }

    /// Keeps those retirable versions that need not go for the store to hold at most `limit` bytes.
    /// - Parameters:
    ///   - total: the bytes that the objects named by versions hold now.
    ///   - freed: what each version in `retired` frees if it is retired after all older ones.
    package mutating func reach(_ limit: Int64, from total: Int64, freeing freed: [Int64]) {
        precondition(freed.count == retired.count, "each version gives back something")
        var total = total
        var going = 0
        for bytes in freed where total > limit {
            total -= bytes
            going += 1
        }
        let spared = retired.prefix(retired.count - going)
        retired.removeFirst(spared.count)
        byteCount = total
        guard !spared.isEmpty else { return }
        kept += spared.map { Verdict($0.version, "the store is within its limit with it") }
    }

    /// Restores the order of `versions` in `kept`, to whose end a limit appends.
    mutating func sortKept(like versions: [VersionSummary]) {
        var places: [String: Int] = [:]
        for (place, version) in versions.enumerated() { places[version.version] = place }
        kept.sort { places[$0.version, default: 0] < places[$1.version, default: 0] }
    }
}

private struct Deciding {
    let lifecycle: Lifecycle
    let pinned: Set<String>
    var fetched: Set<String> = []
    var pinReasons: [String: String] = [:]
    let policy: RetentionPolicy
    let now: Int64
    let good: Set<String>
    let newestCount: Int
    /// Whether the current version, which is registered, is still to come.
    var isNewer: Bool
    /// The versions so far; of these the complete ones, and those kept because they are new.
    var seenCount = 0
    var wholeCount = 0
    var newestTaken = 0
    /// Whether a partly fetched version is kept because the rest may arrive.
    var hasPart = false

    init(
        _ versions: [VersionSummary], _ lifecycle: Lifecycle, _ pinned: Set<String>,
        _ policy: RetentionPolicy, _ now: Int64
    ) {
        self.lifecycle = lifecycle
        self.pinned = pinned
        self.policy = policy
        self.now = now
        var contents: [String: ObjectID] = [:]
        for version in versions where version.state != .incomplete && !version.isBad {
            contents[version.version] = version.content
        }
        // A version that cannot be shown is no rollback target; nor is another name of content already kept.
        var seen: Set<ObjectID> = []
        // What stays for another reason takes no place: it may go later, and then what is left must be enough. Only
        // the current version counts, since it usually is the newest good one.
        let others = pinned.union(lifecycle.protected).union(
            [lifecycle.pending, lifecycle.embedded, lifecycle.wayBack].compactMap { $0 })
        let candidates = lifecycle.knownGood.filter { name in
            guard name == lifecycle.current || !others.contains(name) else { return false }
            return contents[name].map { seen.insert($0).inserted } ?? false
        }
        good = Set(candidates.prefix(policy.goodCount.map { max(1, $0) } ?? candidates.count))
        newestCount = max(policy.newestCount, lifecycle.current == nil ? 1 : 0)
        isNewer =
            lifecycle.current == nil || versions.contains { $0.version == lifecycle.current }
    }

    /// Why a version stays; `nil` if it may go.
    mutating func need(of version: VersionSummary) -> String? {
        let name = version.version
        if name == lifecycle.current { isNewer = false }
        let isWhole = version.state != .incomplete && !version.isBad
        defer {
            seenCount += 1
            if isWhole { wholeCount += 1 }
        }
        if policy.keepsNewer, lifecycle.current == nil, lifecycle.pending == nil {
            return "no version is current"
        }
        if name == lifecycle.current { return "it is current" }
        if name == lifecycle.pending { return "it is pending until the next start" }
        if name == lifecycle.embedded { return "it was shipped with the app" }
        if lifecycle.protected.contains(name) { return "it is protected" }
        if name == lifecycle.wayBack { return "it is the way back while another is being tried" }
        if pinned.contains(name) { return pinReasons[name] ?? "a page still has it" }
        if fetched.contains(name) { return "it is being fetched" }
        if good.contains(name) {
            guard let count = policy.goodCount else { return RetentionPlan.goodReason }
            return "it is one of the last \(max(1, count)) good versions"
        }
        if let candidates = policy.candidates {
            guard candidates.contains(name) else { return "its space is not needed" }
        } else if policy.keepsNewer {
            if isNewer, !version.isBad, let reason = novelty(of: version) { return reason }
        } else if let newness = newness(of: version, isWhole) {
            return newness
        }
        if let age = policy.minimumAgeSeconds, now - version.createdAt < age {
            return "it was added \(Self.words(now - version.createdAt)) ago"
        }
        return nil
    }

    /// Why a version stays that is newer than the current one.
    ///
    /// At most one is kept, besides the one that has just arrived or is arriving to replace it: a version that was
    /// replaced before it was shown is useless, and a page that is never reloaded would keep all of them.
    private func novelty(of version: VersionSummary) -> String? {
        let isNewest = version.state == .incomplete ? seenCount == 0 : wholeCount == 0
        let isLast = policy.successor.map { $0 == version.version } ?? isNewest
        guard isLast || lifecycle.knownGood.contains(version.version) else { return nil }
        return "it is newer than the current version"
    }

    private mutating func newness(of version: VersionSummary, _ isWhole: Bool) -> String? {
        let hasSpace = newestTaken < newestCount
        if isWhole, hasSpace {
            let isFirst = wholeCount == newestTaken
            var among = isFirst ? " of the whole ones" : " besides those that are needed"
            if seenCount == newestTaken { among = "" }
            newestTaken += 1
            let rank =
                newestCount == 1 ? "it is the newest" : "it is one of the newest \(newestCount)"
            return rank + among
        }
        // The next pull continues with the newest; those before it have been replaced.
        if version.state == .incomplete, !version.isBad, !hasPart,
            wholeCount == 0 || (hasSpace && isNewer)
        {
            hasPart = true
            return "it is incomplete, and may still be arriving"
        }
        return nil
    }

    func excuse(_ version: VersionSummary) -> String {
        if version.isBad { return "it is banned" }
        let age = policy.minimumAge == nil ? "" : ", \(Self.words(now - version.createdAt)) old"
        if policy.keepsNewer, isNewer {
            return "a newer version has come before it was shown\(age)"
        }
        if policy.keepsNewer {
            if version.state == .incomplete {
                return "it is incomplete, and older than the current version\(age)"
            }
            if version.isKnownGood, let count = policy.goodCount {
                return count <= 1
                    ? "a newer version is good\(age)" : "\(count) newer versions are good\(age)"
            }
            return "it is older than the current version\(age)"
        }
        if version.state == .incomplete { return "it is incomplete\(age)" }
        if newestCount > 0 {
            return newestCount == 1
                ? "a newer version is kept\(age)" : "\(newestCount) newer versions are kept\(age)"
        }
        return "nothing needs it\(age)"
    }

    private static func words(_ seconds: Int64) -> String {
        let seconds = max(0, seconds)
        for (unit, name) in [(Int64(86_400), "day"), (3600, "hour"), (60, "minute")]
        where seconds >= unit {
            return counted(seconds / unit, name)
        }
        return counted(seconds, "second")
    }
}

/// Which versions may go, as chosen by an operator or an app.
///
/// In any case current, pending, embedded and pinned versions stay, and so do known good ones unless `goodCount` says
/// otherwise.
public struct RetentionPolicy: Sendable, Hashable {
    /// How many known good versions stay, including the current one; at least 1.
    ///
    /// Versions that stay for another reason do not count. `nil` keeps all that are remembered.
    public var goodCount: Int?
    /// How many of the newest versions stay in addition to needed ones.
    ///
    /// Counts complete versions that are not banned. While no version is current, at least one stays.
    public var newestCount = 0
    /// How long every version stays after it was registered; whole seconds.
    public var minimumAge: Duration?
    var minimumAgeSeconds: Int64? { minimumAge?.components.seconds }
    /// The most bytes that the objects of the store may hold.
    ///
    /// With a limit, only as many versions go as it requires, oldest first; without one, all that may.
    public var byteCountMax: Int64?
    /// Whether the newest version above the current one stays, which an updating app is about to show.
    ///
    /// All of them stay while no version is current or pending.
    package var keepsNewer = false
    /// The version, registered or not, that replaces all that are newer than the current one and not known good;
    /// `nil` for the newest of these.
    package var successor: String?

    /// If set, only these versions may go, and all of them that nothing needs do.
    package var candidates: Set<String>?

    /// Keeps only what is needed.
    public init() {}

    /// The policy of an app that updates itself.
    ///
    /// Keeps the last good versions, what is pending, and the newest incoming version, but nothing replaced before it
    /// was shown.
    public static func generations(_ goodCount: Int) -> RetentionPolicy {
        var policy = RetentionPolicy()
        policy.goodCount = goodCount
        policy.keepsNewer = true
        return policy
    }
}
