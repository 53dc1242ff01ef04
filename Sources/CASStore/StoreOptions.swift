/// Options for opening a store.
public struct StoreOptions: Sendable {
    /// Whether what a call acknowledges survives a power cut.
    ///
    /// Off only if a user asks for it.
    public var isDurable: Bool
    /// Free space, in bytes, that new content must leave on the file system, so that collecting, switching and other
    /// programs continue to work.
    ///
    /// `nil` means one per cent, between 1 and 64 MiB.
    public var reservedByteCount: Int64?
    /// How long to wait for a lock of the store before throwing `.locked`.
    ///
    /// After two seconds a notice names the process that holds it.
    public var waitLimit: Duration
    /// Receives notices of automatic actions, such as rebuilding the index.
    public var notice: @Sendable (String) -> Void
    /// Polled during long work; `true` stops it with `.interrupted`.
    ///
    /// By default ``Blocking/isCancelled``.
    public var isInterrupted: @Sendable () -> Bool

    /// Durable, with the default reserve, waiting for ten minutes, silent.
    public init(
        isDurable: Bool = true, reservedByteCount: Int64? = nil,
        waitLimit: Duration = .seconds(600),
        notice: @escaping @Sendable (String) -> Void = { _ in },
        isInterrupted: @escaping @Sendable () -> Bool = { Blocking.isCancelled }
    ) {
        self.isDurable = isDurable
        self.reservedByteCount = reservedByteCount
        self.waitLimit = waitLimit
        self.notice = notice
        self.isInterrupted = isInterrupted
    }

    /// The same, waiting no longer than this for a lock.
    package func waiting(atMost limit: Duration) -> StoreOptions {
        var options = self
        options.waitLimit = min(limit, waitLimit)
        return options
    }
}
