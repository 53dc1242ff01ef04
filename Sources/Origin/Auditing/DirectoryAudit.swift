package import CASStore
import HotPush
import Storage
import Synchronization

/// Checks an origin in a directory while publishers work, and repairs it while none does.
///
/// Without a log, the pointers say what it offers. The check looks again if they have changed, since a file missing
/// after a prune was perhaps needed only by an old pointer.
package struct DirectoryAudit {
    private let path: String
    private let options: OriginAuditOptions
    private let publisher: PublisherOptions
    private let mender: OriginMender?
    private let fileSystem: any FileSystem
    /// Bounds the retries, so that constant publishing cannot keep a check from ending.
    private static let tryCountMax = 5

    /// - Parameters:
    ///   - waitLimit: how long a repair waits for publishers.
    ///   - mender: where a repair takes bytes from; `nil` to repair nothing.
    package init(
        _ path: String, _ options: OriginAuditOptions, waiting waitLimit: Duration,
        repairingFrom mender: OriginMender? = nil,
        fileSystem: any FileSystem = POSIXFileSystem(),
        notice: @escaping @Sendable (String) -> Void
    ) {
        self.fileSystem = fileSystem
        self.path = path
        self.options = options
        self.mender = mender
        var publisher = PublisherOptions()
        publisher.waitLimit = waitLimit
        publisher.notice = notice
        publisher.isInterrupted = options.isInterrupted
        self.publisher = publisher
    }

    /// Checks, and repairs if there is a mender.
    /// - Throws: `.noOrigin`, `.unsupportedFormat`, `.interrupted`; `.busy` if a repair waited too long. An error
    ///   while looking is thrown, never turned into a finding.
    package func run() throws(StoreError) -> OriginAuditReport {
        try checkIsOrigin()
        var found = try places()
        var report = OriginAuditReport()
        if found.contains(where: \.hidesFiles) {
            report.findings = found
            return report
        }
        do throws(StoreError) {
            report = mender == nil ? try look() : try mend()
        } catch {
            // Another user's files block only the repair; the check continues.
            guard error.code == .permission, found.contains(where: { !$0.isRepaired }) else {
                throw error
            }
            publisher.notice("nothing is repaired: \(error.message)")
            report = try look()
        }
        if mender == nil, !found.isEmpty {
            // A publisher sets the rights of a new file a moment after creating it.
            let still = Set(try places())
            found.removeAll { !still.contains($0) }
        }
        report.findings = found + report.findings
        return report
    }

    private func mend() throws(StoreError) -> OriginAuditReport {
        let storage = try directory.open(isCreating: false)
        do throws(StoreError) {
            // Keeps out publishers of older castree versions, too.
            let lock = try OriginLock(storage, publisher)
            defer { withExtendedLifetime(lock) {} }
            let report = try OriginAudit(storage, options, repairingFrom: mender).run()
            try storage.barrier()
            for (path, reason) in try storage.work?.dropUnfinished(now: secondsNow()) ?? [] {
                publisher.notice("\(printable(path)) was left by a publisher, and stays: \(reason)")
            }
            return report
        } catch {
            throw storage.work?.explained(error) ?? error
        }
    }

    /// The directory for a repair, in which root acts as the owner.
    private var directory: OriginDirectory {
        OriginDirectory(
            path: path, options: publisher,
            fileSystem: OwnersFileSystem.around(fileSystem, directory: path), isRepairing: true)
    }

    /// - Throws: `.noOrigin`, unless the origin has only lost its marker.
    private func checkIsOrigin() throws(StoreError) {
        let here = POSIXFileSystem.workingDirectory
        guard let root = try fileSystem.openIfPresent(here, path, .directoryFollowingLinks) else {
            throw DirectoryOrigin.noOrigin(path)
        }
        do throws(StoreError) {
            if try fileSystem.status(root.raw, OriginLayout.logMark) != nil { return }
            if try OriginMarker.remade(root.raw, fileSystem) != nil { return }
            // The initializer explains why it is no origin.
            _ = try DirectoryOrigin(path, fileSystem: fileSystem)
        } catch {
            guard error.code == .permission,
                try fileSystem.status(root.raw, OriginLayout.marker) != nil
            else { throw error }
        }
    }

    private func places() throws(StoreError) -> [OriginFinding] {
        let directory = directory
        // A check without repair keeps its own user.
        let acting = mender == nil ? fileSystem : directory.fileSystem
        let here = POSIXFileSystem.workingDirectory
        let root = try fileSystem.open(here, path, .typedDirectory, mode: 0)
        if mender != nil {
            try fileSystem.refuseRootsRepair(of: root.raw, madeWith: OriginLayout.marker, path)
        }
        let rights = try OriginDirectory.rights(in: root.raw, fileSystem)
        let isRoot = effectiveUser() == 0
        let closed = try directory.closedPlaces(
            root.raw, rights, opens: mender != nil, givingBackBy: isRoot ? fileSystem : nil,
            acting)
        try fileSystem.tellOfDisks(among: OriginLayout.directories, in: root.raw, publisher.notice)
        let owner = try fileSystem.status(root.raw).owner
        return closed.map { $0.finding(in: owner) } + (try strangers(in: root.raw, acting))
    }

    private func strangers(
        in root: Int32, _ fileSystem: any FileSystem
    ) throws(StoreError) -> [OriginFinding] {
        let (work, directories) = (OriginLayout.work, OriginLayout.directories)
        var found: [OriginFinding] = []
        func look(_ path: String, for kind: FileStatus.Kind) throws(StoreError) {
            var (there, aside, obstacle): (FileStatus?, String?, StoreError?)
            do throws(StoreError) {
                there = try fileSystem.status(root, path)
                guard let there, there.kind != kind else { return }
                // Readers of the origin may rely on such a link.
                if mender != nil, !isOfElsewhere(root, path, there.kind, fileSystem) {
                    let name = "\(path).aside-\(try randomToken())"
                    try fileSystem.rename(root, path, to: root, name)
                    aside = name
                }
            } catch {
                guard error.isOfOneName || error.isNotDirectory else { throw error }
                obstacle = error
            }
            guard let kind = there?.kind else { return }
            let problem =
                directories.contains(path)
                ? OriginDirectory.obstruction(path, kind)
                    + (aside == nil ? ". Until then nothing else is looked at" : "")
                : "\(kind.noun) stands where the publisher's own should be"
            var finding = OriginFinding(
                .strayFile, path, problem + (aside.map { "; it is \($0) now" } ?? ""),
                isRepaired: aside != nil)
            if let obstacle { finding.stays(because: obstacle) }
            found.append(finding)
        }
        for name in directories { try look(name, for: .directory) }
        try look(work, for: .directory)
        for name in [OriginLayout.staging, OriginLayout.frames] {
            try look("\(work)/\(name)", for: .directory)
        }
        for name in [
            OriginLayout.lock, OriginLayout.packed, OriginLayout.clientLabels,
            OriginLayout.packingLock, OriginLayout.reserve,
        ] {
            try look("\(work)/\(name)", for: .regular)
        }
        return found
    }

    /// Whether this is a link to a directory elsewhere, or to a disk that is not mounted.
    private func isOfElsewhere(
        _ root: Int32, _ path: String, _ kind: FileStatus.Kind, _ fileSystem: any FileSystem
    ) -> Bool {
        guard kind == .symbolicLink, OriginLayout.directories.contains(path) else { return false }
        do throws(StoreError) {
            _ = try fileSystem.open(root, path, .directoryFollowingLinks, mode: 0)
            return true
        } catch {
            return !error.isNotDirectory
        }
    }

    private func look() throws(StoreError) -> OriginAuditReport {
        var rescue = DirectoryStorage.Rescue()
        rescue.passesOver = { _, _ in true }
        let storage = try DirectoryStorage(
            path, scratch: OriginLayout.work, rescue: rescue, fileSystem: fileSystem)
        var tryCount = 0
        while true {
            let before = try pointers(in: storage)
            let report = try OriginAudit(storage, options).run()
            tryCount += 1
            if report.findings.isEmpty || tryCount == Self.tryCountMax { return report }
            if try pointers(in: storage) == before { return report }
        }
    }

    private func pointers(in storage: DirectoryStorage) throws(StoreError) -> [String: EntityTag] {
        var tags: [String: EntityTag] = [:]
        try storage.forEachFile(below: OriginLayout.channels + "/") { tags[$0.key] = $0.tag }
        return tags
    }
}

