// Cleans up after writers that died. Idempotent: a process that dies here is cleaned up after, too.

extension Store {
    /// Finishes what dead writers left: staged files, and objects published but not yet recorded.
    ///
    /// Costs one directory listing when there is nothing to do. What cannot be opened or removed stays without its
    /// lease, where only collections and checks meet it.
    package func recoverDeadLeases() throws(StoreError) {
        for name in try leaseFiles() {
            try passingOver(StoreLayout.leasePath(name)) { () throws(StoreError) in
                _ = try self.withDeadLease(name) { () throws(StoreError) in
                    try self.recover(name)
                    // Perhaps it never was a lease.
                    try self.keepIfLast(StoreLayout.leasePath(name))
                    try self.fileSystem.removeTree(self.directories.leases.raw, name)
                }
            }
        }
        try recoverPublished()
    }

    /// Removes the locks of killed pulls; a living pull checks that its file is still there once it has the lock.
    package func removeDeadLocksOfPulls() throws(StoreError) {
        let leases = directories.leases.raw
        for name in try fileSystem.names(in: leases) where StoreLayout.isLockOfPull(name) {
            try passingOver(StoreLayout.leasePath(name)) { () throws(StoreError) in
                _ = try self.withDeadLease(name) { () throws(StoreError) in
                    try self.fileSystem.removeIfPresent(leases, name)
                }
            }
        }
    }

    /// Finishes what writers left whose lease a power cut took, since leases are not synced.
    func recoverLostLeases() throws(StoreError) {
        for name in try lostLeases(in: [.staging, .manifests, .versions]) { try recover(name) }
    }

    /// Where writers leave entries that end in the name of their lease.
    enum LeaseTrace { case staging, manifests, versions }

    func lostLeases(in traces: [LeaseTrace]) throws(StoreError) -> [String] {
        var found: [String: [(directory: Int32, name: String)]] = [:]
        for trace in traces {
            let directory =
                switch trace {
                case .staging: directories.staging.raw
                case .manifests: directories.manifests.raw
                case .versions: directories.versions.raw
                }
            let names = try fileSystem.names(in: directory) { (_, kind) in
                (kind == .directory) == (trace != .manifests)
            }
            for name in names {
                guard let lease = Self.lease(thatLeft: name, in: trace) else { continue }
                // It is already being deleted, which needs no lease.
                if trace == .versions, try fileSystem.isLocked(directory, name) { continue }
                found[lease, default: []].append((directory, name))
            }
        }
        var lost: [String] = []
        // Check after listing the entries: a writer with entries has a lease, and an ended one has none left.
        for (lease, entries) in found.sorted(by: { $0.key < $1.key })
        where try fileSystem.status(directories.leases.raw, lease) == nil {
            for entry in entries
            where try fileSystem.status(entry.directory, entry.name) != nil {
                lost.append(lease)
                break
            }
        }
        return lost
    }

    /// The lease that an entry's name ends in; `nil` if there is none.
    static func lease(thatLeft name: String, in trace: LeaseTrace) -> String? {
        var lease = name[...]
        if trace != .staging {
            guard name.hasPrefix("."), let dot = name.lastIndex(of: ".") else { return nil }
            lease = name[name.index(after: dot)...]
        }
        // <process id>-<token>
        let parts = lease.split(separator: "-", omittingEmptySubsequences: false)
        guard parts.count == 2, Int32(parts[0]) != nil, parts[1].utf8.count == 16 else {
            return nil
        }
        return String(lease)
    }

    /// Records objects whose writer died after naming them: their staged name has a second link.
    private func recoverPublished() throws(StoreError) {
        let staging = directories.staging.raw
        var left: [String] = []
        let published = try publishedNames(in: staging) { left.append($0) }
        // Second links of files whose writers died before using them to replace something damaged.
        for name in left where name.hasSuffix(StoreLayout.spareSuffix) {
            try removeUnlessWritten(name) { () throws(StoreError) in }
        }
        if left.contains(where: { $0.hasPrefix(StoreLayout.copyPrefix) }) { _ = try salvage([]) }
        for address in published {
            try removeUnlessWritten(address.description) { () throws(StoreError) in
                var checker = try ObjectChecker()
                guard let object = try self.objects.verified(address, checker: &checker) else {
                    return
                }
                try self.syncEntries(of: address)
                try self.writing { (index) throws(StoreError) in
                    try self.record([object], index)
                    _ = try index.completeVersions()
                }
            }
        }
    }

