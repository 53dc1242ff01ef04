public import CASStore
import VersionTree

/// How an app is kept up to date.
public struct UpdateOptions: Sendable {
    /// The version that was shipped with the app.
    public var embedded: EmbeddedVersion?
    /// What the app says of itself.
    public var app = AppTraits()
    /// The device's name in gradual roll-outs; without it the app gets only what is for all.
    public var device: String?
    /// When a version that is ready is shown.
    public var policy = SwitchPolicy.nextStart
    /// The time in the foreground in which a version must be confirmed; `nil` for no limit: then
    /// only the next start judges it.
    public var confirmWithin: Duration? = .seconds(30)
    /// How many starts of one content may fail before it is banned; until then it waits for another start.
    public var strikes = Lifecycle.usualStrikes
    /// How many versions that have proved good are kept, including the current one.
    public var keptGoodCount = 2

    /// Whose releases are taken; `nil` for what the store's trust says.
    package var trusted: GivenTrust?

    /// Takes only releases that these keys have signed, whoever can write to the origin.
    ///
    /// A ``PullSource`` obeys it. The keys are part of the app: the store remembers them, follows the origin's rotations from
    /// them to later ones, and goes back to what the app says only when the app says something else than before. Everything
    /// else that comes throws `untrusted`, changes nothing, and the app goes on with what it has.
    ///
    /// - Parameters:
    ///   - keys: public Ed25519 keys as PEM, as `castree key show` and `openssl pkey -pubout` print them.
    ///   - threshold: so many different ones must have signed.
    ///   - origin: the id of the origin, 32 hexadecimal digits: `origin.json` has it.
    ///   - version: the version of the origin's trust of which these are all keys, as `castree trust rotate` says it, 1
    ///     before any rotation: then nothing counts that was signed for an older one. `nil` if it is not known.
    /// - Throws: `badKey` with what is wrong.
    public mutating func trust(
        _ keys: [String], threshold: Int = 1, origin: String, version: Int64? = nil
    ) throws(StoreError) {
        trusted = try GivenTrust(keys, threshold: threshold, origin: origin, version: version)
    }

    /// Waits for the next start, judges within 30 s, keeps two good versions.
    public init() {}
}
