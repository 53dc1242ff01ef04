package import CASStore

// Rebuilds lost manifests from the trees of their versions.

extension VersionStore {
    /// Rebuilds the manifest of a version from its tree, and registers it.
    ///
    /// The version counts as complete only if its content is the one that the index knows or, if only routes are
    /// lost, if the number and sizes of its files match. Otherwise it is incomplete: it is shown while it is current,
    /// but cannot be activated, published or checked out until it is added or pulled again. Everything else that it
    /// named stays referenced; if the index does not know that, every object does that no version names and no
    /// retired version left.
    /// - Returns: `.none` if there is nothing to rebuild it from.
    /// - Throws: `.unreadTree` if it is unknown what the version named, and something in its tree cannot be read.
    package func recoverManifest(of name: String) throws(StoreError) -> Recovery {
        guard VersionName.isName(name) else { return .none }
        let existing = try manifestStatus(name)
        let row = try store.versionRow(name)
        let shown = try TreeReading(versions: self).contents(of: name)
        guard !shown.isEmpty || (row?.fileCount == 0 && row != nil), try isMaterialized(name) else {
            return .none
        }
        if row == nil, let unread = shown.unread.first { throw Self.unreadTree(name, unread) }
        let manifest = try recoveredManifest(name, shown, row)
        let lease = try store.makeLease()
        let file = ManifestFile(self, manifest, lease: lease.name)
        let registration = try file.registration()
        try store.reserve(registration.references, lease: lease)
        do throws(StoreError) {
            _ = try file.revise(registration, acceptsContradictions: true, takesBack: true) {
                (now) throws(StoreError) in
                guard try isMaterialized(name) else { throw StoreError.noVersion(name) }
                guard now?.manifest == row?.manifest else { throw Self.lost }
            } makingWay: { () throws(StoreError) in
                guard try self.manifestStatus(name) == existing else { throw Self.lost }
                try self.setDamagedManifestAside(
                    name, unless: registration.manifest == row?.manifest)
            }
        } catch {
            guard [.noVersion, .lost].contains(error.code) || error.isDirectory else { throw error }
            return .none
        }
        return manifest.recovered == nil ? .whole : .partial
    }

    static func unreadTree(_ name: String, _ unread: StoreError) -> StoreError {
        StoreError(
            .unreadTree,
            "version \(name) has lost its manifest, and its tree cannot be read whole: nothing is collected and "
                + "nobody gets that name until castree fsck --repair runs as a user who can read it "
                + "(\(unread.message))",
            cause: unread.cause)
    }

    /// A manifest of what the tree of a version shows, to show it although its own is unusable; changes nothing.
    package func manifestShown(by name: String) throws(StoreError) -> Manifest? {
        guard VersionName.isName(name), try isMaterialized(name) else { return nil }
        let shown = try TreeReading(versions: self).contents(of: name)
        return shown.files.isEmpty
            ? nil : try recoveredManifest(name, shown, store.versionRow(name))
    }

    /// Whether a manifest rebuilt from the tree may be missing something.
    func isPartial(_ lost: LostVersion) throws(StoreError) -> Bool {
        guard lost.entry == nil, let row = try store.versionRow(lost.name) else { return true }
        let shown = try TreeReading(versions: self).contents(of: lost.name)
        return try recoveredManifest(lost.name, shown, row).recovered != nil
    }

