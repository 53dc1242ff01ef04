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
