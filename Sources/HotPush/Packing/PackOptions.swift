/// Which packs a publisher makes, and how.
package struct PackOptions: Sendable, Hashable {
    /// When a release gets its packs.
    package enum Moment: Sendable, Hashable {
        /// Never: devices fetch object by object.
        case never
        /// Before it is offered.
        case before
        /// After it is offered: where seconds count.
        case after
    }

    /// When a release gets its packs.
    package var moment = Moment.before
    /// The level of compression, from 1 (fast) to 19 (small).
    package var level = 19
    /// How many of the contents that the channel offered last a pack leads from.
    package var contentCount = 4
    /// The versions of the store that a pack leads from besides: what was shipped with an app.
    package var baseVersions: [String] = []
    /// How many releases of a channel keep their packs.
    package var keptReleaseCount = 2
    /// Whether objects of those contents that the store lacks are fetched from the bucket.
    package var fetchesBases = false
    /// Objects above this size have no prefix and are never in memory as a whole; tests lower it.
    var prefixedByteCountMax = PackLimits.baseByteCountMax

    package init() {}
}
