package import CASStore
import VersionTree

/// How a pull works.
public struct PullOptions: Sendable {
    /// The name of the format to read; nil to detect it.
    public var format: String?
    /// A format that is not castree's own; overrides ``format``.
    public var reader: (any ReleaseFormat)?
    /// The channel of a castree origin.
    public var channel = "stable"
    /// The version to take of all that a castree channel offers; nil for what the channel has for this device.
    ///
    /// If it is not offered, asking throws `.notOffered`. What the pointer wants is not done then, so its sequence is
    /// not noted.
    public var release: String?
    /// The name that the version gets; nil for the one that the origin gives it.
    package var version: String?
    /// The platform of the app, for formats with different answers for each.
    public var platform: String?
    /// What happens to the version once it is whole.
    public var destination: PullDestination = .pending
    /// Whether to take what is banned, or meant for other devices or apps.
    package var isForced = false
    /// Whether to leave the store unchanged and note nothing there.
    ///
    /// Such a pull only asks and plans.
    package var isDryRun = false
    /// The device's name in gradual roll-outs; nil takes part in none that is partial.
    public var device: String?
    /// What this app says of itself.
    public var app = AppTraits()
    /// Whether to take packs where an origin has them; otherwise objects come one by one.
    package var takesPacks = true
    /// How often and how soon to try again.
    package var retries = RetryPolicy()
    /// The most entries and directories that a version may have; more are refused while it is read.
    public var entryCountMax = DeviceLimits.entryCountDefault
    /// How many versions that have proved good stay where there is no room for a release.
    ///
    /// What else is not needed, and what waits and was never shown, then makes room. `nil`: only what no version names does.
    package var keptGoodCount: Int?
    /// Whose releases are taken, besides what the store's trust says; nil for that alone.
    package var trust: GivenTrust?
    /// For how many seconds after its end a signed pointer may still be obeyed: its publisher may be late to renew it.
    public var expiryGrace: Int64 = 0
    /// Where to note what is asked, planned and downloaded; nil notes nothing.
    public var journal: Journal?
    /// Called several times a second, in addition to the store's own; `true` stops the pull with
    /// `.interrupted`.
    public var isInterrupted: @Sendable () -> Bool = { false }
    /// Gets the progress, on the pulling thread, about ten times a second.
    public var progress: @Sendable (UpdateProgress) -> Void = { _ in }

    /// For how long what an origin has offered counts as what it offers; fetching that took longer is followed by another
    /// look.
    package var offerLifetime: Duration = .seconds(2)

    /// Gets the version that is offered and not here, and whether it is mandatory, before anything of it is fetched.
    package var offered: @Sendable (_ version: String, _ isMandatory: Bool) -> Void = { _, _ in }

    /// Gets what waits and was taken back, if the pull itself must not obey that.
    package var withdrawn: @Sendable (Withdrawal) -> Void = { _ in }

    /// Gets each retry, on the pulling thread; the journal has it, too.
    package var retried: @Sendable (Retry) -> Void = { _ in }

    /// Gets what a person should know of an origin at first, on the pulling thread; nil if nobody reads it.
    package var notice: (@Sendable (String) -> Void)?

    /// Seconds since 1970; tests have a clock of their own.
    package var now: @Sendable () -> Int64 = { secondsNow() }

    /// Makes options with defaults.
    public init() {}

    var tell: @Sendable (Retry) -> Void {
        { [journal, retried] retry in
            journal?.record(.retried(reason: retry.reason, milliseconds: retry.delay.milliseconds))
            retried(retry)
        }
    }

    func budget(_ policy: RetryPolicy) -> RetryBudget { RetryBudget(policy, tell: tell) }

    var limits: DeviceLimits { DeviceLimits(entryCount: entryCountMax) }

    /// The largest manifest that is read, in bytes.
    var listByteCountMax: Int64 { limits.manifestByteCount }
}

/// What happens to a version that is whole.
public enum PullDestination: String, Sendable, Hashable {
    /// It waits for the next boot, or for the next navigation of a server.
    case pending
    /// It is made current at once.
    case current
    /// It is only kept.
    case kept
}

/// What a pull did.
public struct PullReport: Sendable, Hashable {
    /// The version's name in the store.
    public var version: String
    /// Its files.
    package var files = 0
    /// What its download did; for content that was already here, only the bytes.
    public var figures = DownloadFigures()
    /// Contents that the store already had.
    package var reusedObjects = 0
    /// Requests that were sent, including those for the manifest.
    package var requests = 0
    /// Whether the version was here before, and whole.
    public var isUnchanged = false
    /// Whether it is what was shipped with the app: the origin sends devices back to that.
    public var isEmbedded = false
    /// Optional files that the origin does not have.
    package var skipped: [String] = []
    /// Why packs were of no use; what they were to bring came otherwise.
    package var fallbacks: [String] = []
    /// Objects of the store that packs lead from and that are damaged: a check finds them, too.
    package var damagedBases: [ObjectID] = []

    /// Makes a report of nothing.
    package init(version: String) { self.version = version }

    init(of plan: DownloadPlan) {
        version = plan.release.version.description
        files = plan.release.files.count
        reusedObjects = plan.reusedObjects
        figures.reusedBytes = plan.reusedBytes
    }
}
