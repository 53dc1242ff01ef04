/// What an update would cost, known before a byte is fetched.
public struct UpdateCost: Sendable, Hashable {
    /// Files to fetch.
    public var files = 0
    /// Their bytes; sizes that the format does not give count as 0.
    public var bytes: Int64 = 0
    /// Files whose content is already here.
    public var reusedFiles = 0
    /// Their bytes.
    public var reusedBytes: Int64 = 0

    /// Makes an empty cost.
    public init() {}
}

/// What a download did.
public struct DownloadFigures: Sendable, Hashable {
    /// Files fetched.
    public var files = 0
    /// Bytes that came over the network as content.
    public var bytes: Int64 = 0
    /// Bytes of content that was already here.
    public var reusedBytes: Int64 = 0
    /// Bytes that an earlier, interrupted download had left.
    public var resumedBytes: Int64 = 0
    /// Requests sent.
    public var requests = 0
    /// How long it took.
    public var milliseconds: Int64 = 0

    /// Makes empty figures.
    public init() {}
}

/// How far a download is.
public struct UpdateProgress: Sendable, Hashable {
    /// What it has done so far; what turns out to be wrong is subtracted again.
    public var figures = DownloadFigures()
    /// All files that must be fetched, without optional ones that the origin does not have.
    public var filesTotal = 0
    /// All bytes that must be fetched; files of unknown size count as they come.
    public var bytesTotal: Int64 = 0

    /// Makes a progress report.
    public init(figures: DownloadFigures, filesTotal: Int, bytesTotal: Int64) {
        self.figures = figures
        self.filesTotal = filesTotal
        self.bytesTotal = bytesTotal
    }

    init() {}

    /// Bytes that are here, including those of an earlier download; never more than ``bytesTotal``.
    package var bytes: Int64 { figures.bytes + figures.resumedBytes }
}
