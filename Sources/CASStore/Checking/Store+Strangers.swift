// Strangers: what stands in place of something of the store's and is of another kind, such as a link, a fifo or a
// directory where a file belongs. Nothing is read through one; a repair puts it into quarantine, whatever it holds.

extension Store {
    /// Finds strangers in place of what has no other check, and small files that are closed to their owner.
    ///
    /// - Parameter repairing: whether to put strangers into quarantine, and to set modes.
    package func checkStrangers(repairing: Bool) throws(StoreError) -> [Finding] {
        let owner = Owner(try fileSystem.status(directories.root.raw))
        var findings: [Finding] = []
        for place in StorePlace.allCases {
            guard let opened = try open(place) else { continue }
            let names = try fileSystem.names(in: opened.raw) { (name, kind) in
                place.holdsFew || place == .versions
                    || place.kind(of: name).map { $0 != kind } ?? false
            }
            for name in names.sorted() {
                guard let status = try fileSystem.status(opened.raw, name) else { continue }
                if let finding = try Self.checkStranger(
                    name, place, status, in: opened.raw,
                    repairing ? directories.quarantine.raw : nil, fileSystem)
                {
                    findings.append(finding)
                } else if place.isOurs(name),
                    let finding = try Self.checkForeign(
                        name, place.path(of: name), status, in: opened.raw, owner,
                        mending: repairing ? directories.quarantine.raw : nil, fileSystem)
                {
                    findings.append(finding)
                } else if place.isOurs(name),
                    let finding = try Self.checkClosed(
                        name, place.path(of: name), status, in: opened.raw, owner.user,
                        repairing: repairing, fileSystem)
                {
                    findings.append(finding)
                }
            }
        }
        for shard in try objects.shards() {
            let path = "\(StoreLayout.objects)/\(shard)"
            guard let status = try fileSystem.status(directories.objects.raw, shard) else {
                continue
            }
            if let finding = try Self.checkForeign(
                shard, path, status, in: directories.objects.raw, owner,
                mending: repairing ? directories.quarantine.raw : nil, fileSystem)
            {
                findings.append(finding)
            } else if let finding = try Self.checkClosed(
                shard, path, status, in: directories.objects.raw, owner.user,
                repairing: repairing, fileSystem)
            {
                findings.append(finding)
            }
        }
        return findings
    }

    /// Opens a place; `nil` if it is not there, is a stranger itself, or is closed to this user: then that is found, or
    /// said where it is needed.
    private func open(_ place: StorePlace) throws(StoreError) -> Descriptor? {
        do throws(StoreError) {
            return try fileSystem.openIfPresent(
                directories.root.raw, place.rawValue, .directory)
        } catch {
            guard error.isNotDirectory || error.code == .permission else { throw error }
            return nil
        }
    }

    /// Finds what keeps a check from being made: what is closed to the store's owner, and what stands in place of
    /// something without which a store cannot be opened, or what must be looked at not be locked.
    ///
    /// - Parameters:
    ///   - path: where the store is.
    ///   - repairing: whether to set modes, to put strangers into quarantine, and to make directories again.
    ///   - fileSystem: makes the calls.
    /// - Throws: what is wrong with the root of the store or its file FORMAT.
    package static func checkAccess(
        at path: String, repairing: Bool, fileSystem: any FileSystem = POSIXFileSystem()
    ) throws(StoreError) -> [Finding] {
        let closed = try checkClosed(at: path, repairing: repairing, fileSystem: fileSystem)
        // It hides what is behind it.
        guard closed.isEmpty || repairing else { return closed }
        return closed
            + (try checkNeeded(at: path, repairing: repairing, fileSystem: fileSystem))
    }

    private static func checkNeeded(
        at path: String, repairing: Bool, fileSystem: any FileSystem
    ) throws(StoreError) -> [Finding] {
        let root = try openRoot(path, fileSystem)
        let fileSystem = try OwnersFileSystem.around(fileSystem, root: root.raw, of: path)
        try checkFormat(root.raw, path, fileSystem)
        var findings: [Finding] = []
        let quarantine =
            repairing
            ? try openQuarantine(root.raw, fileSystem, &findings)
            : try fileSystem.open(root.raw, ".", .directory, mode: 0)
        for place in [StorePlace.root, .leases] {
            // What is no directory has a finding by now; what else is wrong is said by whoever opens the store.
            guard
                let directory = try? fileSystem.open(root.raw, place.rawValue, .directory, mode: 0)
            else { continue }
            let names =
                try place == .root
                ? StoreLayout.directories : fileSystem.names(in: directory.raw).sorted()
            for name in names {
                guard let status = try fileSystem.status(directory.raw, name),
                    let finding = try checkStranger(
                        name, place, status, in: directory.raw, repairing ? quarantine.raw : nil,
                        fileSystem)
                else { continue }
                findings.append(finding)
                if repairing, place == .root {
                    try fileSystem.makeDirectoryIfAbsent(directory.raw, name)
                }
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
            findings.append(finding(status.kind, name).done)
            return made
        }
        return try fileSystem.open(root, name, .directory, mode: 0)
    }

    /// - Parameter quarantine: where to put it; `nil` to leave it where it is.
    private static func checkStranger(
        _ name: String, _ place: StorePlace, _ status: FileStatus, in directory: Int32,
        _ quarantine: Int32?, _ fileSystem: any FileSystem
    ) throws(StoreError) -> Finding? {
        // Not every file system tells the kind of an entry in its directory.
        guard let wanted = place.kind(of: name), status.kind != wanted else { return nil }
        let found = finding(status.kind, place.path(of: name))
        guard let quarantine else {
            return found.adding("; castree fsck --repair puts it into quarantine")
        }
        return try found.repaired { () throws(StoreError) in
            let aside = try StoreLayout.aside("stray")
            try fileSystem.ifPresent { () throws(StoreError) in
                try fileSystem.move(directory, name, to: quarantine, aside)
            }
            // Somebody was quicker, and this is what belongs there.
            if try fileSystem.status(quarantine, aside)?.kind == wanted {
                try fileSystem.renameNew(quarantine, aside, to: directory, name)
            }
            return found.done
        }
    }

    private static func finding(_ kind: FileStatus.Kind, _ path: String) -> Finding {
        Finding(
            path.hasPrefix(StoreLayout.versions + "/") ? .strayTree : .strayFile,
            path: printable(path, .max),
            "\(kind.noun) stands at \(printable(path)) in the store, and is not castree's")
    }
}
