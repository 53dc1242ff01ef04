package import CASStore
package import Storage
import VersionTree

/// Copies an origin that is a directory whole into a bucket that has none: the first step from one to the other.
///
/// Files first, then entry 1 of the log, then the pointers. Until the entry stands, the bucket offers nothing, and the
/// call may be repeated: what is there is not sent again. Publishers of the directory wait meanwhile: what they said would
/// be in no log.
package struct OriginCopy: Sendable {
    private let publisher: BucketPublisher
    private let path: String
    private let fileSystem: any FileSystem
    private var bucket: any ObjectStorage { publisher.bucket }

    /// - Parameter path: the origin's directory.
    package init(
        _ publisher: BucketPublisher, from path: String,
        fileSystem: any FileSystem = POSIXFileSystem()
    ) {
        self.publisher = publisher
        self.path = path
        self.fileSystem = fileSystem
    }

    /// What was copied.
    package struct Report: Sendable {
        /// Files that were sent, and their bytes.
        package var sent = (count: 0, byteCount: Int64(0))
        /// Files that were there already.
        package var foundCount = 0
        /// How many channels there are.
        package var channelCount = 0
        /// Channels whose pointer could not be written: devices see them after the next command.
        package var behind: [ChannelName] = []
        /// What it took.
        package var figures = StorageFigures()
    }

    /// Copies it.
    ///
    /// - Throws: `.noOrigin`; `.offeredElsewhere` if the directory is itself a copy of a bucket; `.damagedOrigin` if
    ///   something that it offers is missing, or a file is not what its name says; `.badOrigin` if the bucket has an
    ///   origin already; `.unsuitableStore`; what a bucket throws.
    package func run() throws(StoreError) -> Report {
        let looking = try OriginWriter(lookingAt: path, publisher.options, fileSystem)
        defer { withExtendedLifetime(looking) {} }
        let root = try fileSystem.open(
            POSIXFileSystem.workingDirectory, path, .directoryFollowingLinks, mode: 0)
        let origin = try DirectoryOrigin(path, fileSystem: fileSystem)
        let pointers = try origin.pointers()
        let clients = try CopiedClients(root.raw, path, fileSystem)
        let log = OriginLog(bucket)
        var report = Report(channelCount: pointers.count)
        if let state = try log.state(from: 0) {
            // A run that was killed after its entry: only copies may lack, and what clients were told.
            guard state.pointers == pointers else { throw occupied("a log") }
            return try finish(state, log, clients, report)
        }
        let traces = try OriginTraces(of: bucket)
        guard traces.loss(namedBy: nil) == nil else {
            throw occupied("pointers, or files of a log that is gone,")
        }
        let files = try OriginFileList(root.raw, path, fileSystem)
        try files.check(pointers, origin)
        let foundation = OriginFoundation(publisher, log)
        try foundation.checkMarker()
        let condition = try StoreProbe(bucket).run()
        var first = try foundation.entry(condition, Array(pointers.values))
        _ = try clients.add(to: &first, 1, upon: nil, log)
        // What could not be offered in the end is not sent.
        try LogCommit.check(first, 1, of: bucket)
        let standing = try self.standing()
        let lacking = files.all.filter { standing[$0.key] != $0.byteCount }
        report.foundCount = files.all.count - lacking.count
        try send(lacking, root.raw)
        try sendTrust(root.raw)
        report.sent = (lacking.count, lacking.byteCount)
        let state = try foundation.found(first)
        guard let state, state.pointers == pointers else { throw occupied("a log") }
        return try finish(state, log, clients, report)
    }

    /// Writes entries until the log has all that the clients of other systems were told.
    private func tell(
        _ clients: CopiedClients, upon state: OriginState, _ log: OriginLog
    ) throws(StoreError) -> OriginState {
        var state = state
        while true {
            var entry = try LogEntry(after: state, .enable, now: publisher.now())
            guard let isPart = try clients.add(to: &entry, state.number + 1, upon: state.entry, log)
            else { throw occupied("a log that tells clients something else") }
            guard isPart else { return state }
            guard let newer = try publisher.commit(entry, upon: state, log) else {
                throw occupied("a log to which somebody else writes")
            }
            state = newer
        }
    }

    private func finish(
        _ state: OriginState, _ log: OriginLog, _ clients: CopiedClients, _ report: Report
    ) throws(StoreError) -> Report {
        let state = try tell(clients, upon: state, log)
        var report = report
        report.behind = publisher.writeCopies(of: state, log)
        report.figures = bucket.figures
        return report
    }

    private func occupied(_ what: String) -> StoreError { Self.occupied(bucket, what) }

    /// The refusal to copy over something of an origin of its own.
    static func occupied(_ bucket: any ObjectStorage, _ what: String) -> StoreError {
        StoreError(
            .badOrigin,
            "\(bucket.place) has \(what) already: it is an origin of its own, and nothing is copied over it; "
                + "choose an empty prefix, or publish to it")
    }

    /// What the bucket has already, and its sizes.
    private func standing() throws(StoreError) -> [BucketKey: Int64] {
        var standing: [BucketKey: Int64] = [:]
        for kind in OriginFileList.kinds {
            try bucket.listAll(kind + "/") { (page) throws(StoreError) in
                for file in page.files {
                    if let key = BucketKey(path: file.key) { standing[key] = file.byteCount }
                }
                return true
            }
        }
        return standing
    }

    /// Sends whose signatures count, all versions: devices that are behind follow them.
    private func sendTrust(_ root: Int32) throws(StoreError) {
        guard let trust = try fileSystem.openIfPresent(root, OriginLayout.trust, .directory) else {
            return
        }
        for name in try fileSystem.names(in: trust.raw).sorted() {
            guard let version = OriginLayout.trustVersion(ofFile: name) else { continue }
            let bytes = try fileSystem.contents(
                trust.raw, name, limit: TrustFile.byteCountMax)
            try publisher.write(TrustFile(parsing: bytes, version: version))
        }
    }

    private func send(_ files: [SizedKey], _ root: Int32) throws(StoreError) {
        let (fileSystem, path) = (fileSystem, path)
        let sending = FileSending(of: files.byteCount, SeenFiles(in: bucket), publisher.options)
        try sending.run(files) { (wanted) throws(StoreError) in
            let file = try fileSystem.openBeneath(root, wanted.key.path, .reading)
            var checker = try ObjectChecker()
            guard try checker.hash(file.raw, fileSystem).address == wanted.key.address else {
                throw OriginFileList.damaged(path, "\(wanted.key.path) is not what its name says")
            }
            return file
        }
    }
}

extension BucketPublisher {
    /// Writes what devices and the clients of other systems see of a log that was copied.
    /// - Returns: the channels of which it could not be written.
    func writeCopies(of state: OriginState, _ log: OriginLog) -> [ChannelName] {
        var behind: [ChannelName] = []
        for channel in state.pointers.keys.sorted() {
            do throws(StoreError) {
                try PointerCopies(log, pause).write(channel, of: state)
            } catch {
                // The entry stands; devices see it with the next command.
                behind.append(channel)
            }
        }
        return behind
    }
}