    /// Removes a staged file that no process writes, after running `body`.
    private func removeUnlessWritten(
        _ name: String, after body: () throws(StoreError) -> Void
    ) throws(StoreError) {
        let staging = directories.staging.raw
        try passingOver("\(StoreLayout.staging)/\(name)") { () throws(StoreError) in
            guard let file = try self.fileSystem.openIfPresent(staging, name, .reading),
                try self.fileSystem.lock(file.raw, exclusive: true)
            else { return }
            try body()
            try self.fileSystem.removeIfPresent(staging, name)
        }
    }

    /// Records the intact objects that still exist: unclaimed ones may have been collected since they were read.
    private func record(_ found: [StoredObject], _ index: IndexTransaction) throws(StoreError) {
        for object in found where try objects.contains(object.address) {
            try index.setPresent(object)
        }
    }

    /// Whether a staged file is also an object: it has a third name besides its own and the one for replacing a
    /// damaged file.
    func isPublished(
        _ staged: Int32, _ name: String, _ status: FileStatus
    ) throws(StoreError) -> Bool {
        guard status.linkCount > 1 else { return false }
        let spare = try fileSystem.status(staged, name + StoreLayout.spareSuffix)
        return status.linkCount > (spare?.isSameFile(as: status) == true ? 2 : 1)
    }

    /// - Parameter others: called with second links for replacing damaged files, and with copies that repairs stage.
    func publishedNames(
        in directory: Int32, others: (String) -> Void = { _ in }
    ) throws(StoreError) -> [ObjectID] {
        var addresses: [ObjectID] = []
        try fileSystem.list(directory) { (entry, kind) throws(StoreError) in
            let name = String(cString: entry)
            if kind != .directory,
                name.hasSuffix(StoreLayout.spareSuffix) || name.hasPrefix(StoreLayout.copyPrefix)
            {
                others(name)
            }
            guard kind != .directory, let address = ObjectID(name),
                let status = try fileSystem.status(directory, entry),
                status.kind == .regular,
                try isPublished(directory, name, status)
            else { return true }
            addresses.append(address)
            return true
        }
        return addresses
    }

    func recover(_ lease: String) throws(StoreError) {
        let staged = "\(StoreLayout.staging)/\(lease)"
        var published: [StoredObject] = []
        let isRead = try passingOver(staged) { () throws(StoreError) in
            published = try self.publishedObjects(of: lease)
        }
        try writing { (index) throws(StoreError) in
            try self.record(published, index)
            // A writer that dies between a manifest's rename and its own transaction leaves an unrecorded version.
            try index.reconcile(thoroughly: true)
        }
        if isRead {
            try passingOver(staged) { () throws(StoreError) in
                try self.putBackIncoming(of: lease)
                try self.removeTreeKeepingContent(in: StoreLayout.staging, lease) { name in
                    // Everything needed under such a name was put back; hashing the rest would be expensive.
                    !Self.isStagedName(name)
                }
            }
        }
        for name in try hidden(of: lease, in: directories.manifests.raw) {
            try passingOver(
                "\(StoreLayout.manifests)/\(name)",
                try self.fileSystem.removeIfPresent(self.directories.manifests.raw, name))
        }
        for name in try hidden(of: lease, in: directories.versions.raw)
        where try !isLastOfItsVersion(name, lease) {
            try passingOver(StoreLayout.treePath(name)) { () throws(StoreError) in
                // Files copied by the tree's builder are read-only from the beginning, and may be torn.
                try self.removeTreeKeepingContent(
                    in: StoreLayout.versions, name, strays: { $0.mode & 0o222 != 0 })
            }
        }
    }

    /// Whether the lifecycle needs a version that has only a hidden tree left, which a repair brings back.
    private func isLastOfItsVersion(_ hidden: String, _ lease: String) throws(StoreError) -> Bool {
        let version = String(hidden.dropFirst().dropLast(lease.utf8.count + 1))
        guard try fileSystem.status(directories.versions.raw, version) == nil,
            try fileSystem.status(directories.manifests.raw, StoreLayout.manifest(version)) == nil
        else { return false }
        return try index { (index) throws(StoreError) in
            try index.manifests.isSpokenOf(version, directories, fileSystem)
        }
    }

    // The staged name of an object goes last, so a file with two links here was published, and the index may not know
    // it. Its bytes are checked: its writer may have died before the sync.
    private func publishedObjects(of lease: String) throws(StoreError) -> [StoredObject] {
        let (sound, torn) = try published(by: lease)
        // Torn by a power cut before its sync, so never acknowledged.
        for address in torn { try takeTorn(address, of: lease) }
        if !sound.isEmpty || !torn.isEmpty { try syncAll() }
        return sound
    }

