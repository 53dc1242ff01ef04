/// What an update would cost, known before a byte is fetched.
public struct UpdateCost: Sendable, Hashable {
    /// Files to fetch.
    public var files = 0
    /// The bytes of ``files``; sizes that the format does not give count as 0.
    public var bytes: Int64 = 0
    /// Files whose content is already here.
    public var reusedFiles = 0
    /// The bytes of ``reusedFiles``.
    public var reusedBytes: Int64 = 0

    /// Creates an empty cost.
    public init() {}
}

/// What a download did.
public struct DownloadFigures: Sendable, Hashable {
    /// Files fetched.
    public var files = 0
    /// Content bytes that came over the network.
    public var bytes: Int64 = 0
    /// Bytes of content that was already here.
    public var reusedBytes: Int64 = 0
    /// Bytes that an earlier, interrupted download had left.
    public var resumedBytes: Int64 = 0
    /// Requests sent.
    public var requests = 0
    /// How long it took.
    public var milliseconds: Int64 = 0

    /// Creates empty figures.
    public init() {}
}

/// How far a download is.
public struct UpdateProgress: Sendable, Hashable {
    /// The figures so far; content that turns out to be wrong is subtracted again.
    public var figures = DownloadFigures()
    /// All files to fetch, without optional ones that the origin does not have.
    public var filesTotal = 0
    /// All bytes to fetch; files of unknown size count as they come.
    public var bytesTotal: Int64 = 0

    /// Creates a progress report.
    public init(figures: DownloadFigures, filesTotal: Int, bytesTotal: Int64) {
        self.figures = figures
        self.filesTotal = filesTotal
        self.bytesTotal = bytesTotal
    }

    init() {}

    /// Bytes that are here, including those of an earlier download; never more than ``bytesTotal``.
    package var bytes: Int64 { figures.bytes + figures.resumedBytes }
}
