package import CASStore

/// An import of files whose bytes arrive in sequence, for example from an archive.
///
/// ```swift
/// let intake = try FileIntake(versions, version: "42")
/// try intake.begin(path, byteCount: 5_000, isExecutable: false)
/// try intake.append(piece)
/// try intake.finish()
/// let report = try intake.record()
/// ```
///
/// The bytes go straight into the store's staging, so they are on the disk only once. Nothing is visible before
/// ``record(leavingOut:unwanted:)`` returns. If that never happens, the staged files are removed with this object, or
/// by the next writer if the process ends. Belongs to one thread.
package final class FileIntake {
    private let versions: VersionStore
    private let version: VersionName
    private let incoming: IncomingContents
    private let token: String
    private var entries: [Manifest.Entry] = []
    private var item: IncomingContent?
    private var positions: [TreePath: Int]?
    package var isEmpty: Bool { entries.isEmpty }

    /// - Throws: `.badName`; what taking a lease throws.
    package init(_ versions: VersionStore, version: String) throws(StoreError) {
        self.version = try VersionName(version)
        self.versions = versions
        token = try randomToken()
        incoming = try IncomingContents(versions.store)
    }

    deinit {
        // It is never resumed; what cannot be deleted now is collected later.
        if let begun = item.take() { try? begun.discard() }
    }

    /// Calls `body` with write-behind, for files that arrive faster than the disk accepts them.
    package func writingBehind(_ body: () throws(StoreError) -> Void) throws(StoreError) {
        try incoming.writingBehind(body)
    }

    /// - Throws: `.outOfSpace`, `.tooLarge` for more files than a version may have, `.interrupted`.
    package func begin(
        _ path: TreePath, byteCount: Int64, isExecutable: Bool
    ) throws(StoreError) {
        try versions.store.checkInterruption()
        guard entries.count < versions.limits.count else { throw tooMany() }
        // A unique name, so that no part of an earlier attempt is resumed.
        var digester = try Digester(.sha256)
        Array("castree-intake 1\n\(token) \(entries.count)\n".utf8).withUnsafeBytes {
            digester.update($0)
        }
        let name = digester.finish { ObjectID(unchecked: $0) }
        item = try incoming.begin(name, byteCount: byteCount, isPlaceholder: true)
        entries.append(
            Manifest.Entry(
                path: path, address: .zero, byteCount: byteCount, isExecutable: isExecutable))
    }

    /// - Throws: `.mismatch` beyond the size of the file; `.outOfSpace`, `.io`, `.interrupted`.
    package func append(_ bytes: UnsafeRawBufferPointer) throws(StoreError) {
        try versions.store.checkInterruption()
        try item?.append(bytes.bytes)
    }

    /// - Throws: `.mismatch` if the file has another size; `.outOfSpace`, `.io`.
    package func finish() throws(StoreError) {
        guard let ended = item.take() else { return }
        entries[entries.count - 1].address = try ended.finish().object.address
    }

    /// Adds a file with the bytes and the mode of an earlier one.
    /// - Returns: its size; `nil` if there is no such file.
    /// - Throws: `.tooLarge` for more files than a version may have, `.interrupted`.
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

    /// Registers the files as a version, after all of them are durable.
    ///
    /// Adding the same content again under the same name changes nothing. Both parameters only go into the report.
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
        return try versions.finishAdding(manifest, lease) {
            (registration, isAgain) throws(StoreError) -> SourceFiles in
            if !isAgain {
                let references = registration.references
                let unknown = Set(try store.unproven(references.lazy.map(\.address)))
                for one in references where unknown.contains(one.address) {
                    new.count += 1
                    new.byteCount += one.byteCount
                }
            }
            _ = try store.reserve(registration, lease: lease)
            new.completed += try incoming.commit()
            try versions.makeExecutableCopies(of: manifest, lease, syncsNames: false)
            var none = SourceFiles()
            (none.leftOut, none.unwanted) = (leftOut, unwanted)
            return none
        } ended: {
            new
        }
    }
}
