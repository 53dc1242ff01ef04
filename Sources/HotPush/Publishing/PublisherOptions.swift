/// How a publisher works.
public struct PublisherOptions: Sendable {
    /// Whether what a call acknowledges survives a power cut.
    public var isDurable = true
    /// Whether a publisher waits until another one has finished, or fails with `.busy`.
    package var waitsForOthers = true
    /// Whether objects that the origin has already are read and replaced if they are wrong; otherwise
    /// one of the right size is trusted.
    package var verifiesObjects = false
    /// Where to say what is done without being asked, such as waiting.
    package var notice: @Sendable (String) -> Void = { _ in }
    /// Asked now and then during long work; `true` stops it with `.interrupted`.
    public var isInterrupted: @Sendable () -> Bool = { false }
    /// Told how far the writing is, from several threads.
    package var progress: @Sendable (PublishProgress) -> Void = { _ in }

    /// Makes options: durable, waiting, trusting sizes, silent.
    public init() {}
}

/// How far a publisher has come.
package struct PublishProgress: Sendable, Hashable {
    /// Bytes written.
    package var bytes: Int64
    /// Bytes to be written in all.
    package var bytesTotal: Int64
}
