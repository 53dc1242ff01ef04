extension VersionStore {
    /// Makes a store over another file system.
    package static func create(
        at path: String, options: StoreOptions, fileSystem: any FileSystem
    ) throws(StoreError) -> VersionStore {
        VersionStore(
            try Store.create(
                at: path, options: options, manifests: StoredManifests(), fileSystem: fileSystem
            ).store)
    }

    package static func open(
        _ path: String, options: StoreOptions, fileSystem: any FileSystem
    ) throws(StoreError) -> VersionStore {
        VersionStore(
            try Store.open(
                path, options: options, manifests: StoredManifests(), fileSystem: fileSystem))
    }

    /// Makes a version current and starts it.
    package func activateAndBoot(_ version: String) throws(StoreError) {
        try activate(version)
        _ = try boot()
    }

    /// Makes a version current that has started and said that it works.
    package func makeKnownGood(_ version: String) throws(StoreError) {
        try activate(version)
        try confirm(version, token: boot().token)
    }

    /// The same store, with smaller limits for the manifests that it writes.
    package func limited(to limits: Manifest.Limits) -> VersionStore {
        VersionStore(store, observer: observer, limits: limits)
    }
}

extension TemporaryStore {
    /// Opens the store again on another disk, by default with as much space kept as by
    /// ``init(isDurable:onDisk:notice:)``.
    package func opened(
        on disk: any FileSystem, isDurable: Bool = false, keeping reserve: Int64 = 1 << 20
    ) throws(StoreError) -> VersionStore {
        let options = StoreOptions(isDurable: isDurable, reservedByteCount: reserve)
        return try VersionStore.open(path, options: options, fileSystem: disk)
    }

    /// Opens it again on a disk that fails on request.
    package func openedOnFaultyDisk() throws(StoreError) -> (FaultyFileSystem, VersionStore) {
        let disk = FaultyFileSystem()
        return (disk, try opened(on: disk))
    }

    /// Expects that a check finds nothing.
    package func expectClean(
        deep: Bool = true, sourceLocation: SourceLocation = #_sourceLocation
    ) throws {
        let found = try reopened().check(CheckOptions(isDeep: deep)).findings
        #expect(found == [], sourceLocation: sourceLocation)
    }
}
