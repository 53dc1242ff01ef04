import CASStore
public import HotPush

/// How a version is offered: in which channel, and to whom.
public struct ReleaseOffer: Sendable, Hashable {
    /// The channel at whose head it stands.
    public var channel: ChannelName
    /// Which devices may have it; `nil` for all.
    public var rollout: Rollout?
    /// What an app must satisfy to run it.
    public var requirements: [Requirement]
    /// Whether an app must install it before continuing.
    public var isMandatory: Bool

    /// Creates an offer; by default to everybody in the channel `stable`.
    public init(
        channel: ChannelName = .stable, rollout: Rollout? = nil, requirements: [Requirement] = [],
        isMandatory: Bool = false
    ) {
        self.channel = channel
        self.rollout = rollout
        self.requirements = requirements
        self.isMandatory = isMandatory
    }

    /// - Throws: `.badPointer` for a roll-out or requirement that a pointer may not have.
    func validate() throws(StoreError) {
        if let problem = rollout?.problem ?? requirements.problemOfOffer {
            throw StoreError(.badPointer, "the offer is refused: \(problem)")
        }
    }

    /// The release of a target; the pointer sets its sequence.
    func release(_ target: ChannelRelease.Target) -> ChannelRelease {
        // A roll-out to everybody is no roll-out.
        let isPartial = (rollout?.perMille ?? 1000) < 1000
        return ChannelRelease(
            target, sequence: 1, createdAt: 0, rollout: isPartial ? rollout : nil,
            requirements: requirements, isMandatory: isMandatory)
    }
}
