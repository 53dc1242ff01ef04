/// How a store is opened.
public struct StoreOptions: Sendable {
    /// Whether what a call acknowledges survives a power cut.
    ///
    /// It is off only if a user says so.
    public var isDurable: Bool
    /// Free space, in bytes, that new content must leave on the file system, so that collecting,
    /// switching and the rest of the machine go on.
    ///
    /// `nil`: one per cent, between 1 and 64 MiB.
    public var reservedByteCount: Int64?
    /// How long to wait for another process that has a lock of the store; then `.locked`.
    ///
    /// After two seconds a notice names the process.
    public var waitLimit: Duration
    /// Receives notices of what was done unasked, such as rebuilding the index.
    public var notice: @Sendable (String) -> Void
    /// Called now and then during long work; `true` stops it with `.interrupted`.
    public var isInterrupted: @Sendable () -> Bool

    /// Durable, with the default reserve, waiting for ten minutes, silent, never interrupted.
    public init(
        isDurable: Bool = true, reservedByteCount: Int64? = nil,
        waitLimit: Duration = .seconds(600),
        notice: @escaping @Sendable (String) -> Void = { _ in },
        isInterrupted: @escaping @Sendable () -> Bool = { false }
    ) {
        self.isDurable = isDurable
        self.reservedByteCount = reservedByteCount
        self.waitLimit = waitLimit
        self.notice = notice
        self.isInterrupted = isInterrupted
    }
}
