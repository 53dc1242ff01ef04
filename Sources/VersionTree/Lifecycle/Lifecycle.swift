public import CASStore
internal import StrictJSON

/// The state of a store's versions: which one is current, pending, known good, bad or embedded.
///
/// A value with pure transitions. A change is written to `lifecycle.json` before anything acts on it.
public struct Lifecycle: Sendable, Hashable {
    /// A ban of a version by its content.
    ///
    /// The same content under another name is banned, too; other content under the same name is not.
    public struct Ban: Sendable, Hashable {
        /// The name that the content had.
        public var version: String
        /// The address of the content.
        public var content: ObjectID
        /// The reason, in at most 1,000 bytes.
        public var reason: String
        /// How often the content was banned.
        public var count: Int
        /// The time of the last ban, in seconds since 1970.
        public var at: Int64
    }

    package struct Boot: Sendable, Hashable {
        package var version: String
        package var token: String
        /// In seconds since 1970.
        package var startedAt: Int64
        /// The content that the start counts against; `nil` if there is none, or an older castree recorded it.
        package var content: ObjectID?
        /// Whether the start never counts against the content, because a page of another site caused it.
        package var isUncounted = false
        /// Identifies the system boot during which the start was made, if the system tells.
        package var system: String?
        /// Whether a process watches the start, holding the lock of ``VersionStore/takeStartLock()`` while it lives.
        package var isWatched = false
    }

    /// Content that was started but never confirmed.
    package struct Attempt: Sendable, Hashable {
        /// The name under which it was last started.
        package var version: String
        package var content: ObjectID
        /// How many starts count against the content, each from its beginning until it is confirmed or taken back.
        package var failedAttempts = 0
        package var takenBack = 0
    }

    /// The last confirmation, kept because repeating it is no error.
    package struct Confirmation: Sendable, Hashable {
        package var version: String
        package var token: String
    }

    /// The version that is shown.
    public var current: String?
    /// The version that the next boot switches to.
    public var pending: String?
    /// Versions that started well, the last one shown first; one that its channel has withdrawn comes last, and goes
    /// once it is left.
    public var knownGood: [String] = []
    /// The version that was shipped with the app.
    public var embedded: String?
    /// Bans, newest first.
    public var bad: [Ban] = []
    package var boot: Boot?
    /// Earlier starts since the system booted whose tokens are still valid, newest first.
    ///
    /// Each was replaced before its outcome was known, for example because the app was started twice at once.
    package var unheard: [Boot] = []
    package var confirmed: Confirmation?
    /// Versions that neither a person nor a policy may retire.
    public var protected: Set<String> = []
    /// The version that was current before the one being tried: the rollback target if nothing is known good.
    package var before: String?
    /// Content that was started but never confirmed, newest first.
    package var attempts: [Attempt] = []
    /// Whether the store accepts only signed releases from some origin, even if trust.json is lost.
    var isTrusting = false
    /// Members of the file unknown to this castree; they are written back unchanged.
    var others: [JSONValue.Member] = []
    /// The digest in the file if it does not match the content; empty if it is no digest at all.
    ///
    /// Changing an edited lifecycle writes it back, so that the edit stays visible: only a repair accepts it.
    var staleDigest: String?

    /// Whether the file was edited since castree wrote it; its content is used all the same.
    ///
    /// A file without a digest does not count as edited: an older castree or a person wrote it.
    package var isEdited: Bool { staleDigest != nil }

    static let knownGoodMax = 16

    package init() {}

    /// The ban that applies to a content.
    public func ban(of content: ObjectID) -> Ban? { bad.first { $0.content == content } }

    /// The rollback targets, best first: known good ones, newest first, the one current before the attempt, the
    /// embedded.
    package var waysBack: [String] { knownGood + [before, embedded].compactMap { $0 } }

    // MARK: Transitions

    /// Shows a version from now on; no other version stays pending.
    mutating func activate(_ version: String) {
        noteWayBack(for: version)
        show(version)
        if pending == version { pending = nil }
        if boot?.version != version { abandonStart() }
    }

    /// An attempt after it that fails returns to what is shown now, not to what was shown before.
    mutating func show(_ version: String) {
        current = version
        if knownGood.contains(version) {
            knownGood = [version] + knownGood.filter { $0 != version }
        }
    }

    /// Lifts the ban of a content and drops its failed starts.
    mutating func unban(_ content: ObjectID) {
        bad.removeAll { $0.content == content }
        attempts.removeAll { $0.content == content }
    }

    mutating func ban(_ version: String, content: ObjectID, reason: String, at time: Int64) {
        let count = (ban(of: content)?.count ?? 0) + 1
        // From here on the ban records what the attempts did.
        unban(content)
        bad.insert(
            Ban(
                version: version, content: content, reason: Self.bounded(reason), count: count,
                at: time),
            at: 0)
        knownGood.removeAll { $0 == version }
        if pending == version { pending = nil }
        if before == version { before = nil }
    }

    mutating func confirm(_ version: String, token: String) {
        knownGood.removeAll { $0 == version }
        knownGood.insert(version, at: 0)
        knownGood = Array(knownGood.prefix(Self.knownGoodMax))
        let content = boot?.content
        attempts.removeAll { $0.version == version || $0.content == content }
        before = nil
        boot = nil
        confirmed = Confirmation(version: version, token: token)
    }

