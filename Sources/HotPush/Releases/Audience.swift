/// The devices that a release is for: those that meet all of this.
public struct Audience: Sendable, Hashable {
    /// Whether the publisher has withdrawn the release from everybody without a replacement.
    public var isDisabled = false
    /// The share of the devices that gets it; nil for all.
    public var rollout: Rollout?
    /// The groups of devices that it is restricted to (``AppTraits/groups``); empty for everybody.
    public var groups: [String] = []

    /// Everybody.
    public init() {}
}

/// The share of the devices that a release is for.
public struct Rollout: Sendable, Hashable {
    /// The share, in thousandths.
    public var perMille: Int
    /// Makes the choice differ from release to release.
    public var salt: String
    /// How the choice is made: by a place that salt and device determine, or by another system's rule.
    ///
    /// The format applies such a rule when it reads (``ReleaseContext/device``). If it leaves the decision to castree,
    /// any share below the whole excludes every device.
    public var rule: String

    /// castree's own rule.
    public static let ownRule = "castree"

    /// Creates a rollout.
    public init(perMille: Int, salt: String, rule: String = Rollout.ownRule) {
        self.perMille = perMille
        self.salt = salt
        self.rule = rule
    }
}
