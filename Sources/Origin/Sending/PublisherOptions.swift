import CASStore
package import HotPush
import Storage
import Synchronization

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
    public var signing = PointerSigning()
    /// Whether this is a withdrawal, which needs less of an origin than publishing to it.
    package var isWithdrawing = false
    /// Whether to begin a log in an origin with pointers but no log, which is a copied directory, or has lost its log.
    package var takesOver = false
    /// Announces to other systems' clients what is offered; `nil` for nobody.
    package var announcing: (any OfferAnnouncing)?
    /// Gets sentences for people about what went otherwise than expected, from several threads.
    public var notice: @Sendable (String) -> Void = { _ in }
    /// Polled during long work; `true` stops it with `.interrupted`.
    ///
    /// By default ``CASStore/Blocking/isCancelled``.
    public var isInterrupted: @Sendable () -> Bool = { Blocking.isCancelled }
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

    /// Whether to look for files that the log says exist, which costs nothing on a disk.
    func looks(in storage: any ObjectStorage) -> Bool { verifiesObjects || storage.isOnDisk }

    /// How to wait for a lock that another publisher holds.
    var waiting: StoreOptions {
        StoreOptions(waitLimit: waitLimit, notice: notice, isInterrupted: isInterrupted)
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
        /// It makes patches for the clients of other systems.
        case patching
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