    // A writer may have put intact bytes there since the object was read.
    private func takeTorn(_ address: ObjectID, of lease: String) throws(StoreError) {
        guard
            let staging = try fileSystem.openIfPresent(directories.staging.raw, lease, .directory)
        else { return }
        let aside = "\(address).torn"
        try fileSystem.removeTree(staging.raw, aside)
        var checker = try ObjectChecker()
        let isSound = try objects.takeUnlessSound(
            address, to: staging.raw, aside, checker: &checker)
        // It is deleted with what is staged, and may be the last copy of something else.
        if !isSound { try keepIfLast("\(StoreLayout.staging)/\(lease)/\(aside)") }
        // A process that needs the executable copy makes it again.
        let executableCopy = StoreLayout.objectPath(address, executable: true)
        try keepIfLast("\(StoreLayout.objects)/\(executableCopy)")
        try objects.removeFile(of: address, executable: true)
    }

    /// What a writer has published and perhaps not recorded, intact or torn.
    func published(
        by lease: String
    ) throws(StoreError) -> (sound: [StoredObject], torn: [ObjectID]) {
        guard
            let staging = try fileSystem.openIfPresent(directories.staging.raw, lease, .directory)
        else { return ([], []) }
        return try examined(try publishedNames(in: staging.raw))
    }

    func examined(
        _ addresses: [ObjectID]
    ) throws(StoreError) -> (sound: [StoredObject], torn: [ObjectID]) {
        guard !addresses.isEmpty else { return ([], []) }
        var checker = try ObjectChecker()
        var sound: [StoredObject] = []
        var torn: [ObjectID] = []
        for address in addresses {
            if let object = try objects.verified(address, checker: &checker) {
                sound.append(object)
            } else {
                torn.append(address)
            }
        }
        return (sound, torn)
    }

    private static func isStagedName(_ name: String) -> Bool {
        guard ObjectID(String(name.prefix(64))) != nil else { return false }
        return name.utf8.count == 64 || ObjectID(String(name.dropFirst(65))) != nil
    }

    /// Moves uncommitted content that a registered version lacks to where the next incoming content continues
    /// it.
    ///
    /// It may be torn: the next incoming content reads it again.
    private func putBackIncoming(of lease: String) throws(StoreError) {
        let staging = directories.staging.raw
        guard let own = try fileSystem.openIfPresent(staging, lease, .directory) else { return }
        var found: [(file: String, name: ObjectID)] = []
        try fileSystem.list(own.raw) { (entry, kind) throws(StoreError) in
            let file = String(cString: entry)
            guard kind != .directory, Self.isStagedName(file),
                let name = ObjectID(String(file.prefix(64)))
            else { return true }
            found.append((file, name))
            return true
        }
        guard !found.isEmpty else { return }
        let (wanted, present) = try reading {
            (index) throws(StoreError) -> (Set<ObjectID>, Set<ObjectID>) in
            var (wanted, present): (Set<ObjectID>, Set<ObjectID>) = ([], [])
            for (_, name) in found {
                guard let row = try index.object(name), row.references > 0 else {
                    continue
                }
                if row.isPresent { present.insert(name) } else { wanted.insert(name) }
            }
            return (wanted, present)
        }
        // A writer stages an existing object only if that one is damaged.
        for (file, name) in found where present.contains(name) {
            guard let status = try fileSystem.status(own.raw, file),
                try !isPublished(own.raw, file, status)
            else { continue }
            try keepIfLast("\(StoreLayout.staging)/\(lease)/\(file)")
        }
        for (file, name) in found where wanted.contains(name) {
            let status = try fileSystem.status(own.raw, file)
            guard let status, status.kind == .regular, try !isPublished(own.raw, file, status)
            else { continue }
            do throws(StoreError) {
                try fileSystem.setMode(own.raw, file, 0o600)
                try fileSystem.renameNew(own.raw, file, to: staging, name.description)
            } catch {
                // It is already being staged, or the disk is full: it will come again.
                guard error.isExisting || error.code == .outOfSpace else { throw error }
            }
        }
    }

    private func hidden(
        of lease: String, in directory: Int32
    ) throws(StoreError) -> [String] {
        try fileSystem.names(in: directory) { (name, _) in
            name.hasPrefix(".") && name.hasSuffix(".\(lease)")
        }
    }
}
