public import CASStore
import Storage
import VersionTree

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
            before: before, writesPointer: writesPointer)
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
                + "\(sizeText(available)) are free, and \(sizeText(reservedByteCount)) must stay free; castree prune deletes files that no channel offers"
        )
    }
}

/// A version on its way into a channel: what all need who have a part in that.
///
/// Belongs to one thread.
struct Publication {
    let manifest: Manifest
    let version: PublishedVersion
    let channel: ChannelName
    let versions: VersionStore
    /// The files that were seen in the origin.
    let seen: SeenFiles
    let watch: UploadWatch
    let options: PublisherOptions

    var storage: any ObjectStorage { seen.storage }
}

extension PublisherOptions {
    /// Whether files are looked for that the log says are there: on a disk that costs nothing.
    func looks(in storage: any ObjectStorage) -> Bool { verifiesObjects || storage.isOnDisk }
}

/// Looks at the end of the log now and then while files are sent, which may take hours.
///
/// An upload that is two epochs behind would be for nothing: what it has sent may not be named any more. Belongs to one
/// thread, but for ``isDue``.
final class UploadWatch {
    private let log: OriginLog
    private let now: @Sendable () -> Int64
    private var lookedAt: Int64

    /// Seconds between two looks.
    static let interval: Int64 = 600

    init(_ log: OriginLog, now: @escaping @Sendable () -> Int64) {
        self.log = log
        self.now = now
        lookedAt = now()
    }

    /// Says whether it is time to look; on any thread.
    var isDue: @Sendable () -> Bool {
        let (now, time) = (now, lookedAt + Self.interval)
        return { now() >= time }
    }

    /// The newest state, if it is time to look, and files for `state` are two epochs behind.
    func state(ahead state: OriginState) throws(StoreError) -> OriginState? {
        guard isDue() else { return nil }
        lookedAt = now()
        guard let newest = try log.state(from: state.number),
            newest.entry.epoch >= state.entry.epoch + 2
        else { return nil }
        return newest
    }
}

/// How a publisher works.
public struct PublisherOptions: Sendable {
    /// Whether what a call acknowledges survives a power cut.
    public var isDurable = true
    /// How long a publisher waits until another one has finished; then it fails with `.busy`.
    package var waitLimit: Duration = .seconds(600)
    /// Whether objects that the origin already has are read, and replaced if they are wrong;
    /// otherwise one of the right size is trusted.
    package var verifiesObjects = false
    /// What the devices take for which a version is offered; more is not published.
    package var limits = DeviceLimits()
    /// Whether an origin is begun in a directory that has other things in it.
    package var beginsAmongOthers = false
    /// Which packs are made, and how.
    package var packs = PackOptions()
    /// Who signs what is offered, and what may be built upon.
    package var sealing = PointerSealing()
    /// Whether something is taken back, which needs less of an origin than publishing to it.
    package var isWithdrawing = false
    /// Whether a log is begun where pointers stand in an origin and no log is: it is of a directory that was copied
    /// there, or gone.
    package var takesOver = false
    /// Who tells the clients of other systems what is offered; `nil` if nobody does.
    package var telling: (any OfferTelling)?
    /// Gets notices about what happens unasked, such as waiting.
    package var notice: @Sendable (String) -> Void = { _ in }
    /// Called now and then during long work; `true` stops it with `.interrupted`.
    public var isInterrupted: @Sendable () -> Bool = { false }
    /// Gets the progress of the writing, from several threads.
    package var progress: @Sendable (PublishProgress) -> Void = { _ in }
    /// Gets the number of keys that a listing of an origin has shown so far.
    package var listed: @Sendable (Int) -> Void = { _ in }

    /// Makes options: durable, waiting, trusting sizes, silent.
    public init() {}
}

/// How far a publisher has come.
package struct PublishProgress: Sendable, Hashable {
    /// What a publisher does at the moment.
    package enum Step: Sendable, Hashable {
        /// It reads what is there.
        case checking
        /// It makes packs.
        case packing
        /// It compresses objects for the clients of other systems.
        case deflating
        /// It writes the origin.
        case writing
    }

    /// Bytes written, or looked at to compress or to check them.
    package var bytes: Int64
    /// All bytes to be written, or to be looked at.
    package var bytesTotal: Int64
    /// What is done with them.
    package var step = Step.writing
}
