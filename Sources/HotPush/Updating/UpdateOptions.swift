public import CASStore
import VersionTree

/// How an app is kept up to date.
public struct UpdateOptions: Sendable {
    /// The version that was shipped with the app.
    public var embedded: EmbeddedVersion?
    /// What the app says of itself.
    public var app = AppTraits()
    /// The device's name in gradual rollouts; without it the app takes part in no partial one.
    public var device: String?
    /// When a version that is ready is shown.
    public var policy = SwitchPolicy.nextStart
    /// The time in the foreground in which a version must be confirmed; with `nil`, only the next start judges it.
    public var confirmWithin: Duration? = .seconds(30)
    /// How many starts of one content may fail before it is banned; until then it waits for another start.
    public var failedAttempts = Lifecycle.usualFailedAttempts
    /// How many known-good versions are kept, including the current one.
    public var keptGoodCount = 2

    /// Trusted keys; `nil` for the store's own.
    package var trusted: GivenTrust?

    /// Accepts only releases signed by these keys, whoever can write to the origin; a ``PullSource`` enforces it.
    ///
    /// The keys are part of the app. The store remembers them, follows the origin's rotations to later ones, and
    /// returns to the app's keys only when the app names others than before. Anything else throws `untrusted` and
    /// changes nothing.
    ///
    /// - Parameters:
    ///   - keys: public Ed25519 keys as PEM, as `castree key show` and `openssl pkey -pubout` print them.
    ///   - threshold: how many different keys must sign.
    ///   - origin: the id of the origin, 32 hexadecimal digits from its `origin.json`.
    ///   - version: the version of the origin's trust whose keys these all are, as `castree trust rotate` prints it; 1
    ///     before any rotation. Signatures for an older version then do not count. `nil` if unknown.
    /// - Throws: `badKey` with the reason.
    public mutating func trust(
        _ keys: [String], threshold: Int = 1, origin: String, version: Int64? = nil
    ) throws(StoreError) {
        trusted = try GivenTrust(keys, threshold: threshold, origin: origin, version: version)
    }

    /// Waits for the next start, judges within 30 s, keeps two good versions.
    public init() {}
}
