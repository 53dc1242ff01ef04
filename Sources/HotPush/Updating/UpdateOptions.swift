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

    /// Waits for the next start, judges within 30 s, keeps two good versions.
    public init() {}
}
