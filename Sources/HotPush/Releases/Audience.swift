/// Which devices a release is for: those for whom all of this holds.
public struct Audience: Sendable, Hashable {
    /// Whether its publisher has taken it from everybody, without another in its place.
    public var isDisabled = false
    /// Which share of the devices gets it; nil for all.
    public var rollout: Rollout?
    /// The groups of devices that it is for alone (``AppTraits/groups``); none for everybody.
    public var groups: [String] = []

    /// Everybody.
    public init() {}
}

/// Which part of the devices a release is for.
public struct Rollout: Sendable, Hashable {
    /// The share, in thousandths.
    public var perMille: Int
    /// What makes the choice differ from release to release.
    public var salt: String
    /// How the choice is made: by a place that salt and device give, or a rule of another system.
    ///
    /// The format knows that rule and decides when it reads (``ReleaseContext/device``). Where it leaves
    /// the decision to castree, a share that is not the whole leaves every device out.
    public var rule: String

    /// castree's own rule.
    public static let ownRule = "castree"

    /// Makes a roll-out.
    public init(perMille: Int, salt: String, rule: String = Rollout.ownRule) {
        self.perMille = perMille
        self.salt = salt
        self.rule = rule
    }
}
