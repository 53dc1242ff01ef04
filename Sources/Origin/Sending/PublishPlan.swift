public import CASStore
public import HotPush
import Storage
import Synchronization
import VersionTree

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
    func release(_ target: OfferedRelease.Target) -> OfferedRelease {
        // A roll-out to everybody is no roll-out.
        let isPartial = (rollout?.perMille ?? 1000) < 1000
        return OfferedRelease(
            target, sequence: 1, createdAt: 0, rollout: isPartial ? rollout : nil,
            requirements: requirements, isMandatory: isMandatory)
    }
}

package struct PlannedFacts: Sendable, Hashable {
    package var facts: ContentFacts
    package var address: ObjectID
    package var writesFile: Bool
    package var twins = FileFigures()
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
    /// What other systems' clients need of it; `nil` if none is told of the channel.
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

/// A version on its way into a channel, with what all parts of publishing need; belongs to one thread.
struct Publication {
    let manifest: Manifest
    let version: PublishedVersion
    let channel: ChannelName
    let versions: VersionStore
    let seen: SeenFiles
    let watch: UploadWatch
    let options: PublisherOptions

    var storage: any ObjectStorage { seen.storage }
}

extension PublisherOptions {
    /// Whether to look for files that the log says exist, which costs nothing on a disk.
    func looks(in storage: any ObjectStorage) -> Bool { verifiesObjects || storage.isOnDisk }
}

/// Looks at the end of the log from time to time during an upload, which may take hours.
///
/// If it is two epochs behind, its files may not be named any more. Belongs to one thread, except ``isDue``.
final class UploadWatch {
    private let log: OriginLog
    private let now: @Sendable () -> Int64
    private var lookedAt: Int64

    static let interval: Int64 = 600

    init(_ log: OriginLog, now: @escaping @Sendable () -> Int64) {
        self.log = log
        self.now = now
        lookedAt = now()
    }

    /// Whether it is time to look; on any thread.
    var isDue: @Sendable () -> Bool {
        let (now, time) = (now, lookedAt + Self.interval)
        return { now() >= time }
    }

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
    /// How long a publisher waits for another one before it fails with `.busy`.
    public var waitLimit: Duration = .seconds(600)
    /// Whether to read objects that the origin already has, and replace wrong ones; otherwise the right size suffices.
    public var verifiesObjects = false
    /// The limits of the devices for which a version is offered; more is not published.
    package var limits = DeviceLimits()
    /// Whether to begin an origin in a directory that has other files.
    package var beginsAmongOthers = false
    /// Which packs are made, and how.
    public var packs = PackOptions()
    /// Who signs offers, and which pointers may be built upon; by default nobody signs.
    public var sealing = PointerSealing()
    /// Whether this is a withdrawal, which needs less of an origin than publishing to it.
    package var isWithdrawing = false
    /// Whether to begin a log in an origin with pointers but no log, which is a copied directory, or has lost its log.
    package var takesOver = false
    /// Tells other systems' clients what is offered; `nil` for nobody.
    package var telling: (any OfferTelling)?
    /// Gets sentences for people about what went otherwise than expected, from several threads.
    public var notice: @Sendable (String) -> Void = { _ in }
    /// Polled during long work; `true` stops it with `.interrupted`.
    public var isInterrupted: @Sendable () -> Bool = { false }
    /// Gets the progress of the writing, from several threads.
    public var progress: @Sendable (PublishProgress) -> Void = { _ in }
    /// Gets the number of keys listed so far.
    package var listed: @Sendable (Int) -> Void = { _ in }

    /// Creates options: durable, waiting, trusting sizes, silent.
    public init() {}

    /// Says each sentence once: what loses a race is made anew.
    package static func once(
        _ say: @escaping @Sendable (String) -> Void
    ) -> @Sendable (String) -> Void {
        let said = Mutex<Set<String>>([])
        return { sentence in
            if said.withLock({ $0.insert(sentence).inserted }) { say(sentence) }
        }
    }
}

/// How far publishing a version is.
public struct PublishProgress: Sendable, Hashable {
    /// What a publisher is doing.
    public enum Step: Sendable, Hashable {
        /// It reads what is there.
        case checking
        /// It makes packs.
        case packing
        /// It compresses files for the clients of other systems.
        case deflating
        /// It writes objects, packs and documents.
        case writing
    }

    /// Bytes written, or read to compress or check them.
    public var bytes: Int64
    /// The bytes of the whole step.
    public var bytesTotal: Int64
    /// What they are written or read for.
    public var step = Step.writing
}
