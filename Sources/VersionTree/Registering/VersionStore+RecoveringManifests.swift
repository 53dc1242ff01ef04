package import CASStore

// Manifests that are lost are made again from the trees of their versions.

extension VersionStore {
    /// Makes the manifest of a version again from its tree, and registers it.
    ///
    /// It counts as whole only if its content is that which the index knows; or, where only routes are lost, the number
    /// and the sizes of its files are. Else the version is registered as incomplete: it is shown while it is current, and
    /// never activated, published or checked out until it is added or pulled again. What it named besides stays named; where the
    /// index does not know that, all that nobody names and no retired version has left.
    /// - Returns: `.none` if there is nothing to make it from, or something stands in its place that only a person may
    ///   delete.
    package func recoverManifest(of name: String) throws(StoreError) -> Recovery {
        guard VersionName.isName(name) else { return .none }
        let standing = try manifestStatus(name)
        let row = try store.versionRow(name)
        let files = try TreeReading(versions: self).files(of: name)
        guard !files.isEmpty || (row?.fileCount == 0 && row != nil), try isMaterialized(name) else {
            return .none
        }
        let manifest = try recoveredManifest(name, files, row)
        let lease = try store.makeLease()
        let file = ManifestFile(self, manifest, lease: lease.name)
        var registration = try file.registration()
        try store.claim(registration.references, lease: lease)
        registration.file = try file.write()
        do throws(StoreError) {
            try store.syncAll()
            // Under the lock of the lifecycle: nobody retires it meanwhile.
            let isRecorded = try withLifecycleLocked { () throws(StoreError) -> Bool in
                guard try isMaterialized(name) else { throw StoreError.noVersion(name) }
                return try self.store.recordRecovered(registration, inPlaceOf: row?.manifest) {
                    () throws(StoreError) in
                    guard try self.manifestStatus(name) == standing else {
                        throw StoreError(.lost, "somebody has added the version meanwhile")
                    }
                    try self.setDamagedManifestAside(
                        name, unless: registration.manifest == row?.manifest)
                    try file.replace()
                } takingBack: { () throws(StoreError) in
                    try file.unpublish()
                }
            }
            guard isRecorded else {
                try file.discard()
                return .none
            }
        } catch {
            // The error to report is the first; a leftover is hidden and swept with the lease.
            try? file.discard()
            guard error.code == .noVersion || error.isDirectory else { throw error }
            return .none
        }
        return manifest.recovered == nil ? .whole : .partial
    }

    /// What the tree of a version shows, for who must show it although its manifest cannot be used; nothing is changed.
    package func manifestShown(by name: String) throws(StoreError) -> Manifest? {
        guard VersionName.isName(name), try isMaterialized(name) else { return nil }
        let files = try TreeReading(versions: self).files(of: name)
        return files.isEmpty ? nil : try recoveredManifest(name, files, store.versionRow(name))
    }

    private func recoveredManifest(
        _ name: String, _ files: [ShownFile], _ row: VersionRow?
    ) throws(StoreError) -> Manifest {
        let named = row == nil ? nil : try store.references(of: name)
        let addresses = named.map { Set($0.map(\.address)) }
        // What the version never named is provably not its.
        let entries = files.filter { addresses?.contains($0.address) ?? true }.map {
            Manifest.Entry(
                path: $0.path, address: $0.address,
                byteCount: $0.byteCount, isExecutable: $0.isExecutable)
        }
        let shown = Set(entries.map(\.address))
        let known = if let named { named } else { try unnamedContent(besides: name) }
        let rest = known.filter { !shown.contains($0.address) }
        let (ordinal, time) =
            if let row { (row.ordinal, row.createdAt) } else {
                (try store.nextOrdinal(), try treeTime(of: name))
            }
        var manifest = try Manifest(
            version: VersionName(name), ordinal: ordinal, createdAt: time, entries: entries)
        var isSame = false
        if let row, row.recovery != .partial {
            isSame = row.fileCount == Int64(manifest.count) && row.byteCount == manifest.byteCount
            if !isSame { isSame = try manifest.contentAddress() == row.content }
        }
        if isSame, rest.count <= 1 {
            // The one object that is in no tree.
            manifest.received = rest.first.map {
                .init(format: Manifest.Received.unknownFormat, $0)
            }
        } else {
            manifest.recovered = rest
        }
        return manifest
    }

