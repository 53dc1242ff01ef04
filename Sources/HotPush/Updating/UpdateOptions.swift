import VersionTree

/// How an app is kept up to date.
public struct UpdateOptions: Sendable {
    /// The version that was shipped with the app.
    public var embedded: EmbeddedVersion?
    /// What the app says of itself.
    public var app = AppTraits()
    /// What names the device in staged roll-outs; without it the app gets what is for all.
    public var device: String?
    /// When a version that is ready is shown.
    public var policy = SwitchPolicy.nextStart
    /// How much time in the foreground a version has to be confirmed; `nil` waits for ever, and then
    /// only the next start judges it.
    public var confirmWithin: Duration? = .seconds(30)
    /// How many starts of one content may fail before it is banned; before that it waits for another start.
    public var strikes = Lifecycle.usualStrikes
    /// How many versions that have proved good are kept, the current one among them.
    public var keptGoodCount = 2

    /// Waits for the next start, judges within 30 s, keeps two good versions.
    public init() {}
}
