package import CASStore

/// An import of files whose bytes come one after the other, as out of an archive.
///
/// ```swift
/// let intake = try FileIntake(versions, version: "42")
/// try intake.begin(path, byteCount: 5_000, isExecutable: false)
/// try intake.append(piece)
/// try intake.finish()
/// let report = try intake.record()
/// ```
///
/// The bytes go straight into the store's own staging: they are never on the disk twice. Nothing is visible before
/// ``record(leavingOut:unwanted:)`` has ended; if that is never called, or throws, there is no version, and what was staged goes with
/// this object, or with the next writer if the process ends. Belongs to one thread.
package final class FileIntake {
    private let versions: VersionStore
    private let version: VersionName
    private let arrivals: Arrivals
    private let token: String
    private var entries: [Manifest.Entry] = []
    private var arrival: Arrival?
    /// Where the entries stand by their paths; `nil` until somebody asks.
    private var positions: [TreePath: Int]?
    /// Whether nothing has come.
    package var isEmpty: Bool { entries.isEmpty }

    /// Begins an import.
    /// - Throws: `.badName`; what taking a lease throws.
    package init(_ versions: VersionStore, version: String) throws(StoreError) {
        self.version = try VersionName(version)
        self.versions = versions
        token = try randomToken()
        arrivals = try Arrivals(versions.store)
    }

    deinit {
        // Nobody ever continues it; what cannot be deleted now is collected.
        if let begun = arrival.take() { try? begun.discard() }
    }

    /// Calls `body`, in which files come faster than the disk takes them.
    package func writingBehind(_ body: () throws(StoreError) -> Void) throws(StoreError) {
        try arrivals.writingBehind(body)
    }

    /// Begins a file.
    /// - Throws: `.outOfSpace`, `.tooLarge` for more files than a version has, `.interrupted`.
    package func begin(
        _ path: TreePath, byteCount: Int64, isExecutable: Bool
    ) throws(StoreError) {
        try versions.store.checkInterruption()
        guard entries.count < versions.limits.count else { throw tooMany() }
        // A name of its own: nothing that an earlier attempt left is continued.
        var digester = try Digester(.sha256)
        Array("castree-intake 1\n\(token) \(entries.count)\n".utf8).withUnsafeBytes {
            digester.update($0)
        }
        let name = digester.finish { ObjectID(unchecked: $0) }
        arrival = try arrivals.begin(name, byteCount: byteCount, isProvisional: true)
        entries.append(
            Manifest.Entry(
                path: path, address: .zero, byteCount: byteCount, isExecutable: isExecutable))
    }

    /// Adds bytes to the file that was begun.
    /// - Throws: `.mismatch` beyond its size; `.outOfSpace`, `.io`, `.interrupted`.
    package func append(_ bytes: UnsafeRawBufferPointer) throws(StoreError) {
        try versions.store.checkInterruption()
        try arrival?.append(bytes.bytes)
    }

    /// Ends the file that was begun.
    /// - Throws: `.mismatch` if it has another size; `.outOfSpace`, `.io`.
    package func finish() throws(StoreError) {
        guard let ended = arrival.take() else { return }
        entries[entries.count - 1].address = try ended.finish().object.address
    }

    /// Takes a file with the bytes and the mode of an earlier one.
    /// - Returns: its size; `nil` if there is no such file.
    /// - Throws: `.tooLarge` for more files than a version has, `.interrupted`.
    package func link(_ path: TreePath, to earlier: TreePath) throws(StoreError) -> Int64? {
        try versions.store.checkInterruption()
        var known = positions.take() ?? [:]
        for position in known.count..<entries.count { known[entries[position].path] = position }
        defer { positions = known }
        guard let position = known[earlier] else { return nil }
        guard entries.count < versions.limits.count else { throw tooMany() }
        var entry = entries[position]
        entry.path = path
        entries.append(entry)
        return entry.byteCount
    }

    private func tooMany() -> StoreError {
        StoreError(.tooLarge, "a version has no more than \(versions.limits.count) files")
    }

    /// Makes the files a version: all of them become durable, then the version is shown.
    ///
    /// Adding the same content again under the same name changes nothing.
    /// - Parameters:
    ///   - leftOut: what of the source did not come, for the report.
    ///   - unwanted: what came and is probably not meant, for the report.
    /// - Throws: `.versionExists` if the name is taken by other content; `.pathCollision`, `.badManifest`,
    ///   `.outOfSpace`, `.interrupted`, and what the index throws.
    package func record(
        leavingOut leftOut: [String] = [], unwanted: [String] = []
    ) throws(StoreError) -> AddReport {
        let store = versions.store
        let manifest = try Manifest(
            version: version, ordinal: store.nextOrdinal(), createdAt: secondsNow(),
            entries: entries)
        entries = []
        let lease = try store.makeLease()
        var new = RecordedObjects()
        return try versions.record(manifest, lease, leavingOut: leftOut, unwanted: unwanted) {
            (registration, isAgain) throws(StoreError) -> SourceFiles in
            if !isAgain {
                let references = registration.references
                let unknown = Set(try store.unvouched(references.lazy.map(\.address)))
                for one in references where unknown.contains(one.address) {
                    new.count += 1
                    new.byteCount += one.byteCount
                }
            }
            _ = try store.claim(registration, lease: lease)
            new.completed += try arrivals.settle()
            try versions.makeExecutableCopies(of: manifest, lease, syncsNames: false)
            return SourceFiles()
        } ended: {
            new
        }
    }
}