    private func recoveredManifest(
        _ name: String, _ contents: TreeReading.Contents, _ row: VersionRow?
    ) throws(StoreError) -> Manifest {
        let named = row == nil ? nil : try store.references(of: name)
        let addresses = named.map { Set($0.map(\.address)) }
        // What the version never named provably does not belong to it.
        let entries = contents.files.filter { addresses?.contains($0.address) ?? true }
        let shown = Set(entries.map(\.address))
        let known =
            if let named { named } else {
                // Content under paths that no manifest may hold is named in addition.
                try Array(Set(unnamedContent(besides: name) + contents.others)).sorted()
            }
        let rest = known.filter { !shown.contains($0.address) }
        let (ordinal, time) =
            if let row { (row.ordinal, row.createdAt) } else {
                (try store.nextOrdinal(), try treeTime(of: name))
            }
        var manifest = try Manifest(
            version: VersionName(name), ordinal: ordinal, createdAt: time, entries: entries)
        var isSame = false
        if let row, row.recovery != .partial {
            isSame =
                contents.unread.isEmpty && row.fileCount == Int64(manifest.count)
                && row.byteCount == manifest.byteCount
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

    /// Content that no version names and no other tree shows, and that an unknown version may have named.
    private func unnamedContent(besides name: String) throws(StoreError) -> [Reference] {
        var shown: Set<ObjectID> = []
        var odd: [[CChar]] = []
        let trees = try unregisteredTrees(&odd).filter { $0 != name }.map { Array($0.utf8CString) }
        for tree in trees + odd {
            let contents = try TreeReading(versions: self, trustsLinks: true).contents(of: tree)
            shown.formUnion(contents.addresses)
        }
        return try store.objectsOfNobody().filter { !shown.contains($0.address) }
    }

    /// Makes a version of an unknown tree, before its name is used for something else.
    /// - Throws: `.io` if there is a manifest that the disk cannot read: it is unknown whose name it is.
    func recoverUnknownTree(_ name: String, for content: ObjectID) throws(StoreError) {
        guard try isMaterialized(name) else { return }
        if let row = try store.versionRow(name) {
            // For a rebuilt manifest the index refuses no other content: only the manifest tells.
            if row.recovery != .none, row.content != content {
                _ = try lookingAgain { () throws(StoreError) in try manifestUnlessLost(of: name) }
            }
            return
        }
        guard try hasManifest(name) else {
            _ = try recoverManifest(of: name)
            return
        }
        _ = try manifestUnlessLost(of: name)
    }

    private func treeTime(of name: String) throws(StoreError) -> Int64 {
        let status = try fileSystem.status(directories.versions.raw, name)
        return max((status?.modifiedAt ?? 0) / 1_000_000_000, 0)
    }

    /// Moves a damaged manifest, file or directory, to quarantine, where it may tell a person what is lost.
    func setDamagedManifestAside(_ name: String, unless isSame: Bool) throws(StoreError) {
        let (manifests, quarantine) = (directories.manifests.raw, directories.quarantine.raw)
        let manifest = StoreLayout.manifest(name)
        let aside = try StoreLayout.aside("manifest-\(name)", suffix: StoreLayout.manifestSuffix)
        switch try manifestStatus(name)?.kind {
        case .directory:
            try fileSystem.removeEmpty(manifests, manifest, orMoveTo: quarantine, aside)
        case .regular where !isSame:
            do throws(StoreError) {
                try fileSystem.link(manifests, manifest, to: quarantine, aside)
            } catch {
                // Another user's file that may not be read (proc_sys_fs(5), protected_hardlinks).
                guard error.isLinkRefused else { throw error }
                try fileSystem.rename(manifests, manifest, to: quarantine, aside)
            }
        default: break
        }
    }

    // MARK: Finding lost manifests

    /// Registered versions without a manifest, and trees of any name with content that no version names.
    func versionsToRecover() throws(StoreError) -> [LostVersion] {
        var lost = try store.versionsWithoutManifest().map { LostVersion(name: $0) }
        var odd: [[CChar]] = []
        for name in try unregisteredTrees(&odd) {
            var version = LostVersion(name: name)
            if try showsUnnamedContent(name.utf8CString, &version.unread) { lost.append(version) }
        }
        let strayed = try strayedTrees(among: odd)
        // A version is rebuilt from its hidden tree.
        let hidden = Set(strayed.filter(\.isHidden).map(\.name))
        lost.removeAll { hidden.contains($0.name) }
        lost += strayed
        return lost.sorted { $0.name < $1.name }
    }

    /// The directories of `versions/` that no manifest and no row names.
    /// - Parameter odd: collects those whose name no version can have.
    private func unregisteredTrees(_ odd: inout [[CChar]]) throws(StoreError) -> [String] {
        var suspects: [String] = []
        let versions = directories.versions.raw
        try fileSystem.list(versions) { (entry, kind) throws(StoreError) in
            guard kind == .directory || kind == .unknown else { return true }
            let name = String(cString: entry)
            if RawName.isText(entry), VersionName.isName(name) {
                suspects.append(name)
            } else {
                odd.append(RawName.bytes(of: entry))
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

    /// Whether a tree shows content that no version names; unreadable content counts as such.
    /// - Parameters:
    ///   - name: of a directory in `versions/`, terminated by 0.
    ///   - unread: why something in it cannot be read.
    func showsUnnamedContent(
        _ name: some Sequence<CChar>, _ unread: inout StoreError?
    ) throws(StoreError) -> Bool {
        let contents = try TreeReading(versions: self, trustsLinks: true).contents(of: Array(name))
        unread = contents.unread.first
        if unread != nil { return true }
        return try !store.unnamed(contents.addresses).isEmpty
    }

    /// Rebuilds versions from trees without a manifest, before their content is taken for garbage.
    /// - Returns: the versions whose manifest cannot be rebuilt.
    /// - Throws: what ``lostBeforeCollecting()`` throws; `.index` if a tree cannot get the name of its version.
    func recoverBeforeCollecting() throws(StoreError) -> [String] {
        var (unknown, left) = try lostBeforeCollecting()
        for lost in unknown {
            var reason = "somebody uses it, or that name; repeat the command"
            var isBack = false
            do throws(StoreError) { isBack = try bringBack(lost) } catch {
                guard error.isOfOneName else { throw error }
                reason = error.message
            }
            guard isBack else {
                throw StoreError(
                    .index,
                    "nothing is collected while \(lost.treePath) shows content that no version names, and cannot become "
                        + "the tree of version \(lost.name): \(reason)")
            }
            if case .none = try recoverManifest(of: lost.name) { left.append(lost.name) }
        }
        return left
    }

    /// The versions without a manifest that a collection rebuilds, and those whose objects the index knows.
    /// - Throws: `.unreadTree` if a tree cannot be read whole; `.index` if the content of a version that the
    ///   lifecycle needs is unknown, since it might be taken for garbage.
    func lostBeforeCollecting() throws(StoreError) -> (unknown: [LostVersion], known: [String]) {
        var unknown: [LostVersion] = []
        var known: [String] = []
        for lost in try versionsToRecover() {
            if try store.versionRow(lost.name) != nil {
                known.append(lost.name)
            } else {
                if let unread = lost.unread { throw Self.unreadTree(lost.name, unread) }
                unknown.append(lost)
            }
        }
        for name in try lifecycle().needed.sorted() where try store.versionRow(name) == nil {
            // A retirement changes the lifecycle before the row. An unreadable manifest is refused by name.
            guard try lifecycle().needed.contains(name), try !hasManifest(name),
                !unknown.contains(where: { $0.name == name })
            else { continue }
            throw StoreError(
                .index,
                "nothing is collected while the lifecycle names version \(name), which is not registered: nobody knows "
                    + "what it had; add or pull it again, or let castree fsck --repair forget it")
        }
        return (unknown, known)
    }
}
