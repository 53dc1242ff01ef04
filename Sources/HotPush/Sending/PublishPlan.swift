public import CASStore
import Storage

/// How a version is offered: in which channel, and to whom.
public struct ReleaseOffer: Sendable, Hashable {
    package var channel: ChannelName
    /// Which devices may have it; `nil` for all.
    package var rollout: Rollout?
    /// What an app must satisfy to run it; all of them.
    package var requirements: [Requirement]
    /// Whether an app must have it before it goes on.
    package var isMandatory: Bool

    /// Makes an offer; by default to everybody in the channel `stable`.
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

    /// The release of a target; the pointer gives it its sequence.
    func release(_ target: OfferedRelease.Target) -> OfferedRelease {
        // A roll-out to everybody is no roll-out.
        let isPartial = (rollout?.perMille ?? 1000) < 1000
        return OfferedRelease(
            target, sequence: 1, createdAt: 0, rollout: isPartial ? rollout : nil,
            requirements: requirements, isMandatory: isMandatory)
    }
}

/// What the clients of other systems need to know of a version's objects, and what is written for that.
package struct PlannedFacts: Sendable, Hashable {
    package var facts: ContentFacts
    /// Where they stand afterwards.
    package var address: ObjectID
    /// Whether their file is to be written.
    package var writesFile: Bool
    /// How many twins are to be written, and their bytes.
    package var twins = FileFigures()
}

/// What publishing a version writes: decided before anything is written, then carried out exactly.
public struct PublishPlan: Sendable, Hashable {
    /// The version as the pointer names it.
    package var version: PublishedVersion
    /// The objects to be written, sorted by address.
    public var objects: [Reference]
    /// How many objects of the version the origin already has.
    package var reusedObjectCount: Int
    /// Their bytes.
    package var reusedByteCount: Int64
    /// Whether the manifest is to be written.
    package var writesManifest: Bool
    /// The packs to be made; `nil` if there are none to be made.
    package var packing: PackReport?
    /// What the clients of other systems need of it; `nil` if none is told of the channel.
    package var facts: PlannedFacts?
    /// What the channel offers afterwards.
    package var pointer: ChannelPointer
    /// What it offers before; `nil` for a new channel.
    package var before: ChannelPointer?
    /// The sequence of what it offers first before; `nil` if it offers nothing.
    package var head: Int64?
    /// Whether the pointer is to be written; otherwise it already offers exactly this.
    package var writesPointer: Bool

    /// The bytes of the objects to be written.
    public var byteCount: Int64 { objects.reduce(0) { $0 + $1.byteCount } }

    private static func blocks(of byteCount: Int64) -> Int64 { (byteCount + 4_095) / 4_096 * 4_096 }

    /// So many bytes stay free for directories.
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
            before: before, head: before?.releases.first?.sequence, writesPointer: writesPointer)
    }

    /// - Throws: `.outOfSpace` unless objects and documents of so many bytes fit, and some more for directories.
    static func checkRoom(
        for files: [Int64], in storage: any ObjectStorage
    ) throws(StoreError) {
        guard let work = storage.work, !files.isEmpty else { return }
        let needed = files.reduce(Int64(0)) { $0.addingClamped(blocks(of: $1)) }
        let available = try work.freeByteCount()
        guard available < needed.addingClamped(reservedByteCount) else { return }
        throw StoreError(
            .outOfSpace,
            "not enough free space in \(printable(work.place)): \(sizeText(needed)) are needed, "
                + "\(sizeText(available)) are free, and \(sizeText(reservedByteCount)) must stay free; castree "
                + "prune deletes what no channel offers")
    }
}
