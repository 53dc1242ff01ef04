import StorageTestSupport

@testable import CASStore

func bytes(_ text: String) -> [UInt8] { Array(text.utf8) }

func code(of body: () throws -> Void) -> StoreError.Code? {
    do { try body() } catch {
        let failure = error as? StoreError
        // Every error is a sentence for people, too.
        expect((failure?.message.count ?? 0) > 10, "\(error)")
        return failure?.code
    }
    return nil
}

/// What the store answers: two stores that say the same hold the same.
struct Answers: Equatable {
    var versions: [VersionSummary]
    var lifecycle: Lifecycle
    var findings: [Finding]

    init(_ versions: VersionStore) throws {
        self.versions = try versions.versions()
        lifecycle = try versions.lifecycle()
        findings = try versions.check().findings
    }
}

extension TemporaryStore {
    var store: Store { versions.store }
    var indexPath: String { path + "/index.sqlite" }
    var stampPath: String { path + "/stamp" }

    /// Everything in `staging/`, but the directories of leases.
    var staged: [String] { Damage.names(path + "/staging").filter { !$0.contains("-") } }

    /// Uses the index file as a stranger would, with SQLite alone.
    func withIndex<R>(_ body: (Connection) throws -> R) throws -> R {
        let connection = try Connection(path: indexPath, mode: .readWrite)
        return try body(connection)
    }

    /// Changes the index as a stranger does: the next open can tell by the file's times.
    func change(_ sql: String) throws { try withIndex { try $0.execute(sql) } }

    /// Changes the index and lets the stamp agree: what a crash or a mistake of castree leaves.
    func changeUnnoticed(_ sql: String) throws {
        try change(sql)
        let old = try IndexStamp(Damage.contents(stampPath))
        let status = try store.fileSystem.status(store.directories.root.raw, "index.sqlite")
        guard let old, let status else { throw CocoaError(.fileReadCorruptFile) }
        let new = IndexStamp(
            epoch: old.epoch, committed: old.committed, pending: old.pending,
            byteCount: status.byteCount, changedAt: status.changedAt)
        try Damage.overwrite(
            stampPath, with: new.encoded + [UInt8](repeating: 10, count: 256 - new.encoded.count))
    }

    /// A lease file as a killed writer leaves it: not locked by anyone.
    func leaveDeadLease(_ name: String = "4711-0123456789abcdef") throws -> String {
        try Damage.replace(path + "/leases/" + name, by: .emptyFile)
        return name
    }

    /// The store over another disk, as another process would open it.
    func reopened(
        on disk: any FileSystem, isDurable: Bool = true,
        notice: @escaping @Sendable (String) -> Void = { _ in }
    ) throws -> VersionStore {
        try VersionStore.open(
            path,
            options: StoreOptions(isDurable: isDurable, reservedByteCount: 1 << 20, notice: notice),
            fileSystem: disk)
    }

    func put(_ text: String) throws -> ObjectID {
        let lease = try store.makeLease()
        return try store.put(bytes(text), protectedBy: lease)
    }
}