extension OriginFinding {
    /// Whether a foreign file replaces a directory, so that the origin's contents are unknown.
    package var hidesFiles: Bool {
        kind == .strayFile && !isRepaired && OriginLayout.directories.contains(path ?? "")
    }
}

extension ClosedPlace {
    fileprivate func finding(in owner: UInt32) -> OriginFinding {
        if isForeign {
            let whose =
                "it belongs to \(userDescription(status.owner)), and the origin to \(userDescription(owner))"
            return OriginFinding(
                .wrongOwner, path,
                isOpened
                    ? "\(whose); it was given back"
                    : "\(whose); castree fsck --repair, run as root, returns it, unless it has other names or its "
                        + "user alone may read it: then by chown, if it is the origin's",
                isRepaired: isOpened)
        }
        let mode = String(status.mode, radix: 8)
        return OriginFinding(
            .wrongMode, path,
            "it has mode \(mode), and so not everybody who can read \(OriginLayout.marker) can use it"
                + (obstacle.map { ": \($0.message)" } ?? ""), isRepaired: isOpened)
    }
}

/// A storage for checks, to which a file that cannot be read (a bad sector, missing rights) counts as lost.
///
/// Entries of the log are an exception: taking one for missing would revoke what it says.
final class PassingStorage: ForwardingStorage {
    let base: any ObjectStorage
    private let reasons = Mutex<[String: String]>([:])

