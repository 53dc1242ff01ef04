public import CASStore
package import HotPush
package import Storage

/// What a command has done to an origin.
public struct OriginCommit: Sendable {
    package var entry: Int64
    package var epoch: Int64
    package var pointer: ChannelPointer
    /// Whether the channel already offered exactly this.
    package var isUnchanged: Bool
    /// Why devices see the previous release until the next command on the channel; `nil` if they see this one.
    package var pointerProblem: StoreError?
    /// What was written of a published version; `nil` for other commits.
    public var plan: PublishPlan?
    /// The objects of it that were written, sorted by address.
    public var objects: [Reference] { plan?.objects ?? [] }
    /// The size of these objects.
    public var byteCount: Int64 { plan?.byteCount ?? 0 }
    /// The packs that were made; `nil` if there were none to make.
    package var packing: PackReport?
    /// The objects fetched to make packs from them.
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

extension OriginCommit {
    /// The commit, if devices see it.
    /// - Throws: why the pointer could not be written; the commit stands, and the next command writes it.
    package func seen() throws(StoreError) -> OriginCommit {
        guard let pointerProblem else { return self }
        throw StoreError(
            pointerProblem.code,
            "channel \(pointer.channel) offers what it did before: entry \(entry) of the log is written, but the pointer could "
                + "not be; repeat the command, or give any other on the channel (\(pointerProblem.message))",
            cause: pointerProblem.cause)
    }
}