    /// What no version names and no other tree shows: of a version that nobody knows it may be a part that its tree does
    /// not show.
    private func unnamedContent(besides name: String) throws(StoreError) -> [Reference] {
        var shown: Set<ObjectID> = []
        for other in try unregisteredTrees() where other != name {
            let files = try TreeReading(versions: self, trustsLinks: true).files(of: other)
            shown.formUnion(files.lazy.map(\.address))
        }
        return try store.objectsOfNobody().filter { !shown.contains($0.address) }
    }

    /// Makes a version of a tree that nobody knows, before somebody takes its name for something else.
    func recoverUnknownTree(_ name: String) throws(StoreError) {
        guard try isMaterialized(name), try store.versionRow(name) == nil,
            try !hasManifest(name)
        else { return }
        _ = try recoverManifest(of: name)
    }

    private func treeTime(of name: String) throws(StoreError) -> Int64 {
        let status = try fileSystem.status(directories.versions.raw, name)
        return max((status?.modifiedAt ?? 0) / 1_000_000_000, 0)
    }

    /// Keeps a damaged manifest in quarantine: it may tell a person what is lost.
    private func setDamagedManifestAside(_ name: String, unless isSame: Bool) throws(StoreError) {
        let manifest = StoreLayout.manifest(name)
        guard !isSame, try manifestStatus(name)?.kind == .regular else { return }
        let aside = try StoreLayout.aside("manifest-\(name)", suffix: StoreLayout.manifestSuffix)
        try fileSystem.link(
            directories.manifests.raw, manifest, to: directories.quarantine.raw, aside)
    }

    // MARK: Which are lost

    /// Versions without a manifest of which a tree or the lifecycle speaks: registered ones, and trees that show
    /// content which no registered version names.
    func versionsToRecover() throws(StoreError) -> [String] {
        var names = try store.versionsWithoutManifest()
        for name in try unregisteredTrees() where try showsUnnamedContent(name) {
            names.append(name)
        }
        return names.sorted()
    }

    /// The directories of `versions/` that no manifest and no row names.
    private func unregisteredTrees() throws(StoreError) -> [String] {
        var suspects: [String] = []
        let versions = directories.versions.raw
        try fileSystem.list(versions) { (entry, kind) throws(StoreError) in
            let name = String(cString: entry)
            if kind == .directory || kind == .unknown, VersionName.isName(name) {
                suspects.append(name)
            }
            return true
        }
        let manifests = Set(try store.manifestNames())
        suspects.removeAll { manifests.contains($0) }
        guard !suspects.isEmpty else { return [] }
        // A writer publishes its manifest before its tree, and a retirement takes the tree first.
        try store.waitForWriters()
        var result: [String] = []
        for name in suspects {
            guard try store.versionRow(name) == nil, try isMaterialized(name),
                try !hasManifest(name)
            else { continue }
            result.append(name)
        }
        return result
    }

    private func showsUnnamedContent(_ name: String) throws(StoreError) -> Bool {
        let addresses = Set(
            try TreeReading(versions: self, trustsLinks: true).files(of: name).lazy.filter {
                $0.byteCount > 0
            }
            .map(\.address))
        return try !store.unnamed(addresses).isEmpty
    }

    /// Makes versions again of trees without manifest before what they show is taken for garbage.
    ///
    /// - Returns: the versions whose manifest cannot be made again.
    func recoverBeforeCollecting() throws(StoreError) -> [String] {
        var left: [String] = []
        for name in try versionsToRecover() {
            if try store.versionRow(name) != nil {
                // What it names is kept without any more ado.
                left.append(name)
                continue
            }
            if case .none = try recoverManifest(of: name) { left.append(name) }
        }
        return left
    }
}
