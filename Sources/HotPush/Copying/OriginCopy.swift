package import CASStore
package import Storage
import VersionTree

/// Copies an origin whole to a place that has none, from a directory or a bucket into a directory or a bucket.
///
/// The log goes along as it is, and with it the epochs in which files stand and the entries that pointers name: so
/// signatures stay right. All files that its entries need come first, then the entries, the first one last: until that
/// stands, the new place has no log and offers nothing. Then devices' copies.
///
/// Others may publish to the source meanwhile: what they have added is copied, too, until nothing is new. Only the
/// publishers of a directory that has no log wait: what they said would be in none. What the first entries of its log would
/// be is copied; nothing is written there. May be repeated after any interruption; what is there is not sent again.
package struct OriginCopy: Sendable {
    private let publisher: OriginPublisher
    private let source: DraftStorage
    private let scratch: String
    private let fileSystem: any FileSystem
    private var storage: any ObjectStorage { publisher.storage }

    /// - Parameters:
    ///   - publisher: writes to the place that gets the copy.
    ///   - source: where the origin is.
    ///   - scratch: a directory for files on their way from an origin; none is left there, whatever happens.
    package init(
        _ publisher: OriginPublisher, from source: any ObjectStorage, scratch: String,
        fileSystem: any FileSystem = POSIXFileSystem()
    ) {
        self.publisher = publisher
        self.source = DraftStorage(over: source)
        self.scratch = scratch
        self.fileSystem = fileSystem
    }

    /// A directory that is copied; nothing is written there.
    /// - Throws: `.noOrigin`; `.offeredElsewhere` for what a server keeps of an origin.
    package static func directory(_ path: String) throws(StoreError) -> any ObjectStorage {
        let options = PublisherOptions()
        return try OriginDirectory(path: path, options: options, fileSystem: POSIXFileSystem())
            .draft(isCreating: false)
    }

    /// What was copied.
    package struct Report: Sendable {
        /// Files that were sent, and their bytes.
        package var sent = FileFigures()
        /// Files that were there already.
        package var foundCount = 0
        package var channelCount = 0
        /// Channels whose pointer could not be written: devices see them after the next command.
        package var behind: [ChannelName] = []
        package var figures = StorageFigures()
    }

    /// Copies it.
    ///
    /// - Throws: `.noOrigin`; `.damagedOrigin` if something that the source offers is missing there, or is not what its
    ///   name says; `.badOrigin` if the other place has an origin of its own, or is the same; `.busy`; `.unsuitableStore`;
    ///   what reading and writing throws.
    package func run() throws(StoreError) -> Report {
        try checkIsElsewhere()
        // What was signed and is not any more, is so in what is copied.
        let log = OriginLog(storage, mayUnsign: true)
        // Publishers of older castrees write no log.
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
                // A prune may have deleted meanwhile what it keeps no more.
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

    /// Refuses a directory to be made in the one that is copied.
    /// - Throws: `.badOrigin`.
    package static func checkIsElsewhere(
        _ source: any ObjectStorage, _ path: String
    ) throws(StoreError) {
        let system = POSIXFileSystem()
        var path = path
        while path.count > 1, path.hasSuffix("/") { path.removeLast() }
        // What is wrong with the path, whoever makes the directory says.
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

    private static func checkIsElsewhere(
        _ one: String, _ other: String
    ) throws(StoreError) {
        guard one == other || one.hasPrefix(other + "/") || other.hasPrefix(one + "/") else {
            return
        }
        throw StoreError(
            .badOrigin,
            "\(one) and \(other) are one place, or one is within the other; choose another directory"
        )
    }

    /// What is copied, and its log: where none is, the one that would be begun there.
    private func begin() throws(StoreError) -> (state: OriginState, log: OriginLog) {
        let log = OriginLog(source)
        if let state = try log.state(from: 0) {
            try OriginPublisher(source).checkEnd(of: log, state)
            return (state, log)
        }
        let begun = try OriginPublisher(source).open(.stable, OriginLog(source)).state
        // As long as nothing changes there, a copy that goes on has the same entries.
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
            throw try OriginTraces(of: source).absence(namedBy: nil)
        }
        return (state, same)
    }

    /// How many entries of the log an earlier copy has brought, to the first one.
    /// - Throws: `.badOrigin` if what is there is another origin.
    private func copiedCount(
        of state: OriginState, _ from: OriginLog, in log: OriginLog
    ) throws(StoreError) -> Int64 {
        try OriginFoundation(publisher, log).checkMarker()
        if let number = try log.end(from: 0) {
            guard number <= state.number, try from.bytes(of: number) == log.bytes(of: number),
                try from.pastEntry(1) == log.pastEntry(1)
            else { throw occupied("a log of its own") }
            return number
        }
        guard try OriginTraces(of: storage).channels.isEmpty else { throw occupied("pointers") }
        // A copy that was interrupted has left them. As soon as the first one stands, they count: of another origin's
        // log they would offer what is in no log of this one.
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

    /// Sends all files that the entries need which the source keeps, up to that of a state.
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
            // A listing is a hint.
            let listed = survey.table.byteCount(of: key)
            let byteCount =
                if let listed { listed } else { try source.head(key.path)?.byteCount }
            guard let byteCount else { throw missing(key) }
            add(SizedKey(key: key, byteCount: byteCount))
        }
        if report.sent.count == 0 { report.foundCount = foundCount }
        // In a directory it says whose all this is.
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

    /// A file of a directory, if its bytes are right; `nil` where the source is none.
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

    /// A file of an origin, on this machine's disk under no name; on any thread.
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

    /// The versions of the trust that pointers name, each of them right.
    /// - Throws: `.damagedOrigin` if one is not: devices that are behind could not follow, here and there.
    private func trust(of state: OriginState) throws(StoreError) -> Set<Int64> {
        guard let chain = try TrustChain(of: state.pointers.values, in: source) else { return [] }
        if let (version, problem) = chain.problems().min(by: { $0.key < $1.key }) {
            throw .damagedOrigin(
                "\(OriginLayout.trust(version)) in \(source.place) is lost (\(problem ?? "it is not there")); "
                    + "\(chain.need); \(TrustFile.remedy)")
        }
        return Set(chain.versions)
    }

    /// Sends whose signatures count, all versions that devices may follow.
    private func sendTrust(_ named: Set<Int64>, of state: OriginState) throws(StoreError) {
        let pointers = state.pointers.values
        let origin = try source.trustedOrigin(saidBy: pointers)
        var versions = named
        try source.forEachFile(below: OriginLayout.trust + "/") { (file) throws(StoreError) in
            if let version = OriginLayout.trustVersion(of: file.key) { versions.insert(version) }
        }
        var last: TrustFile?
        for version in versions.sorted() {
            // One that no pointer names, and is none, no device follows.
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

    /// Sends the file that says that an origin stands there, as it is.
    private func sendMarker() throws(StoreError) {
        guard
            let bytes = try source.contents(OriginLayout.marker, limit: OriginMarker.byteCountMax)
        else { return }
        try OriginMarker.check(bytes, of: source.place)
        try storage.write(marker: bytes)
    }

    // MARK: The log

    /// Writes the entries after those that are there; of a log that begins, the first one last.
    private func sendEntries(after copied: Int64, through last: Int64) throws(StoreError) {
        guard copied < last else { return }
        if copied > 0 {
            // Each is the newest for a while, and so there is no gap.
            for number in copied + 1...last { try sendEntry(number) }
            return
        }
        try storage.inParallel(Int(last - 1)) { (index) throws(StoreError) in
            try sendEntry(Int64(index) + 2)
        }
        try sendEntry(1)
    }

    /// Writes an entry, on any thread.
    private func sendEntry(_ number: Int64) throws(StoreError) {
        if publisher.options.isInterrupted() { throw .publishingInterrupted }
        // As it is: also one that a stranger has written keeps its number.
        guard let bytes = try OriginLog(source).bytes(of: number) else {
            throw try OriginTraces(of: source).absence(namedBy: number)
        }
        let commit = try LogCommit(copying: bytes, number, OriginLog(storage), publisher.pause)
        guard try commit.carryOut() else { throw occupied("another log") }
    }
}

extension OriginPublisher {
    /// Writes what devices and the clients of other systems see of the log.
    /// - Returns: the channels of which it could not be written.
    @discardableResult
    func writeCopies(of state: OriginState, _ log: OriginLog) -> [ChannelName] {
        var behind: [ChannelName] = []
        for channel in state.pointers.keys.sorted() {
            do throws(StoreError) {
                try CopyWriting(log, pause).write(channel, of: state)
            } catch {
                // The entry stands; devices see it with the next command.
                behind.append(channel)
            }
        }
        return behind
    }
}
