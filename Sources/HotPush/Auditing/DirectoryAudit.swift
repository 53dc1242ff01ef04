package import CASStore
import Storage

/// Checks an origin in a directory beside its publishers, and repairs it while none is at work.
///
/// Without a log its pointers say what it offers. While it looks, somebody may withdraw a release and prune: what then is
/// missing was needed by a pointer of before, so it looks again if the pointers have changed.
package struct DirectoryAudit {
    private let path: String
    private let options: OriginAuditOptions
    private let publisher: PublisherOptions
    private let mender: OriginMender?
    /// Somebody who publishes all the time keeps no check from ending.
    private static let tryCountMax = 5

    /// Makes a check; nothing is looked at yet.
    ///
    /// - Parameters:
    ///   - path: the directory.
    ///   - waitLimit: how long a repair waits for publishers.
    ///   - mender: where a repair takes bytes from; `nil` if nothing is repaired.
    ///   - notice: gets notices about what happens unasked, such as waiting.
    package init(
        _ path: String, _ options: OriginAuditOptions, waiting waitLimit: Duration,
        repairingFrom mender: OriginMender? = nil, notice: @escaping @Sendable (String) -> Void
    ) {
        self.path = path
        self.options = options
        self.mender = mender
        var publisher = PublisherOptions()
        publisher.waitLimit = waitLimit
        publisher.notice = notice
        publisher.isInterrupted = options.isInterrupted
        self.publisher = publisher
    }

    /// Looks, and repairs if it has a mender.
    /// - Throws: `.noOrigin`, `.unsupportedFormat`, `.interrupted`; `.busy` if a repair waited too long; what cannot be
    ///   looked at is no finding.
    package func run() throws(StoreError) -> OriginAuditReport {
        let fileSystem = POSIXFileSystem()
        let mended = try mendMarker(fileSystem)
        guard let mender else {
            let storage = try DirectoryStorage(path, scratch: OriginLayout.work)
            return try look(storage)
        }
        let storage = try OriginDirectory(
            path: path, options: publisher,
            fileSystem: OwnersFileSystem.around(fileSystem, directory: path), isRepairing: true
        ).open(isCreating: false)
        do throws(StoreError) {
            // Publishers of older castrees keep out meanwhile.
            let lock = try OriginLock(storage, publisher)
            defer { withExtendedLifetime(lock) {} }
            var report = try OriginAudit(storage, options, repairingFrom: mender).run()
            try storage.barrier()
            try storage.work?.dropUnfinished(now: secondsNow())
            if let mended { report.findings.insert(mended, at: 0) }
            return report
        } catch {
            throw storage.work?.explained(error) ?? error
        }
    }

    /// Writes a marker that is lost again, if this is a repair: no writer opens the directory before.
    ///
    /// A check finds that it is lost as any other file.
    /// - Throws: `.noOrigin` for what is none.
    private func mendMarker(
        _ fileSystem: POSIXFileSystem
    ) throws(StoreError) -> OriginFinding? {
        let root = try fileSystem.openIfPresent(
            POSIXFileSystem.workingDirectory, path, .directoryFollowingLinks)
        guard let root, let marker = try OriginMarker.remade(root.raw, fileSystem) else {
            // It says what is no origin.
            _ = try DirectoryOrigin(path)
            return nil
        }
        guard mender != nil else { return nil }
        var finding = OriginFinding(
            .missingFile, OriginLayout.marker, "what says that an origin is here is not there")
        try fileSystem.owners(of: root.raw, path).replaceFile(
            root.raw, OriginLayout.marker, with: marker, mode: 0o666, token: "new",
            durably: true)
        finding.isRepaired = true
        return finding
    }

    private func look(_ storage: DirectoryStorage) throws(StoreError) -> OriginAuditReport {
        var tryCount = 0
        while true {
            let before = try pointers(in: storage)
            let report = try OriginAudit(storage, options).run()
            tryCount += 1
            if report.findings.isEmpty || tryCount == Self.tryCountMax { return report }
            if try pointers(in: storage) == before { return report }
        }
    }

    /// The files of the pointers, by their tags.
    private func pointers(in storage: DirectoryStorage) throws(StoreError) -> [String: EntityTag] {
        var tags: [String: EntityTag] = [:]
        try storage.forEachFile(below: OriginLayout.channels + "/") { tags[$0.key] = $0.tag }
        return tags
    }
}
