// Salvaging: objects are made again from copies of their bytes, wherever in the store these are.

extension Store {
    /// Makes objects again from copies, each in one step, durably.
    ///
    /// What stands in an object's place goes to quarantine. Passes over a copy whose bytes have changed since it was
    /// found, and an object that is sound by now or that no version names. Finishes what repairs that died have left.
    /// - Returns: the objects that were made again.
    /// - Throws: `.outOfSpace` if a copy can neither be linked nor be written once more; then nothing is lost.
    package func salvage(_ copies: [ObjectCopy]) throws(StoreError) -> Set<ObjectID> {
        try checkWritable()
        var made: Set<ObjectID> = []
        try writing { (index) throws(StoreError) in
            made = []
            var checker = try ObjectChecker()
            // All are staged before the first gets its place: the source of one may be what another sends to
            // quarantine, or replaces there.
            var staged: [(object: StoredObject, name: String)] = []
            for copy in copies {
                guard try self.isLost(copy.address, index, &checker),
                    let one = try self.stage(copy, &checker)
                else { continue }
                staged.append(one)
            }
            for (object, name) in staged {
                guard try self.isInstalled(object.address, from: name, &checker) else { continue }
                try index.setPresent(object)
                made.insert(object.address)
            }
            made.formUnion(try self.commitCopies(index, &checker))
            try self.syncAll()
            _ = try index.completeVersions()
        }
        return made
    }

    /// Gives copies that are still staged to the objects that are lost without them, and removes the others.
    ///
    /// Repairs stage copies while nobody else writes, so any that are found there are leftovers.
    private func commitCopies(
        _ index: IndexTransaction, _ checker: inout ObjectChecker
    ) throws(StoreError) -> Set<ObjectID> {
        let names = try fileSystem.names(in: directories.staging.raw) { (name, kind) in
            name.hasPrefix(StoreLayout.copyPrefix) && kind != .directory
        }
        var made: Set<ObjectID> = []
        for name in names {
            let path = "\(StoreLayout.staging)/\(name)"
            if let object = try readCopy(path, &checker),
                try isLost(object.address, index, &checker)
            {
                try fileSystem.setMode(directories.staging.raw, name, 0o444)
                guard try isInstalled(object.address, from: name, &checker) else { continue }
                try index.setPresent(object)
                made.insert(object.address)
            } else {
                try passingOver(
                    path, try self.fileSystem.removeIfPresent(self.directories.staging.raw, name))
            }
        }
        return made
    }

    /// Puts an object in its place, if that can be changed; why it cannot be is said where the finding is repaired.
    private func isInstalled(
        _ address: ObjectID, from name: String, _ checker: inout ObjectChecker
    ) throws(StoreError) -> Bool {
        do throws(StoreError) {
            try install(address, from: name, &checker)
            return true
        } catch {
            guard error.isOfOneName else { throw error }
            return false
        }
    }

    /// Whether versions name an object, and it is not there or not sound.
    private func isLost(
        _ address: ObjectID, _ index: IndexTransaction,
        _ checker: inout ObjectChecker
    ) throws(StoreError) -> Bool {
        guard let row = try index.object(address), row.references > 0 else {
            return false
        }
        return try !objects.isSound(address, checker: &checker)
    }

    /// Gives a copy a name among what is staged: another link; or, if there can be none or the file is executable,
    /// another file.
    /// - Returns: `nil` if it is no copy any more.
    private func stage(
        _ copy: ObjectCopy, _ checker: inout ObjectChecker
    ) throws(StoreError) -> (object: StoredObject, name: String)? {
        let staging = directories.staging.raw
        let name = "\(StoreLayout.copyPrefix)\(try randomToken())"
        guard let file = try openCopy(copy.path, names: copy.names) else { return nil }
        let status = try fileSystem.status(file.raw)
        let object = try checker.hash(file.raw, fileSystem)
        guard object.address == copy.address else { return nil }
        let isExecutableCopy =
            copy.path.hasPrefix(StoreLayout.objects + "/")
            && copy.path.hasSuffix(StoreLayout.executableCopySuffix)
        // A running writer may still truncate what it has staged.
        var isWritten = false
        if copy.path.hasPrefix(StoreLayout.staging + "/") {
            isWritten = try !fileSystem.lock(file.raw, exclusive: true)
        }
        if copy.isCastrees, status.mode & 0o111 == 0, !isExecutableCopy, !isWritten,
            try link(copy, status, as: name)
        {
            return (object, name)
        }
        _ = try self.copy(
            file.raw, of: copy.address, to: staging, name, mode: 0o444, allowingReflink: true)
        let written = try fileSystem.open(staging, name, .reading, mode: 0)
        try sync(written.raw)
        return (object, name)
    }

    /// What a file hashes to; `nil` if it cannot be read and so is no copy of anything.
    private func readCopy(
        _ path: String, _ checker: inout ObjectChecker
    ) throws(StoreError) -> StoredObject? {
        do throws(StoreError) {
            guard let file = try openCopy(path) else { return nil }
            return try checker.hash(file.raw, fileSystem)
        } catch {
            guard error.code == .io || error.code == .permission else { throw error }
            return nil
        }
    }

    private func openCopy(
        _ path: String, names: [[CChar]]? = nil
    ) throws(StoreError) -> Descriptor? {
        do throws(StoreError) {
            let root = directories.root.raw
            let file =
                if let names {
                    try fileSystem.openBeneath(root, names: names, .reading)
                } else {
                    try fileSystem.openBeneath(root, path, .reading)
                }
            guard try fileSystem.status(file.raw).kind == .regular else { return nil }
            return file
        } catch {
            guard error.code == .notFound || error.isNotDirectory else { throw error }
            return nil
        }
    }

