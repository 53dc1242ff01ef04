public import CASStore
package import Storage

/// What a command has made of an origin.
public struct OriginCommit: Sendable {
    /// The number of the log's newest entry.
    package var entry: Int64
    /// Where new files are written.
    package var epoch: Int64
    /// What the channel offers.
    package var pointer: ChannelPointer
    /// Whether the channel offered exactly this before.
    package var isUnchanged: Bool
    /// Why devices see the release before it until the next command on the channel; `nil` if they see this one.
    package var pointerProblem: StoreError?
    /// What was written of a version that was published; `nil` for other commits.
    public var plan: PublishPlan?
    /// The objects of it that were written, sorted by address.
    public var objects: [Reference] { plan?.objects ?? [] }
    /// Their bytes.
    public var byteCount: Int64 { plan?.byteCount ?? 0 }
    /// The packs that were made; `nil` if there were none to be made.
    package var packing: PackReport?
    /// What was fetched to make packs from it: how many objects, and their bytes.
    package var fetched = (count: 0, byteCount: Int64(0))
    package var figures = StorageFigures()

    /// - Parameter before: what the channel offered before.
    func with(
        _ upload: ReleaseUpload, _ facts: FactsUpload, _ packing: ReleasePacking,
        upon before: ChannelPointer?
    ) -> OriginCommit {
        var commit = self
        commit.packing = packing.report
        commit.fetched = packing.fetched
        commit.plan = PublishPlan(
            packing.work.version, sending: upload.sent.sorted { $0.address < $1.address },
            of: upload, writesManifest: upload.hasSentManifest, packing: commit.packing,
            facts: facts.placed, pointer: pointer, before: before, writesPointer: !isUnchanged)
        return commit
    }
}
