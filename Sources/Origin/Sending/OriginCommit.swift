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

package struct PlannedFacts: Sendable, Hashable {
    package var facts: ContentFacts
    package var address: ObjectID
    package var writesFile: Bool
    package var deflatedCopies = FileFigures()
}

/// What publishing a version writes, decided before anything is written and then carried out exactly.
public struct PublishPlan: Sendable, Hashable {
    package var version: PublishedVersion
    /// The objects to be written, sorted by address.
    public var objects: [Reference]
    /// How many objects of the version the origin has already.
    public var reusedObjectCount: Int
    /// Their size.
    public var reusedByteCount: Int64
    /// Whether to write the manifest, which the origin does not have.
    public var writesManifest: Bool
    package var packing: PackReport?
    /// What other systems' clients need of it; `nil` if the channel is announced to none.
    package var facts: PlannedFacts?
    /// What the channel offers afterwards.
    package var pointer: ChannelPointer
    /// What it offers before; `nil` for a new channel.
    package var before: ChannelPointer?
    /// Whether to write the pointer; otherwise it already offers exactly this.
    public var writesPointer: Bool

    /// The size of the objects to be written.
    public var byteCount: Int64 { objects.reduce(0) { $0 + $1.byteCount } }

    private static func blocks(of byteCount: Int64) -> Int64 { (byteCount + 4_095) / 4_096 * 4_096 }

    /// The space kept free for directories.
    static let reservedByteCount: Int64 = 1 << 20
}

extension PublishPlan {
    init(
        _ version: PublishedVersion, sending objects: [Reference], of upload: ReleaseUpload,
        writesManifest: Bool, packing: PackReport?, facts: PlannedFacts?, pointer: ChannelPointer,
        before: ChannelPointer?, writesPointer: Bool
    ) {
        self.init(
            version: version, objects: objects,
            reusedObjectCount: upload.objects.count - objects.count,
            reusedByteCount: upload.byteCount - objects.reduce(0) { $0 + $1.byteCount },
            writesManifest: writesManifest, packing: packing, facts: facts, pointer: pointer,
            before: before, writesPointer: writesPointer)
    }

    /// - Throws: `.outOfSpace` unless files of these sizes fit, and some more for directories.
    static func checkSpace(for files: [Int64], in storage: any ObjectStorage) throws(StoreError) {
        guard let work = storage.work, !files.isEmpty else { return }
        let needed = files.reduce(Int64(0)) { $0.addingClamped(blocks(of: $1)) }
        let available = try work.freeByteCount()
        guard available < needed.addingClamped(reservedByteCount) else { return }
        throw StoreError(
            .outOfSpace,
            "not enough free space in \(printable(work.place)): \(sizeText(needed)) are needed, "
                + "\(sizeText(available)) are free, and \(sizeText(reservedByteCount)) must stay free; castree prune deletes files that no channel offers"
        )
    }
}
