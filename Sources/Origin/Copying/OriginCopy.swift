package import CASStore
package import HotPush
package import Storage
import VersionTree

/// Copies a whole origin to a place that has none, between directories and buckets.
///
/// The log is copied verbatim, with its epochs and the entries that pointers name, so signatures stay valid. First
/// come all files that its entries need, then the entries, the first one last: until that exists, the new place has
/// no log and offers nothing. Devices' copies follow.
///
/// Others may publish to the source in the meantime; the copy continues until nothing is new. Publishers of a
/// directory without a log must wait, because no log would have what they add. The first entries of its future log
/// are written to the copy and not to the source. After an interruption, a repeated copy sends only what is missing.
package struct OriginCopy: Sendable {
    private let publisher: OriginPublisher
    private let source: DraftStorage
    private let scratch: String
    private let fileSystem: any FileSystem
    private var storage: any ObjectStorage { publisher.storage }

    /// - Parameters:
    ///   - publisher: writes to the place that gets the copy.
    ///   - scratch: a directory for files in transit from an origin; nothing stays there, whatever happens.
    package init(
        _ publisher: OriginPublisher, from source: any ObjectStorage, scratch: String,
        fileSystem: any FileSystem = POSIXFileSystem()
    ) {
        self.publisher = publisher
        self.source = DraftStorage(over: source)
        self.scratch = scratch
        self.fileSystem = fileSystem
    }

    /// The directory at a path as a source; nothing is written there.
    /// - Throws: `.noOrigin`; `.offeredElsewhere` for what a server keeps of an origin.
    package static func directory(_ path: String) throws(StoreError) -> any ObjectStorage {
        let options = PublisherOptions()
        return try OriginDirectory(path: path, options: options, fileSystem: POSIXFileSystem())
            .draft(isCreating: false)
    }

    package struct Report: Sendable {
        package var sent = FileFigures()
        /// Files that the place already had.
        package var foundCount = 0
        package var channelCount = 0
        /// Channels whose pointer could not be written; the next command makes devices see them.
        package var behind: [ChannelName] = []
        package var figures = StorageFigures()
    }

    /// - Throws: `.noOrigin`; `.damagedOrigin` if something that the source offers is missing there or does not match
    ///   its name; `.badOrigin` if the other place has an origin of its own, or is the same; `.busy`;
    ///   `.unsuitableStore`; what reading and writing throws.
    package func run() throws(StoreError) -> Report {
        try checkIsElsewhere()
        // The copy keeps what the source says, including channels that were signed once.
        let log = OriginLog(storage, mayUnsign: true)
        let lock =
            try OriginLog(source).state(from: 0) == nil
            ? OriginLock(source, publisher.options, .looking) : nil
        defer { withExtendedLifetime(lock) {} }
        var (state, from) = try begin()
        var copied = try copiedCount(of: state, from, in: log)
        var report = Report()
        while true {
            let trust = try trust(of: state)
            do throws(StoreError) {
                try sendFiles(of: state, from, log, &report)
            } catch {
                // A prune may have deleted a file that newer entries do not keep.
                guard error.code == .damagedOrigin,
                    let newer = try from.state(from: state.number), newer.number > state.number
                else { throw error }
                state = newer
                continue
            }
            try sendTrust(trust, of: state)
            try sendEntries(after: copied, through: state.number)
            copied = state.number
            guard let newer = try from.state(from: copied), newer.number > copied else { break }
            state = newer
        }
        guard let there = try log.state(from: copied) else { throw occupied("a log") }
        report.channelCount = there.pointers.count
        report.behind = publisher.writeCopies(of: there, log)
        try ChannelListCopy(of: there, in: storage).bringUp()
        try storage.barrier()
        report.figures = storage.figures
        return report
    }

    /// Refuses to create a directory inside the one that is copied.
    /// - Throws: `.badOrigin`.
    package static func checkIsElsewhere(
        _ source: any ObjectStorage, _ path: String
    ) throws(StoreError) {
        let system = POSIXFileSystem()
        var path = path
        while path.count > 1, path.hasSuffix("/") { path.removeLast() }
        // Whoever creates the directory reports a bad path.
        guard source.work != nil, let above = try? system.openDirectory(holding: path)
        else { return }
        try checkIsElsewhere(
            source.identity,
            printable("\(system.path(of: above.raw))/\(system.fileName(in: path))", .max))
    }

    /// - Throws: `.badOrigin` for a directory that is copied into itself.
    private func checkIsElsewhere() throws(StoreError) {
        guard source.work != nil, storage.work != nil else { return }
        try Self.checkIsElsewhere(source.identity, storage.identity)
    }

    private static func checkIsElsewhere(_ one: String, _ other: String) throws(StoreError) {
        guard one == other || one.hasPrefix(other + "/") || other.hasPrefix(one + "/") else {
            return
        }
        throw StoreError(
            .badOrigin,
            "\(one) and \(other) are one place, or one is within the other; choose another directory"
        )
    }

    /// The state to copy and its log or, without one, the log that would be begun there.
    private func begin() throws(StoreError) -> (state: OriginState, log: OriginLog) {
        let log = OriginLog(source)
        if let state = try log.state(from: 0) {
            try OriginPublisher(source).checkEnd(of: log, state)
            return (state, log)
        }
        let begun = try OriginPublisher(source).open(.stable, OriginLog(source)).state
        // A resumed copy must make the same entries as long as nothing changes there.
        for number in 1...begun.number {
            guard var entry = try OriginLog(source).entry(number) else { continue }
            entry.createdAt = begun.pointers.values.map(\.createdAt).max() ?? 0
            entry.author = String(repeating: "0", count: 32)
            let content = try ObjectID(of: entry.serialized()).description
            entry.author = String(content.prefix(32))
            _ = try source.put(
                OriginLayout.logEntry(number), StorageBody(entry.serialized()), .logEntry)
        }
        let same = OriginLog(source)
        guard let state = try same.state(from: begun.number) else {
            throw try OriginTraces(of: source).missingLog(namedBy: nil)
        }
        return (state, same)
    }

    /// How many entries an earlier copy has brought, counted from the first.
    /// - Throws: `.badOrigin` if the place holds another origin.
    private func copiedCount(
        of state: OriginState, _ from: OriginLog, in log: OriginLog
    ) throws(StoreError) -> Int64 {
        try GenesisEntry(publisher, log).checkMarker()
        if let number = try log.end(from: 0) {
            guard number <= state.number, try from.bytes(of: number) == log.bytes(of: number),
                try from.pastEntry(1) == log.pastEntry(1)
            else { throw occupied("a log of its own") }
            return number
        }
        guard try OriginTraces(of: storage).channels.isEmpty else { throw occupied("pointers") }
        // Entries left by an interrupted copy count as soon as the first one exists. Those of another origin's log
        // would offer releases that are in no log of this one.
        var newest: Int64?
        try storage.forEachFile(below: OriginLayout.log + "/") { (file) throws(StoreError) in
            newest = OriginLayout.number(ofLogEntry: file.key) ?? newest
        }
        if let number = newest {
            guard number <= state.number, try from.bytes(of: number) == log.bytes(of: number) else {
                throw occupied(
                    "entries of another log",
                    "a copy of another origin was cut short there; repeat that one, or choose another place"
                )
            }
        }
        _ = try storage.probe()
        return 0
    }

    private func occupied(
        _ what: String,
        _ advice: String =
            "it is an origin of its own, and nothing is copied over it; choose another place, or publish to it"
    ) -> StoreError {
        StoreError(.badOrigin, "\(storage.place) has \(what) already: \(advice)")
    }

    // MARK: Files

    /// Sends all files needed by entries that the source keeps, up to a state's.
    private func sendFiles(
        of state: OriginState, _ from: OriginLog, _ log: OriginLog,
        _ report: inout Report
    ) throws(StoreError) {
        let survey = try OriginSurvey(source, from, isStrict: true).run()
        let live = try survey.live(keptFrom: state.entry.keptFrom, upTo: state)
        let there = try OriginSurvey(storage, log).run().table
        var lacking: [SizedKey] = []
        var foundCount = 0
        func add(_ file: SizedKey) {
            if there.byteCount(of: file.key) == file.byteCount {
                foundCount += 1
            } else {
                lacking.append(file)
            }
        }
        for position in survey.table.positions where live.contains(position) {
            add(survey.table[position])
        }
        for key in live.others.sorted(by: { $0.path < $1.path }) {
            // A listing is only a hint.
            let listed = survey.table.byteCount(of: key)
            let byteCount = if let listed { listed } else { try source.head(key.path)?.byteCount }
            guard let byteCount else { throw missing(key) }
            add(SizedKey(key: key, byteCount: byteCount))
        }
        if report.sent.count == 0 { report.foundCount = foundCount }
        // In a directory, the marker claims everything else.
        try sendMarker()
        let directory = try fileSystem.open(
            POSIXFileSystem.workingDirectory, scratch, .directoryFollowingLinks, mode: 0)
        let raw = directory.raw
        let sent = try SeenFiles(in: storage).send(lacking, publisher.options) {
            (wanted) throws(StoreError) in
            if let file = try opened(wanted) { return file }
            return try fetched(wanted, into: raw)
        }
        report.sent.count += sent.count
        report.sent.byteCount += sent.byteCount
    }

    /// Opens a file of a source directory if its bytes are right; `nil` if the source is a bucket.
    private func opened(_ wanted: SizedKey) throws(StoreError) -> Descriptor? {
        guard let place = source.work else { return nil }
        let there = try allowing(
            [.notFound], try place.fileSystem.openBeneath(place.root, wanted.key.path, .reading))
        guard let there else { throw missing(wanted.key) }
        var checker = try ObjectChecker()
        guard try checker.hash(there.raw, place.fileSystem).address == wanted.key.address else {
            throw damaged(wanted.key)
        }
        return there
    }

    /// Fetches a file into an unlinked one on this machine's disk; on any thread.
    private func fetched(_ wanted: SizedKey, into directory: Int32) throws(StoreError) -> Descriptor
    {
        let name = ".castree-\(try randomToken())"
        let file = try fileSystem.open(directory, name, .creating, mode: 0o600)
        try fileSystem.remove(directory, name, directory: false)
        let found = try source.address(of: wanted.key.path, limit: wanted.byteCount) {
            (piece) throws(StoreError) in try fileSystem.write(file.raw, piece)
        }
        guard let found else { throw missing(wanted.key) }
        guard found == wanted.key.address else { throw damaged(wanted.key) }
        return file
    }

    private func damaged(_ key: OriginKey) -> StoreError {
        .damagedOrigin(
            "\(key.path) in \(source.place) is not what its name says; castree fsck --repair repairs it there",
            object: key.address)
    }

    private func missing(_ key: OriginKey) -> StoreError {
        .damagedOrigin(
            "\(key.path) is not in \(source.place), and something that is offered needs it; castree fsck --repair repairs it there",
            object: key.address)
    }

    /// The versions of the trust that pointers name, all of them sound.
    /// - Throws: `.damagedOrigin` if one is not: devices that are behind could follow neither here nor there.
    private func trust(of state: OriginState) throws(StoreError) -> Set<Int64> {
        guard let chain = try TrustChain(of: state.pointers.values, in: source) else { return [] }
        if let (version, problem) = chain.problems().min(by: { $0.key < $1.key }) {
            throw .damagedOrigin(
                "\(OriginLayout.trust(version)) in \(source.place) is lost (\(problem ?? "it is not there")); "
                    + "\(chain.need); \(TrustFile.remedy)")
        }
        return Set(chain.versions)
    }

    private func sendTrust(_ named: Set<Int64>, of state: OriginState) throws(StoreError) {
        let pointers = state.pointers.values
        let origin = try source.trustedOrigin(saidBy: pointers)
        var versions = named
        try source.forEachFile(below: OriginLayout.trust + "/") { (file) throws(StoreError) in
            if let version = OriginLayout.trustVersion(of: file.key) { versions.insert(version) }
        }
        var last: TrustFile?
        for version in versions.sorted() {
            // No device follows an invalid version that no pointer names.
            let file = try TrustFile.ifSound(try trust(version))
            let follows = origin.flatMap { file?.follows(last, pointers, of: $0) } ?? false
            guard let file, named.contains(version) || follows else { continue }
            try publisher.write(file)
            last = file
        }
    }

    private func trust(_ version: Int64) throws(StoreError) -> TrustFile {
        if let file = try source.trust(version) { return file }
        throw .damagedOrigin(
            "\(OriginLayout.trust(version)) is listed in \(source.place), and is not there; repeat the copy"
        )
    }

    private func sendMarker() throws(StoreError) {
        guard
            let bytes = try source.contents(OriginLayout.marker, limit: OriginMarker.byteCountMax)
        else { return }
        try OriginMarker.check(bytes, of: source.place)
        try storage.write(marker: bytes)
    }

    // MARK: The log

    /// Writes the missing entries; those of a new log with the first one last.
    private func sendEntries(after copied: Int64, through last: Int64) throws(StoreError) {
        guard copied < last else { return }
        if copied > 0 {
            // In ascending order, so that there is never a gap.
            for number in copied + 1...last { try sendEntry(number) }
            return
        }
        try storage.inParallel(Int(last - 1)) { (index) throws(StoreError) in
            try sendEntry(Int64(index) + 2)
        }
        try sendEntry(1)
    }

    private func sendEntry(_ number: Int64) throws(StoreError) {
        if publisher.options.isInterrupted() { throw .publishingInterrupted }
        // Verbatim: a stranger's entry keeps its number, too.
        guard let bytes = try OriginLog(source).bytes(of: number) else {
            throw try OriginTraces(of: source).missingLog(namedBy: number)
        }
        let commit = try LogCommit(copying: bytes, number, OriginLog(storage), publisher.pause)
        guard try commit.carryOut() else { throw occupied("another log") }
    }
}

extension OriginPublisher {
    /// Writes the copies of the log that devices and other systems' clients see.
    /// - Parameter channels: whose; `nil` for all.
    /// - Returns: the channels whose copy could not be written.
    @discardableResult
    func writeCopies(
        of state: OriginState, _ log: OriginLog, _ channels: [ChannelName]? = nil
    ) -> [ChannelName] {
        var behind: [ChannelName] = []
        for channel in channels ?? state.pointers.keys.sorted() {
            do throws(StoreError) {
                try CopyWriting(log, pause).write(channel, of: state)
            } catch {
                // The entry exists; devices see it after the next command.
                behind.append(channel)
            }
        }
        return behind
    }
}
