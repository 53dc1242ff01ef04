public import CASStore

extension VersionStore {
    /// Registers a version whose content may still be missing.
    ///
    /// From here on the store keeps what the version names, and ``missing(of:)`` says what must
    /// still come.
    ///
    /// - Returns: whether the version is complete.
    /// - Throws: `.versionExists` if other content has the name; `.mismatch` if it promises a size
    ///   that an object of the store does not have; `.outOfSpace`.
    @discardableResult
    public func register(_ manifest: Manifest) throws(StoreError) -> Bool {
        try recoverUnknownTree(manifest.version.description)
        let lease = try store.makeLease()
        var manifest = manifest
        if manifest.ordinal == 0 { manifest.ordinal = try store.nextOrdinal() }
        if manifest.createdAt == 0 { manifest.createdAt = secondsNow() }
        let file = ManifestFile(self, manifest, lease: lease.name)
        let registration = try file.registration()
        _ = try store.claim(registration, lease: lease)
        while try !record(registration, in: file) {}
        return try row(of: manifest.version.description).isComplete
    }

    /// - Returns: `false` if the version was retired meanwhile, and everything must be repeated.
    private func record(
        _ registration: Registration, in file: ManifestFile
    ) throws(StoreError) -> Bool {
        let promised = PromisedVersion(registration, file, try file.write())
        do throws(StoreError) {
            if case .settled = try store.settle(promised) { return true }
            return false
        } catch {
            // The error to report is the first; a leftover is hidden and swept with the lease.
            try? file.discard()
            throw error
        }
    }
}

/// A version whose content may still be missing, on its way into the index.
private final class PromisedVersion: UnrecordedVersion {
    let registration: Registration
    private let file: ManifestFile
    private let written: HeldFile
    private var isNew = false

    init(_ registration: Registration, _ file: ManifestFile, _ written: HeldFile) {
        self.registration = registration
        self.file = file
        self.written = written
    }

    var allowsMissing: Bool { true }
    var makesRoom: Bool { false }
    var sourceContents: EmptyCollection<(StatKey, ObjectID)> { EmptyCollection() }

    func knowledge(ofObjectAt position: Int) -> WriterKnowledge? { nil }

    func publish() throws(StoreError) -> Registration? {
        let published = try file.publish(registration, written)
        isNew = published.isNew
        return published.registration
    }

    func takeBack() throws(StoreError) {
        // Not recorded, so not acknowledged.
        if isNew { try file.unpublish() }
    }
}