    /// Takes withdrawn versions out of those to roll back to, if there is another; the current one stays as the last.
    mutating func demote(_ withdrawn: Set<String>) {
        let isLeft = { [current] (name: String) in withdrawn.contains(name) && name != current }
        if !waysBack.allSatisfy(withdrawn.contains) {
            knownGood.removeAll(where: isLeft)
            if before.map(isLeft) ?? false { before = nil }
        }
        knownGood =
            knownGood.filter { !withdrawn.contains($0) } + knownGood.filter(withdrawn.contains)
    }

    /// Forgets a retired version, except for its ban, since the content may come back.
    ///
    /// Its state as known good passes to `successor`, another name of its content.
    mutating func retire(_ version: String, successor: String? = nil) {
        if let successor, !knownGood.contains(successor),
            let place = knownGood.firstIndex(of: version)
        {
            knownGood[place] = successor
        }
        knownGood.removeAll { $0 == version }
        unheard.removeAll { $0.version == version }
        if before == version { before = nil }
    }

    /// The version that was current before, while a started version is neither confirmed nor banned.
    package var wayBack: String? { attempts.isEmpty ? nil : before }

    /// The versions that are shown, may be shown or rolled back to, or are protected.
    package var needed: Set<String> {
        protected.union(
            knownGood + [current, pending, embedded, wayBack].compactMap { $0 })
    }

    /// Why a version cannot be retired; the raw value ends a sentence.
    enum Need: String, CaseIterable {
        case current = "it is the current version"
        case pending = "it is pending"
        case protected = "it is protected"
        case wayBack = "it is the way back while another version is being tried"
        case embedded = "it is the embedded version"
        case lastKnownGood = "it is the last known good version"
    }

    /// Why a version cannot be retired; `nil` if it can, judging by names alone.
    func need(of version: String) -> Need? {
        if current == version { return .current }
        if pending == version { return .pending }
        if protected.contains(version) { return .protected }
        if wayBack == version { return .wayBack }
        if embedded == version { return .embedded }
        if knownGood == [version] { return .lastKnownGood }
        return nil
    }

    func advice(on need: Need, of version: String) -> String {
        switch need {
        case .current: "activate another one first"
        case .pending:
            "let another one wait first (castree activate VERSION --at-next-boot; if that is the current "
                + "one, none waits)"
        case .protected: "unprotect it first (castree unprotect \(version))"
        case .wayBack: adviceWhileTried
        case .embedded: "adopt a newer one first (castree adopt)"
        case .lastKnownGood:
            "start another one and confirm it first (castree boot, castree confirm)"
        }
    }

    /// Any confirmation ends the attempts that have a version to roll back to, which may be this one.
    private var adviceWhileTried: String {
        guard let current else { return "activate another one, start and confirm it first" }
        return boot?.version == current
            ? "confirm version \(current) first (castree lifecycle shows the token)"
            : "start version \(current) and confirm it first (castree boot, castree confirm)"
    }

    // MARK: Versions of equal content: what is known of one name holds for all

    /// Shows a version from now on, and recognizes it if its content was known under another name.
    mutating func activate(
        _ version: String, _ versions: some StartableVersions
    ) throws(StoreError) {
        try recognize(version, versions)
        let before = before
        let isSame = try hasContentOfCurrent(version, versions)
        activate(version)
        // A version with the same content is nothing to roll back to.
        if isSame { self.before = before }
    }

    /// Recognizes content that is known good under another name: it needs no confirmation, and failed starts are dropped.
    ///
    /// The same holds for the content of the version that was current before the attempt.
    mutating func recognize(
        _ version: String, _ versions: some StartableVersions
    ) throws(StoreError) {
        guard isBeingTried(version), let content = try versions.content(of: version),
            ban(of: content) == nil
        else { return }
        if let before, try versions.content(of: before) == content { self.before = version }
        let names = try knownGoodNames(of: content, versions)
        guard let oldest = names.last else { return }
        if knownGood.count >= Self.knownGoodMax {
            // Drop another name of the same content rather than other content that could be rolled back to.
            knownGood.removeAll { $0 == oldest }
        }
        knownGood.insert(version, at: 0)
        attempts.removeAll { $0.content == content }
    }

    /// Forgets all names of banned content, so that none is rolled back to.
    mutating func forgetNames(
        of content: ObjectID, _ versions: some StartableVersions
    ) throws(StoreError) {
        let names = try knownGoodNames(of: content, versions)
        knownGood.removeAll { names.contains($0) }
        if let pending, try versions.content(of: pending) == content { self.pending = nil }
        if let before, try versions.content(of: before) == content { self.before = nil }
    }

    func hasContentOfCurrent(
        _ version: String, _ versions: some StartableVersions
    ) throws(StoreError) -> Bool {
        guard let current else { return false }
        if current == version { return true }
        guard let content = try versions.content(of: current) else { return false }
        return try versions.content(of: version) == content
    }

    /// The known good names of a content, newest first.
    private func knownGoodNames(
        of content: ObjectID, _ versions: some StartableVersions
    ) throws(StoreError) -> [String] {
        var names: [String] = []
        for name in knownGood where try versions.content(of: name) == content {
            names.append(name)
        }
        return names
    }
}
