public import CASStore

/// What an origin keeps.
public struct OriginRetention: Sendable, Hashable {
    /// How many releases of each channel are kept; more if devices can still reach older ones.
    package var releaseCount: Int
    /// How long, in seconds, a manifest is kept after the last channel stopped naming it: clients that
    /// have read an older pointer are still downloading.
    package var graceSeconds: Int64

    /// Makes a rule: by default ten releases, and a day.
    public init(releaseCount: Int = 10, graceSeconds: Int64 = 86_400) {
        self.releaseCount = releaseCount
        self.graceSeconds = graceSeconds
    }
}

/// What collecting an origin deletes: decided before anything is deleted, then carried out exactly.
public struct OriginCollectionPlan: Sendable, Hashable {
    /// The pointers that lose releases, as they will be.
    package var pointers: [ChannelPointer] = []
    /// How many releases no channel offers afterwards.
    package var releaseCount = 0
    /// The manifests to be deleted.
    package var manifests: [ObjectID] = []
    /// The deltas of manifests to be deleted: older publishers have written them, and nobody reads them any more.
    package var deltas: [PublishedDelta] = []
    /// The deliveries to be deleted.
    package var deliveries: [ObjectID] = []
    /// The packs to be deleted, which no remaining delivery names; sorted by address.
    package var packs: [Reference] = []
    /// The deliveries that no channel names and that are kept for their grace period.
    package var waitingDeliveries: [ObjectID] = []
    /// The facts to be deleted.
    package var facts: [ObjectID] = []
    /// The twins to be deleted, which no remaining facts name; sorted by address.
    package var twins: [Reference] = []
    /// The facts that no channel names and that are kept for their grace period, with the twins that they name.
    package var waitingFacts: [ObjectID] = []
    /// What the clients of other systems were told and need no more: paths in the origin, sorted.
    package var leftovers: [String] = []
    /// The objects to be deleted, which no remaining manifest names; sorted by address.
    public var objects: [Reference] = []
    /// The manifests that no channel names and that are kept for their grace period.
    package var waiting: [ObjectID] = []

    /// The bytes of the objects to be deleted.
    package var byteCount: Int64 { objects.reduce(0) { $0 + $1.byteCount } }
    /// The bytes of the twins to be deleted.
    package var twinByteCount: Int64 { twins.reduce(0) { $0 + $1.byteCount } }
    /// The bytes of the packs to be deleted.
    package var packByteCount: Int64 { packs.reduce(0) { $0 + $1.byteCount } }
}
