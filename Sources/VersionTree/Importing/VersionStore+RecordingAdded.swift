import CASStore

extension VersionStore {
    /// Writes manifest and tree of a version whose objects are there, and records it.
    ///
    /// - Returns: the versions that this completes; `nil` if everything must be repeated, because the same version was
    ///   retired meanwhile or an object was collected since it was looked at.
    func record(
        _ manifest: Manifest, _ writing: ManifestFile, _ registration: Registration,
        _ found: SourceFiles, _ lease: borrowing Lease
    ) throws(StoreError) -> [String]? {
        try recoverUnknownTree(manifest.version.description)
        let written = try writing.write()
        guard let tree = try builtTree(manifest, lease) else { return nil }
        let prepared = try PreparedVersion(
            self, manifest, registration, writing, written, tree, found)
        do throws(StoreError) {
            switch try store.settle(prepared) {
            case .settled(let completed): return completed
            case .lost: return nil
            }
        } catch {
            prepared.discard()
            throw error
        }
    }

    /// - Returns: `nil` if an object has gone since it was looked at.
    private func builtTree(
        _ manifest: Manifest, _ lease: borrowing Lease
    ) throws(StoreError) -> HiddenTree? {
        do throws(StoreError) {
            return try buildTree(of: manifest, lease: lease, trusting: true)
        } catch {
            guard error.code == .missingObject else { throw error }
            return nil
        }
    }
}

extension StoreError {
    /// The error of an add that loses every race.
    static func alwaysRetired(_ version: VersionName) -> StoreError {
        StoreError(
            .busy,
            "version \(version) is retired or repaired over and over by another process; "
                + "repeat the command when it has ended")
    }
}
