// Strangers: what stands in place of something of the store's and is of another kind, such as a link, a fifo or a
// directory where a file belongs. Nothing is read through one; a repair puts it into quarantine, whatever it holds.
// And what is the store's but not its owner's, or closed to its owner.

extension Store {
    private func entryCheck(mending isMending: Bool = false) throws(StoreError) -> EntryCheck {
        try EntryCheck(
            fileSystem, root: directories.root.raw,
            mending: isMending ? directories.quarantine.raw : nil)
    }

    /// Finds strangers in place of what has no other check, and small files that are closed to their owner.
    ///
    /// - Parameter repairing: whether to put strangers into quarantine, and to set modes.
    package func checkStrangers(repairing: Bool) throws(StoreError) -> [Finding] {
        let check = try entryCheck(mending: repairing)
        var findings: [Finding] = []
        for place in StorePlace.allCases {
            // What is not there, is a stranger itself, or is closed to this user is found elsewhere, or said where it is
            // needed.
            let opened = try allowing(
                { $0.isNotDirectory || $0.code == .permission },
                try fileSystem.openIfPresent(directories.root.raw, place.rawValue, .directory))
            guard let opened else { continue }
            let names = try fileSystem.names(in: opened.raw) { (name, kind) in
                place.holdsFew || place == .versions
                    || place.kind(of: name).map { $0 != kind } ?? false
            }
            findings += try check.findings(
                of: names.sorted(), below: place.prefix, in: opened.raw
            ) {
                (entry) throws(StoreError) in
                let stranger = try check.stranger(entry, insteadOf: place.kind(of: entry.name))
                if stranger != nil || !place.isOurs(entry.name) { return stranger }
                return try check.rights(entry)
            }
        }
        return try findings
            + check.findings(
                of: objects.shards(), below: StoreLayout.objects + "/",
                in: directories.objects.raw, check.rights)
    }

    /// Finds that a manifest is closed to the store's owner, and mends it if that is asked for; `nil` if it is not.
    package func checkRights(
        ofManifest version: String, repairing: Bool
    ) throws(StoreError) -> Finding? {
        let check = try entryCheck(mending: repairing)
        return try check.findings(
            of: [StoreLayout.manifest(version)], below: StoreLayout.manifests + "/",
            in: directories.manifests.raw, check.rights
        ).first
    }

    /// Finds what in the root of the store and among its locks belongs to another user.
    ///
    /// A look at each name, for those who ask every minute.
    package func checkForeign() throws(StoreError) -> [Finding] {
        let check = try entryCheck()
        var findings: [Finding] = []
        for (place, directory) in [
            (StorePlace.root, directories.root.raw), (.leases, directories.leases.raw),
        ] {
            let names = try fileSystem.names(in: directory).filter(place.isOurs).sorted()
            findings += try check.findings(
                of: names, below: place.prefix, in: directory, check.foreign)
        }
        return findings
    }

    /// The finding of a directory in the store that belongs to another user; `nil` if it is the owner's.
    package func foreignDirectory(
        _ path: String, _ status: FileStatus
    ) throws(StoreError) -> Finding? {
        try entryCheck().foreign(
            StoreEntry(name: path, path: path, directory: directories.root.raw, status: status))
    }

    /// Gives an object's file, or its executable copy, the mode that it must have.
    ///
    /// That of another user's file nobody but that user and root may set: root gives it back first, or a copy takes its place.
    func setMode(of address: ObjectID, executable: Bool) throws(StoreError) {
        let objects = directories.objects.raw
        let path = StoreLayout.objectPath(address, executable: executable)
        let mode: UInt32 = executable ? 0o555 : 0o444
        let check = try entryCheck()
        do throws(StoreError) {
            return try fileSystem.setMode(objects, path, mode)
        } catch {
            guard error.isOfOneName, let status = try fileSystem.status(objects, path),
                status.owner != check.root.owner
            else { throw error }
        }
        let parts = path.split(separator: "/").map(String.init)
        let shard = try fileSystem.open(objects, parts[0], .directory, mode: 0)
        if effectiveUser() == 0, let entry = try check.entry(parts[1], at: path, in: shard.raw),
            try check.giveBack(entry) != nil
        {
            return try fileSystem.setMode(shard.raw, parts[1], mode)
        }
        let source = try fileSystem.open(shard.raw, parts[1], .reading, mode: 0)
        let (staging, name) = (
            directories.staging.raw, StoreLayout.copyPrefix + (try randomToken())
        )
        do throws(StoreError) {
            _ = try copy(
                source.raw, of: address, to: staging, name, mode: mode, allowingReflink: false)
            let made = try fileSystem.open(staging, name, .reading, mode: 0)
            try sync(made.raw)
            self.objects.seal(staging, name, as: address, at: nanosecondsNow())
            try fileSystem.rename(staging, name, to: shard.raw, parts[1])
        } catch {
            // The first error is the one to report; the next repair removes what is left.
            try? fileSystem.removeIfPresent(staging, name)
            throw error
        }
    }

    // MARK: What keeps a check from being made

