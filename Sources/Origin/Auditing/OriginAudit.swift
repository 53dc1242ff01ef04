package import CASStore
import HotPush
package import Storage
import Synchronization
import VersionTree

/// Checks an origin while others use it, and repairs it.
///
/// It checks that the log has no gaps and only valid entries, that devices' pointers match the log, and that the
/// releases which the newest entry keeps (without a log: which the pointers offer) have every file in its size. With
/// ``CheckOptions/isDeep`` it also compares the bytes. It deletes nothing, and belongs to one thread.
package final class OriginAudit {
    let storage: PassingStorage
    let log: OriginLog
    let tags = TagMeaning()
    let options: OriginAuditOptions
    /// `nil` to repair nothing.
    let mender: OriginMender?
    var report = OriginAuditReport()
    var lost: Set<OriginKey> { Set(report.findings.compactMap(\.lost)) }
    /// The waits left, in milliseconds, for a publisher to finish the copies of the log that it has just read.
    private var retryDelays = [10, 20, 40, 80, 160, 320][...]
    /// Documents that a repair has written or failed to write; an earlier listing shows their old state.
    var mended: Set<OriginKey> = []
    var unread: OriginKey?
    /// The origins that the first signed entry of the log names: of more than one, none is proved.
    var firstOrigins: Set<String> = []
    /// By deflated copy.
    var owners: [ObjectID: ObjectID] = [:]

    package init(
        _ storage: any ObjectStorage, _ options: OriginAuditOptions = OriginAuditOptions(),
        repairingFrom mender: OriginMender? = nil
    ) {
        let storage = PassingStorage(over: storage)
        self.storage = storage
        self.options = options
        self.mender = mender
        log = OriginLog(storage, tags)
    }

    /// Checks, and repairs if there is a mender.
    /// - Throws: `.noOrigin`, `.unsupportedFormat`, `.interrupted`; what the storage refuses. An error while looking
    ///   is thrown, never turned into a finding.
    package func run() throws(StoreError) -> OriginAuditReport {
        let raced = options.isProbing ? try race() : []
        if let state = try readLog() {
            try allowing(saysWhatIsFound, try look(at: state))
        } else if let missing = report.missing {
            report.missing = try "\(missing). \(cleared(raced))"
        }
        let figures = storage.figures
        (report.requestCount, report.retryCount) = (figures.requestCount, figures.retryCount)
        return report
    }

    private var isLogDamaged: Bool {
        report.findings.contains { [.missingEntry, .damagedEntry].contains($0.kind) }
    }

    /// Whether an error comes from a part of the log whose loss is already a finding.
    private func saysWhatIsFound(_ error: StoreError) -> Bool {
        isLogDamaged && OriginLog.saysEntryIsBad(error)
    }

    private func look(at state: OriginState) throws(StoreError) {
        (report.entry, report.epoch) = (state.number, state.entry.epoch)
        report.channelCount = state.pointers.count
        let survey = try OriginSurvey(storage, log).run(options.listed)
        report.strays = report.strays + survey.strays
        if state.hasLog {
            try checkAnnounced(of: state, survey.clientFiles)
            try checkPointers(of: state, survey.pointerFiles)
        }
        try checkList(of: state)
        try checkMarker(of: state)
        try checkTrust(of: state)
        var keptFrom = state.entry.keptFrom
        let releases: [LiveRelease]
        do throws(StoreError) {
            releases = try log.liveReleases(keptFrom: keptFrom, upTo: state)
        } catch {
            guard saysWhatIsFound(error) else { throw error }
            // The current offers are known nevertheless.
            keptFrom = state.number
            releases = try log.liveReleases(keptFrom: keptFrom, upTo: state)
        }
        // Other packs or another epoch do not make another release.
        report.releaseCount = Set(releases.map(\.version.manifest)).count
        var (needed, areAllRead) = try checkReleases(releases, survey)
        try addDocuments(of: state, survey, keptFrom: keptFrom, to: &needed)
        try checkPresence(needed)
        if options.check.isDeep { try checkBytes(needed) }
        // What pointers offer that are not the log's stays with them, and is not read here.
        if report.findings.contains(where: \.isOfPointer) { try survey.holdCopies(beside: state) }
        let isAllKnown =
            keptFrom == state.entry.keptFrom && (state.hasLog || !isLogDamaged)
            && survey.copied.isSubset(of: releases)
        if areAllRead, isAllKnown {
            let unneeded = survey.unneededFigures(in: state.entry, beside: needed.all)
            (report.garbage, report.waiting) = (unneeded.garbage, unneeded.waiting)
        }
        if try areStillNeeded(after: state, survey) { try mend(needed) }
    }

    func throwIfInterrupted() throws(StoreError) {
        if options.isInterrupted() { throw .interruption }
    }

    /// Deletes what a probe wrote to a store that no prune will visit.
    private func cleared(_ keys: [String]) throws(StoreError) -> String {
        let said = "Only the store was tried"
        guard !keys.isEmpty else { return said }
        // A probe does not require the right to delete.
        let outcome = try allowing([.accessDenied], try storage.delete(keys))
        let leftCount = outcome.map { $0.refused.count + $0.unknownCount } ?? keys.count
        if leftCount == 0 { return "\(said), and what that wrote is deleted" }
        return
            "\(said), and \(counted(leftCount, "file")) of that may be left in \(OriginLayout.probe)/: they could not be deleted"
    }

    // MARK: What is written over

    private func checkMarker(of state: OriginState) throws(StoreError) {
        let bytes = try allowing(
            ReleaseFiles.isHarmless,
            try storage.contents(OriginLayout.marker, limit: OriginMarker.byteCountMax))
        let origin = try storage.trustedOrigin(saidBy: state.pointers.values)
        let marked = bytes.flatMap(OriginMarker.id)
        let isOther = origin != nil && marked != nil && marked != origin
        // With a log, a newer castree's format shows there.
        if let bytes, OriginMarker.isKnown(bytes), !isOther { return }
        let body = try StorageBody(
            OriginMarker.serialized(of: origin, hasClients: !state.entry.clients.isEmpty))
        let missing = missing(of: OriginLayout.marker)
        try found(
            bytes == nil ? missing.kind : .damagedFile, OriginLayout.marker,
            "what says that an origin is here: "
                + (isOther
                    ? "it names the origin \(marked ?? ""), and the signed pointers \(origin ?? "")"
                    : bytes == nil ? missing.problem : "other bytes stand there")
        ) { () throws(StoreError) in
            // Anybody may have copied another origin's signed pointer here.
            guard !isOther || origin.map({ firstOrigins == [$0] }) == true else { return false }
            return try storage.put(OriginLayout.marker, body, .pointer).isStored
        }
    }

    /// Checks the chain of trust files by which devices that are behind follow a change of keys.
    private func checkTrust(of state: OriginState) throws(StoreError) {
        guard let chain = try TrustChain(of: state.pointers.values, in: storage) else {
            return try followTrust(of: state, after: nil)
        }
        var problems = chain.problems()
        var others: [Int64: TrustFile] = [:]
        var left = problems
        // A restored version may show that another one is wrong.
        for _ in 0..<(mender == nil ? 0 : 2) {
            for version in left.keys { others[version] = try mender?.trust(version) }
            left = chain.with(others).problems()
            problems.merge(left) { before, _ in before }
        }
        for (version, problem) in problems.sorted(by: { $0.key < $1.key }) {
            let path = OriginLayout.trust(version)
            let missing = missing(of: path)
            try found(
                problem == nil ? missing.kind : .damagedFile, path,
                "\(problem ?? missing.problem); \(chain.need)"
            ) { () throws(StoreError) in
                guard left[version] == nil, let file = others[version] else { return false }
                return try storage.put(path, StorageBody(file.serialized()), .document).isStored
            }
        }
        try checkReach(of: chain.with(others), state)
        guard left.isEmpty, let last = chain.with(others).last else { return }
        try followTrust(of: state, after: last)
    }

    /// Reports channels that a change of the keys has not reached.
    private func checkReach(of chain: TrustChain, _ state: OriginState) throws(StoreError) {
        var now = state
        let behind = try lasting { () throws(StoreError) in
            let channels = chain.channelsBehind(in: now.pointers.values)
            if channels.isEmpty { return nil as [ChannelName]? }
            now = try newest(since: state)
            return channels
        }
        guard let behind else { return }
        let more = behind.count > 10 ? " and \(behind.count - 10) more" : ""
        let names = behind.prefix(10).map(\.description).joined(separator: ", ")
        try found(
            .wrongPointer, OriginLayout.trust(chain.newest),
            "these channels are not signed by it yet: \(names)\(more); \(Self.cutShort)")
    }

    private static let cutShort =
        "a rotation runs still, or was cut short and is to be repeated as it was, or an old state of the origin was put back, "
        + "and devices that have seen it obey nothing that is signed by the keys of before; look at what the origin offers, then "
        + "sign by it (castree resign ORIGIN --adopt)"

    /// Takes the following versions from another origin, and reports those already here: an old state may have been
    /// restored, and devices that have seen a newer version obey no older one.
    private func followTrust(of state: OriginState, after last: TrustFile?) throws(StoreError) {
        let pointers = state.pointers.values
        guard let origin = try storage.trustedOrigin(saidBy: pointers) else { return }
        let signed = pointers.filter { $0.isSigned && $0.origin == origin }
        for (file, isHere, _) in try following(last, signed, of: origin) {
            let path = OriginLayout.trust(file.version)
            let isAhead = try lasting { () throws(StoreError) in
                // A rotation writes this file before the pointers.
                let now = isHere ? try newest(since: state).pointers.values.map(\.trustVersion) : []
                return now.contains { $0 ?? 0 >= file.version } ? nil : true
            }
            guard isAhead != nil else { return }
            let what = isHere ? "no pointer names it" : "the copy has it"
            try found(
                isHere ? .wrongPointer : .missingFile, path,
                "\(what), and it follows: \(Self.cutShort)"
            ) { () throws(StoreError) in
                guard !isHere else { return false }
                return try storage.put(path, StorageBody(file.serialized()), .document).isStored
            }
        }
    }

    /// The versions of the trust that follow a version one after the other, each from here, else from the copy.
    ///
    /// The first keys are unrecorded: after `nil`, a key that signs here must vouch for one of the versions.
    private func following(
        _ last: TrustFile?, _ pointers: [ChannelPointer], of origin: String
    ) throws(StoreError) -> [(file: TrustFile, isHere: Bool, isCopied: Bool)] {
        let version = last?.version ?? TrustFile.firstVersion
        guard version < TrustFile.followedMax else { return [] }
        let here = try TrustFile.ifSound(try storage.trust(version + 1))
        let copied = try mender?.trust(version + 1)
        // A stranger may have put one here that a sound one of the copy follows.
        let isKnown = last != nil || here?.follows(nil, pointers, of: origin) == true
        for case let file? in isKnown ? [here, copied] : [copied, here]
        where file.isFollowing(last?.trusted ?? file.trusted, version, of: origin) {
            let rest = try following(file, pointers, of: origin)
            let all = [(file, file == here, file == copied)] + rest
            if last != nil || file.follows(nil, pointers, of: origin) { return all }
            if all.contains(where: { $0.isVouched(by: pointers, inCopy: $2) }) { return all }
        }
        return []
    }

    private func checkList(of state: OriginState) throws(StoreError) {
        var now = state
        let wrong = try lasting { () throws(StoreError) in
            let list = try ChannelListCopy(of: now, in: storage)
            if try list.isRight() { return nil as ChannelListCopy? }
            now = try newest(since: state)
            return list
        }
        guard let list = wrong else { return }
        try found(
            .wrongPointer, OriginLayout.channelList,
            "it does not list the channels that there are; only people and pages read it"
        ) { () throws(StoreError) in
            try list.write().isStored
        }
    }

    /// Finds a problem in files that a publisher may be about to write, if it lasts.
    ///
    /// Publishers write the log first and its copies afterwards.
    func lasting<Problem>(
        _ look: () throws(StoreError) -> Problem?
    ) throws(StoreError) -> Problem? {
        var problem = try look()
        while problem != nil, let milliseconds = retryDelays.popFirst() {
            if options.isInterrupted() { throw .interruption }
            options.pause(milliseconds)
            problem = try look()
        }
        return problem
    }

    func newest(since state: OriginState) throws(StoreError) -> OriginState {
        try allowing(saysWhatIsFound, try log.state(from: state.number)) ?? state
    }

    /// What is wrong with a file of which no bytes came.
    func missing(of path: String) -> (kind: OriginFinding.Kind, problem: String) {
        storage.reason(of: path).map { (.damagedFile, "it cannot be read: \($0)") }
            ?? (.missingFile, "it is not there")
    }

    func found(
        _ kind: OriginFinding.Kind, _ path: String?, _ message: String, version: String? = nil,
        _ repair: () throws(StoreError) -> Bool = { () throws(StoreError) in false }
    ) throws(StoreError) {
        report.findings.append(OriginFinding(kind, path, message, version: version))
        if mender != nil { try mend(report.findings.count - 1, by: repair) }
    }

    /// Repairs a finding; if that fails, the finding says why, and others are still repaired.
    /// - Parameter repair: returns whether it succeeded.
    func mend(_ place: Int, by repair: () throws(StoreError) -> Bool) throws(StoreError) {
        do throws(StoreError) {
            report.findings[place].isRepaired = try repair()
        } catch {
            guard
                error.saysFileIsUnreadable || error.code == .damagedObject
                    || OriginLog.saysEntryIsBad(error)
            else { throw error }
            report.findings[place].stays(because: storage.work?.explained(error) ?? error)
        }
    }

    private static let (roundCount, creatorCount) = (10, 8)

    /// Tests whether the store lets exactly one of several creators succeed, which the log relies on.
    ///
    /// The races leave files under `probe/` until the next prune. A store that fails once is unsuitable.
    /// - Returns: the files that were raced for.
    /// - Throws: what the storage refuses; `.network` if no answer came.
    func race() throws(StoreError) -> [String] {
        var keys: [String] = []
        for round in 1...Self.roundCount {
            try throwIfInterrupted()
            keys.append(OriginLayout.probe(try LogEntry.drawAuthor()))
            guard let problem = try hold(keys[round - 1]) else { continue }
            try found(
                .unsuitableStore, nil,
                "\(storage.place) is not suitable for several publishers: in race \(round) \(problem); several publishers "
                    + "would overwrite each other's releases: publish to a directory and copy it")
            break
        }
        report.raceCount = keys.count
        return keys
    }

    /// - Returns: what went wrong; `nil` if exactly one creator won.
    private func hold(_ key: String) throws(StoreError) -> String? {
        var bodies: [StorageBody] = []
        for number in 0..<Self.creatorCount {
            bodies.append(try StorageBody(Array("creator \(number)\n".utf8)))
        }
        let outcomes = Mutex<[Int: WriteOutcome]>([:])
        let (storage, all) = (storage, bodies)
        try storage.inParallel(all.count) { (position) throws(StoreError) in
            let outcome = try storage.putIfAbsent(key, all[position], .logEntry)
            outcomes.withLock { $0[position] = outcome }
        }
        let ended = outcomes.withLock { $0 }
        if ended.values.contains(.unsupported) {
            return "it answered that it does not know If-None-Match: *"
        }
        let winners = ended.filter { $0.value.isStored }.map(\.key)
        guard winners.count <= 1 else {
            return "\(winners.count) of \(Self.creatorCount) creators of one file succeeded"
        }
        let (outcome, bytes) = try storage.bytes(key, ReadRequest(byteCountMax: 1_024))
        guard case .found = outcome else { return "the file that was created is not there" }
        let address = try ObjectID(of: bytes)
        // A creator that got no answer, and then a refusal, may have won.
        guard let place = all.firstIndex(where: { $0.address == address }) else {
            return "the file that was created has other bytes"
        }
        if let winner = winners.first, winner != place {
            return "the file of the one that succeeded was overwritten"
        }
        return nil
    }
}

package struct OriginAuditOptions: Sendable {
    /// Whether to read bytes, of what share of the files, and how fast.
    package var check = CheckOptions()
    /// Whether to test that the store lets exactly one of several creators succeed.
    package var isProbing = false
    /// Polled during the check; `true` ends it with `.interrupted`.
    package var isInterrupted: @Sendable () -> Bool = { false }
    /// Gets the number of files and bytes that a deep check is about to read.
    package var willRead: @Sendable (Int, Int64) -> Void = { _, _ in }
    /// The number of keys so far.
    package var listed: @Sendable (Int) -> Void = { _ in }
    /// Gets bytes read and bytes to read, from several threads.
    package var progress: @Sendable (Int64, Int64) -> Void = { _, _ in }
    package var pause: @Sendable (Int) -> Void = { CASStore.pause(milliseconds: Int32($0)) }

    package init() {}
}
