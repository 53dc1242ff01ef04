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
    /// The same for the event log, where the usual one goes without saying.
    package var unusualChannel: String? { channel == PullOptions().channel ? nil : channel }
    /// The version to take from a castree channel; nil for the one that the channel has for this device.
    ///
    /// If the channel does not offer it, asking throws `.notOffered`. Such a pull does not obey the pointer, so it
    /// notes no sequence.
    public var release: String?
    /// Nil for the origin's own name.
    package var version: String?
    /// The platform of the app, for formats that answer each differently.
    public var platform: String?
    /// What happens to the version once it is complete.
    public var destination: PullDestination = .pending
    /// Whether to take releases that are banned, or meant for other devices or apps.
    package var isForced = false
    /// Whether a server asks, which shows what comes: it may roll back to no withdrawn version, whatever else this
    /// pull leaves unchanged.
    package var isForServer = false
    /// Whether to only ask and plan, and leave the store unchanged.
    package var isDryRun = false
    /// The device's name in gradual rollouts; nil takes part in no partial one.
    public var device: String?
    /// What this app says of itself.
    public var app = AppTraits()
    package var takesPacks = true
    package var retries = RetryPolicy()
    /// The most entries and directories of a version; larger ones are refused while they are read.
    public var entryCountMax = DeviceLimits.entryCountDefault
    /// How many known-good versions to keep when a release does not fit.
    ///
    /// Everything else that is unneeded, and a pending version that was never shown, then frees space. With `nil`, only
    /// content that no version names and replaced partial downloads do.
    package var keptGoodCount: Int?
    /// Trusted keys besides the store's own; nil for none.
    package var trust: GivenTrust?
    /// How long after its expiry a signed pointer is still obeyed, in case its publisher renews it late; whole seconds.
    public var expiryGrace = Duration.zero
    var expiryGraceSeconds: Int64 { expiryGrace.components.seconds }
    /// The log of what is asked, planned and downloaded; nil for none.
    public var eventLog: EventLog?
    /// Called several times a second, in addition to the store's own; `true` stops the pull with `.interrupted`.
    ///
    /// By default ``CASStore/Blocking/isCancelled``.
    public var isInterrupted: @Sendable () -> Bool = { Blocking.isCancelled }
    /// Receives the progress, on the pulling thread, about ten times a second.
    public var progress: @Sendable (UpdateProgress) -> Void = { _ in }

    /// How long an offer counts as current; after a longer download the origin is asked again.
    package var offerLifetime: Duration = .seconds(2)

    /// Receives the offered version that is not here, and whether it is mandatory, before anything of it is fetched.
    package var offered: @Sendable (_ version: String, _ isMandatory: Bool) -> Void = { _, _ in }

    /// Receives a pending version that was withdrawn, if the pull itself must not obey that.
    package var withdrawn: @Sendable (Withdrawal) -> Void = { _ in }

    /// Receives each retry, on the pulling thread; the event log has it too.
    package var retried: @Sendable (Retry) -> Void = { _ in }

    /// Receives first-contact notices about an origin, on the pulling thread; nil if nobody reads them.
    package var notice: (@Sendable (String) -> Void)?

    /// Seconds since 1970; replaced by tests.
    package var now: @Sendable () -> Int64 = { secondsNow() }

    /// Creates options with defaults.
    public init() {}

    var tell: @Sendable (Retry) -> Void {
        { [eventLog, retried] retry in
            eventLog?.record(.retried(reason: retry.reason, milliseconds: retry.delay.milliseconds))
            retried(retry)
        }
    }

    func budget(_ policy: RetryPolicy) -> RetryBudget { RetryBudget(policy, tell: tell) }

    var limits: DeviceLimits { DeviceLimits(entryCount: entryCountMax) }

    var listByteCountMax: Int64 { limits.manifestByteCount }
}

/// What happens to a version that is complete.
public enum PullDestination: String, Sendable, Hashable {
    /// It waits for the next boot, or for the next navigation of a server.
    case pending
    /// It becomes current at once.
    case current
    /// It is only stored.
    case kept
}

/// What a pull did.
public struct PullReport: Sendable, Hashable {
    /// The version's name in the store.
    public var version: String
    /// How many files it has.
    public var files = 0
    /// What the download did; for content that was already here, only the bytes.
    public var figures = DownloadFigures()
    /// How many of its objects were in the store already.
    public var reusedObjects = 0
    /// How many requests the origin answered.
    public var requests = 0
    /// Whether the version was already complete.
    public var isUnchanged = false
    /// Whether the version is the one shipped with the app, to which the origin sends devices back.
    public var isEmbedded = false
    package var skipped: [String] = []
    /// Why packs were useless; their content came otherwise.
    public var fallbacks: [String] = []
    /// Whether one of them is that the origin's pack is wrong, and not that there is no space or no answer.
    package var hasWrongPack = false
    /// Damaged base objects in the store; a check finds them too.
    package var damagedBases: [ObjectID] = []

    package init(version: String) { self.version = version }

    init(of plan: DownloadPlan) {
        version = plan.release.version.description
        files = plan.release.files.count
        reusedObjects = plan.reusedObjects
        figures.reusedBytes = plan.reusedBytes
    }
}