    /// Finds what keeps a check from being made: what is closed to the store's owner, and what stands in place of
    /// something without which a store cannot be opened, or what must be looked at not be locked.
    ///
    /// Looks at every file.
    /// - Parameters:
    ///   - path: where the store is.
    ///   - repairing: whether to set modes, to put strangers into quarantine, and to make directories again.
    ///   - fileSystem: makes the calls.
    /// - Throws: what is wrong with the root of the store or its file FORMAT; what looking and setting modes throw.
    package static func checkAccess(
        at path: String, repairing: Bool, fileSystem: any FileSystem = POSIXFileSystem()
    ) throws(StoreError) -> [Finding] {
        let root = try openRoot(path, fileSystem)
        let fileSystem = try OwnersFileSystem.around(fileSystem, root: root.raw, of: path)
        let closed = try checkClosed(root.raw, repairing: repairing, fileSystem)
        // It hides what is behind it.
        guard closed.isEmpty || repairing else { return closed }
        try checkFormat(root.raw, path, fileSystem)
        return closed + (try checkNeeded(root.raw, repairing: repairing, fileSystem))
    }

    /// Finds everything in a store that its owner may not read, and lets them with a repair.
    private static func checkClosed(
        _ root: Int32, repairing: Bool, _ fileSystem: any FileSystem
    ) throws(StoreError) -> [Finding] {
        guard try [0, fileSystem.status(root).owner].contains(effectiveUser()) else { return [] }
        var findings: [Finding] = []
        // The quarantine first: what is made anew is put there.
        let names = try fileSystem.names(in: root).filter(StoreLayout.topLevelNames.contains)
            .sorted()
        for isFirst in [true, false] {
            let quarantine = try openQuarantineOrRoot(root, fileSystem)
            let check = try EntryCheck(
                fileSystem, root: root, mending: repairing ? quarantine.raw : nil)
            try checkClosed(
                names.filter { ($0 == StoreLayout.quarantine) == isFirst }, in: root, "", check,
                &findings)
        }
        return findings
    }

    /// Where to put what is made anew; the root of the store, if the quarantine itself cannot be opened.
    private static func openQuarantineOrRoot(
        _ root: Int32, _ fileSystem: any FileSystem
    ) throws(StoreError) -> Descriptor {
        do throws(StoreError) {
            let there = try fileSystem.openIfPresent(root, StoreLayout.quarantine, .directory)
            if let there { return there }
        } catch {
            guard error.isOfOneName || error.isNotDirectory else { throw error }
        }
        return try fileSystem.open(root, ".", .directory, mode: 0)
    }

    private static func checkClosed(
        _ names: [String], in directory: Int32, _ prefix: String, _ check: EntryCheck,
        _ findings: inout [Finding]
    ) throws(StoreError) {
        let fileSystem = check.fileSystem
        for name in names {
            guard let entry = try check.entry(name, at: prefix + name, in: directory) else {
                continue
            }
            if let finding = try check.foreign(entry) {
                findings.append(finding)
                // Root has given it back; the owner has another one, or none.
                guard finding.isRepaired, effectiveUser() == 0 else { continue }
            }
            let now = try check.entry(name, at: entry.path, in: directory) ?? entry
            if let finding = try check.closed(now) {
                findings.append(finding)
                if check.quarantine == nil { continue }
            }
            guard entry.status.kind == .directory, now.status.owner == check.root.owner,
                let inner = try fileSystem.openIfPresent(directory, name, .directory)
            else { continue }
            try checkClosed(
                fileSystem.names(in: inner.raw).sorted(), in: inner.raw, entry.path + "/", check,
                &findings)
        }
    }

    private static func checkNeeded(
        _ root: Int32, repairing: Bool, _ fileSystem: any FileSystem
    ) throws(StoreError) -> [Finding] {
        var findings: [Finding] = []
        let quarantine =
            repairing
            ? try openQuarantine(root, fileSystem, &findings)
            : try fileSystem.open(root, ".", .directory, mode: 0)
        let check = try EntryCheck(
            fileSystem, root: root, mending: repairing ? quarantine.raw : nil)
        for place in [StorePlace.root, .leases] {
            // What is no directory has a finding by now; what else is wrong is said by whoever opens the store.
            guard let directory = try? fileSystem.open(root, place.rawValue, .directory, mode: 0)
            else { continue }
            let names =
                try place == .root
                ? StoreLayout.directories : fileSystem.names(in: directory.raw).sorted()
            findings += try check.findings(of: names, below: place.prefix, in: directory.raw) {
                (entry) throws(StoreError) in
                let stranger = try check.stranger(entry, insteadOf: place.kind(of: entry.name))
                if stranger != nil, repairing, place == .root {
                    try fileSystem.makeDirectoryIfAbsent(directory.raw, entry.name)
                }
                return stranger
            }
        }
        return findings
    }

    /// Opens the quarantine; what stands in its place goes into a new one.
    private static func openQuarantine(
        _ root: Int32, _ fileSystem: any FileSystem, _ findings: inout [Finding]
    ) throws(StoreError) -> Descriptor {
        let name = StoreLayout.quarantine
        try fileSystem.makeDirectoryIfAbsent(root, name)
        if let status = try fileSystem.status(root, name), status.kind != .directory {
            let aside = ".\(name).\(try randomToken())"
            try fileSystem.rename(root, name, to: root, aside)
            try fileSystem.makeDirectoryIfAbsent(root, name)
            let made = try fileSystem.open(root, name, .directory, mode: 0)
            try fileSystem.rename(root, aside, to: made.raw, try StoreLayout.aside("stray"))
            findings.append(EntryCheck.stranger(status.kind, name).done)
            return made
        }
        return try fileSystem.open(root, name, .directory, mode: 0)
    }
}
