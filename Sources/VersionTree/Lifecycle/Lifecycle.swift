public import CASStore
internal import StrictJSON

/// Which version is current, pending, known good, bad, embedded: a value, with pure transitions.
///
/// Whoever changes it writes it to `lifecycle.json` before anybody acts on it.
public struct Lifecycle: Sendable, Hashable {
    /// A ban of a version by its content: the same content under another name is banned, too; other
    /// content under the same name is not.
    public struct Ban: Sendable, Hashable {
        /// The name it had.
        public var version: String
        /// The address of its content.
        public var content: ObjectID
        /// Why, in at most 1,000 bytes.
        public var reason: String
        /// How often it was banned.
        public var count: Int
        /// When it was last banned, in seconds since 1970.
        public var at: Int64
    }

    /// A start that nobody has vouched for yet.
    package struct Boot: Sendable, Hashable {
        /// The version that started.
        package var version: String
        /// What a confirmation must present.
        package var token: String
        /// When, in seconds since 1970.
        package var startedAt: Int64
        /// The content that the start counts against; `nil` if it needs no confirmation, counts nothing, or an older castree
        /// wrote it.
        package var content: ObjectID?
        /// Whether it counts nothing, whoever leaves it: a page of another site has caused it.
        package var isUncounted = false
        /// Names the time since the system started, if the system tells.
        package var system: String?
        /// Whether a process watches the start; it has the lock while it lives (``VersionStore/takeStartLock()``).
        package var isWatched = false
    }

    /// Content that was started and that nobody has vouched for yet.
    package struct Trial: Sendable, Hashable {
        /// The name under which it was last started.
        package var version: String
        /// The address of the content.
        package var content: ObjectID
        /// How many starts count against it; a start counts from its beginning until it is confirmed or
        /// taken back.
        package var strikes = 0
        /// How many starts in a row were taken back.
        package var takenBack = 0
    }

    /// Who vouched for what last: repeating a confirmation is no error.
    package struct Confirmation: Sendable, Hashable {
        /// The version that was vouched for.
        package var version: String
        /// The token it was vouched for with.
        package var token: String
    }

    /// The version that is shown.
    public var current: String?
    /// The version that the next boot switches to.
    public var pending: String?
    /// Versions that started well, the newest first.
    public var knownGood: [String] = []
    /// The version that was shipped with the app.
    public var embedded: String?
    /// What is banned, the newest ban first.
    public var bad: [Ban] = []
    /// The start that waits for its confirmation.
    package var boot: Boot?
    /// Earlier starts of this time of the system whose tokens still count, the newest first.
    ///
    /// A later start has taken their place without anybody knowing that they had failed: an app that was
    /// started twice at once, say. They may still confirm what they have started.
    package var unheard: [Boot] = []
    /// The last confirmation.
    package var confirmed: Confirmation?
    /// Versions that nobody and nothing may retire.
    public var protected: Set<String> = []
    /// What was current before the version on trial: the way back if nothing is known good.
    package var before: String?
    /// What was started and never confirmed, the newest first.
    package var trials: [Trial] = []
    /// Whether the store takes only signed releases from some origin: if trust.json is lost, this tells.
    var isTrusting = false
    /// Members of the file that this castree does not know; they are written back unchanged.
    var others: [JSONValue.Member] = []
    /// The digest in the file if it is not that of the file's content; empty if it is no digest at all.
    ///
    /// Whoever changes an edited lifecycle writes it back, so that the next change does not hide the
    /// edit: only a repair accepts what the file says.
    var staleDigest: String?

    /// Whether the file is no longer as castree wrote it: somebody has edited it.
    ///
    /// It is believed all the same. A file without a digest is not known to be edited: an older castree
    /// or a person wrote it.
    package var isEdited: Bool { staleDigest != nil }

    /// How many known good versions are remembered.
    static let knownGoodMax = 16

    /// Nothing is current.
    package init() {}

    /// The ban that holds for a content.
    public func ban(of content: ObjectID) -> Ban? { bad.first { $0.content == content } }

    /// The versions to go back to, best first: the known good ones, newest first, then what was current
    /// before the version on trial, then the embedded one.
    package var waysBack: [String] { knownGood + [before, embedded].compactMap { $0 } }

    // MARK: Transitions

    /// Shows a version from now on.
    ///
    /// Stops waiting for a start of another version.
    mutating func activate(_ version: String) {
        noteWayBack(for: version)
        current = version
        if pending == version { pending = nil }
        if boot?.version != version { abandonStart() }
    }

    /// Forgets a ban, and what counts against the content.
    mutating func forgive(_ content: ObjectID) {
        bad.removeAll { $0.content == content }
        trials.removeAll { $0.content == content }
    }

    mutating func ban(_ version: String, content: ObjectID, reason: String, at time: Int64) {
        let count = (ban(of: content)?.count ?? 0) + 1
        // From here on the ban says what the trials said.
        forgive(content)
        bad.insert(
            Ban(
                version: version, content: content, reason: Self.bounded(reason), count: count,
                at: time),
            at: 0)
        knownGood.removeAll { $0 == version }
        if pending == version { pending = nil }
        if before == version { before = nil }
    }

    /// Vouches for a version.
    mutating func confirm(_ version: String, token: String) {
        knownGood.removeAll { $0 == version }
        knownGood.insert(version, at: 0)
        knownGood = Array(knownGood.prefix(Self.knownGoodMax))
        let content = boot?.content
        trials.removeAll { $0.version == version || $0.content == content }
        before = nil
        boot = nil
        confirmed = Confirmation(version: version, token: token)
    }

    /// Forgets a retired version.
    ///
    /// Its ban stays: the content may come back. That it is known good stays with the heir, another name of
    /// its content.
    mutating func retire(_ version: String, heir: String? = nil) {
        if let heir, !knownGood.contains(heir), let place = knownGood.firstIndex(of: version) {
            knownGood[place] = heir
        }
        knownGood.removeAll { $0 == version }
        unheard.removeAll { $0.version == version }
        if before == version { before = nil }
    }

    /// What was current before, while a version that was started is neither confirmed nor banned.
    package var wayBack: String? { trials.isEmpty ? nil : before }

    /// The versions that something is served from or may be gone back to, and the protected ones.
    package var needed: Set<String> {
        protected.union(
            knownGood + [current, pending, embedded, wayBack].compactMap { $0 })
    }
}