    init(over base: any ObjectStorage) { self.base = base }

    var work: WorkDirectory? { base.work }

    func reason(of key: String) -> String? { reasons.withLock { $0[key] } }

    private func passing<R>(
        _ key: String, _ body: () throws(StoreError) -> R?
    ) throws(StoreError) -> R? {
        do throws(StoreError) {
            return try body()
        } catch {
            guard error.saysFileIsUnreadable else { throw error }
            let reason = error.advising("").message
            guard OriginLayout.number(ofLogEntry: key) == nil else { throw .damagedOrigin(reason) }
            reasons.withLock { $0[key] = reason }
            return nil
        }
    }

    func get(
        _ key: String, _ request: ReadRequest,
        _ take: (UnsafeRawBufferPointer) throws(StoreError) -> Void
    ) throws(StoreError) -> ReadOutcome {
        try passing(key) { () throws(StoreError) in try base.get(key, request, take) } ?? .missing
    }

    func head(_ key: String) throws(StoreError) -> StoredFile? {
        try passing(key) { () throws(StoreError) in try base.head(key) }
    }

    func byteCounts(
        of keys: [String], unless isInterrupted: @escaping @Sendable () -> Bool
    ) throws(StoreError) -> [Int64?] {
        do throws(StoreError) {
            return try base.byteCounts(of: keys, unless: isInterrupted)
        } catch {
            guard error.saysFileIsUnreadable else { throw error }
            return try keys.map { (key) throws(StoreError) in try head(key)?.byteCount }
        }
    }

    func put(
        _ key: String, _ body: StorageBody, _ fields: StoredFields, if condition: WriteCondition
    ) throws(StoreError) -> WriteOutcome {
        let outcome = try base.put(key, body, fields, if: condition)
        guard condition == .absent, outcome == .conditionFailed, reason(of: key) != nil else {
            return outcome
        }
        // An unreadable file is to be repaired, unless it can be read by now.
        reasons.withLock { $0[key] = nil }
        _ = try get(key, ReadRequest(byteCountMax: 1 << 30)) { _ in }
        return try reason(of: key) == nil ? outcome : base.put(key, body, fields)
    }
}