    /// - Returns: `false` if the file cannot be linked, or another file stands there by now.
    private func link(
        _ copy: ObjectCopy, _ status: FileStatus, as name: String
    ) throws(StoreError) -> Bool {
        let staging = directories.staging.raw
        do throws(StoreError) {
            try fileSystem.link(directories.root.raw, copy.path, to: staging, name)
        } catch {
            // EXDEV, EPERM, EMLINK (link(2)); or the copy is gone.
            return false
        }
        guard try fileSystem.status(staging, name)?.isSameFile(as: status) == true else {
            try fileSystem.removeIfPresent(staging, name)
            return false
        }
        if status.mode != 0o444 { try fileSystem.setMode(staging, name, 0o444) }
        return true
    }

    /// Puts a staged file in an object's place; what stands there goes to quarantine first.
    private func install(
        _ address: ObjectID, from name: String, _ checker: inout ObjectChecker
    ) throws(StoreError) {
        let path = StoreLayout.objectPath(address)
        try objects.makeShard(of: address)
        guard try objects.quarantineUnlessSound(address, checker: &checker) else {
            return try fileSystem.removeIfPresent(directories.staging.raw, name)
        }
        objects.seal(directories.staging.raw, name, as: address, at: nanosecondsNow())
        try fileSystem.rename(
            directories.staging.raw, name, to: directories.objects.raw, path)
    }

    // MARK: What is about to be deleted

    /// Makes an object again from a file that is about to lose its last name, if it has the last sound bytes of
    /// something that a version names.
    ///
    /// What cannot be read goes to quarantine: it may be such bytes, and another user, or another day, may read them.
    /// - Parameters:
    ///   - path: where the file stands, inside the store.
    ///   - keepsStrays: whether bytes that no object has go to quarantine, too: somebody may have put them there.
    package func keepIfLast(
        _ path: String, orStray keepsStrays: Bool = false
    ) throws(StoreError) {
        var checker = try ObjectChecker()
        let address: ObjectID
        do throws(StoreError) {
            guard let file = try openCopy(path) else { return }
            if !keepsStrays { guard try mayBeNamed(file.raw) else { return } }
            address = try checker.hash(file.raw, fileSystem).address
        } catch {
            guard error.code == .permission || error.code == .io else { throw error }
            return try setAside(path, as: "unread")
        }
        let isNamed = try reading { (index) throws(StoreError) in
            (try index.object(address)?.references ?? 0) > 0
        }
        guard isNamed || keepsStrays, try !objects.isSound(address, checker: &checker) else {
            return
        }
        if isNamed {
            _ = try salvage([ObjectCopy(address: address, path: path)])
        } else {
            try setAside(path, as: "stray")
        }
    }

    /// Puts a file into quarantine, durably.
    private func setAside(_ path: String, as kind: String) throws(StoreError) {
        let quarantine = directories.quarantine.raw
        let name = try StoreLayout.aside(kind)
        try fileSystem.renameIfPresent(directories.root.raw, path, to: quarantine, name)
        try sync(quarantine)
        options.notice("\(printable(path)) in the store is \(StoreLayout.quarantine)/\(name) now")
    }

    /// Whether a version may name a file's bytes; a large file is not read for its address if no version names its size.
    private func mayBeNamed(_ file: Int32) throws(StoreError) -> Bool {
        let byteCount = try fileSystem.status(file).byteCount
        guard byteCount > 64 << 20 else { return true }
        return try reading { (index) throws(StoreError) in
            try index.namesObject(of: byteCount)
        }
    }

    /// Removes a tree below `versions/`, or what a writer has staged, and keeps the last copies in it of objects that
    /// versions name.
    ///
    /// What somebody has put into a tree, or made of a file there, goes to quarantine. Of files, only those with one link are
    /// looked at: the bytes of others stay, in the store or in a checkout whose owner linked them.
    /// - Parameters:
    ///   - parent: the name of a directory of the store.
    ///   - mayBeLast: whether a file of that name is looked at.
    ///   - mayBeStray: whether somebody may have put such a file into a tree.
    package func removeTreeKeepingContent(
        in parent: String, _ name: String, where mayBeLast: (String) -> Bool = { _ in true },
        strays mayBeStray: (FileStatus) -> Bool = { _ in true }
    ) throws(StoreError) {
        let directory = try fileSystem.open(directories.root.raw, parent, .directory, mode: 0)
        try fileSystem.removeTree(directory.raw, name) {
            (directory, entry, path) throws(StoreError) in
            guard let status = try self.fileSystem.status(directory, entry) else { return }
            let isStray = parent == StoreLayout.versions && mayBeStray(status)
            guard status.kind == .regular else {
                // No tree has links, fifos or the like.
                if isStray { try self.setAside("\(parent)/\(path())", as: "stray") }
                return
            }
            guard status.linkCount < 2, status.byteCount > 0, mayBeLast(String(cString: entry))
            else { return }
            try self.keepIfLast("\(parent)/\(path())", orStray: isStray)
        }
    }

    /// Whether another name can be given to an object's file here: tried, because no file system tells.
    package func canLink(_ address: ObjectID) throws(StoreError) -> Bool {
        let name = "\(StoreLayout.copyPrefix)\(try randomToken())"
        do throws(StoreError) {
            try fileSystem.link(
                directories.objects.raw, StoreLayout.objectPath(address),
                to: directories.staging.raw, name)
        } catch {
            // EPERM, EXDEV (link(2)); or nothing can be written here at all.
            return false
        }
        try fileSystem.removeIfPresent(directories.staging.raw, name)
        return true
    }
}
