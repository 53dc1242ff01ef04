import CASStore
import VersionTree

/// How a pull goes about its work.
public struct PullOptions: Sendable {
    /// The format to read, by name; nil finds out.
    public var format: String?
    /// A format that is none of castree's own; it goes before ``format``.
    public var reader: (any ReleaseFormat)?
    /// The channel of a castree origin.
    public var channel = "stable"
    /// The name that the version gets; nil for the one that the origin gives it.
    package var version: String?
    /// The platform of the app, for formats that say different things to each.
    public var platform: String?
    /// What becomes of the version once it is whole.
    public var destination: PullDestination = .pending
    /// Whether to take what is banned, or meant for other devices or apps.
    package var isForced = false
    /// Whether nothing is to be changed in the store: what is asked is not noted there.
    ///
    /// Such a pull asks and plans.
    package var isDryRun = false
    /// Which device this is, for staged roll-outs; nil takes part in none that is partial.
    public var device: String?
    /// What this app says of itself.
    public var app = AppTraits()
    /// Trying again: how often, how fast.
    package var retries = RetryPolicy()
    /// The largest file that is fetched if the release does not tell its size, in bytes.
    package var fileByteCountMax: Int64 = 1 << 30
    /// The largest manifest that is read, in bytes.
    package var manifestByteCountMax: Int64 = 512 << 20
    /// The most entries that a manifest may have; more are refused while it is read.
    public var entryCountMax = 250_000
    /// Where to note what is asked, planned and downloaded; nil notes nothing.
    public var journal: Journal?
    /// Asked several times a second, besides the store's own; `true` stops the pull with
    /// `.interrupted`.
    public var isInterrupted: @Sendable () -> Bool = { false }
    /// Told about the progress, on the pulling thread, about ten times a second.
    public var progress: @Sendable (UpdateProgress) -> Void = { _ in }

    /// Seconds since 1970; tests have a clock of their own.
    package var now: @Sendable () -> Int64 = { secondsNow() }

    /// Makes options with defaults.
    public init() {}

    /// The largest manifest that so many entries may need, in bytes, with 512 for each: what is packed
    /// into a small answer cannot fill the memory either.
    var listByteCountMax: Int64 {
        max(1 << 20, Int64(min(entryCountMax, Manifest.countMax)) * 512)
    }
}

/// What becomes of a version that is whole.
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
    /// The format it came in.
    package var family = ""
    /// Its files.
    package var files = 0
    /// What its download did; of what was here already, the bytes.
    public var figures = DownloadFigures()
    /// Contents that the store had already.
    package var reusedObjects = 0
    /// Requests that were sent, with those for the manifest.
    package var requests = 0
    /// Whether the version was here before, whole.
    public var isUnchanged = false
    /// Whether it is what was shipped with the app: the origin sends devices back to that.
    public var isEmbedded = false
    /// Optional files that the origin does not have.
    package var skipped: [String] = []

    /// Makes a report of nothing.
    package init(version: String) { self.version = version }

    /// Makes a report of what a plan says already.
    init(of plan: DownloadPlan) {
        version = plan.release.version.description
        family = plan.release.family
        files = plan.release.files.count
        reusedObjects = plan.reusedObjects
        figures.reusedBytes = plan.reusedBytes
    }
}
