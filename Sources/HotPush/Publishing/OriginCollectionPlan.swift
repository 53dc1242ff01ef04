public import CASStore

/// What an origin keeps.
public struct OriginRetention: Sendable, Hashable {
    /// How many releases of every channel are kept; more if devices still come to older ones.
    package var releaseCount: Int
    /// How long, in seconds, a manifest is kept after the last channel stopped naming it: clients that
    /// have read an older pointer go on downloading.
    package var graceSeconds: Int64

    /// Makes a rule: by default ten releases, and a day.
    public init(releaseCount: Int = 10, graceSeconds: Int64 = 86_400) {
        self.releaseCount = releaseCount
        self.graceSeconds = graceSeconds
    }
}

/// What collecting an origin deletes: made before anything is deleted, obeyed as it is.
public struct OriginCollectionPlan: Sendable, Hashable {
    /// The pointers that lose releases, as they will be.
    package var pointers: [ChannelPointer] = []
    /// How many releases no channel offers afterwards.
    package var releaseCount = 0
    /// The manifests to be deleted.
    package var manifests: [ObjectID] = []
    /// The deltas to be deleted, that lead to or from a manifest that no channel names.
    package var deltas: [PublishedDelta] = []
    /// The objects to be deleted, that no manifest left names; sorted by address.
    public var objects: [Reference] = []
    /// The manifests that no channel names and that are kept for their time of grace.
    package var waiting: [ObjectID] = []

    /// The bytes of the objects to be deleted.
    package var byteCount: Int64 { objects.reduce(0) { $0 + $1.byteCount } }
}
