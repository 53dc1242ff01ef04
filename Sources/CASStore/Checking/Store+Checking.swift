// Checking objects and the index: report, then repair without guessing.

extension Store {
    /// Reads every object and compares bytes, sizes, modes and the index.
    ///
    /// Safe beside writers and collectors: what looks wrong at first is looked at again while neither can act.
    /// - Parameters:
    ///   - sound: filled with the inodes of sound objects, for the checks of trees, if there are any.
    ///   - beside: what the calling thread does while other threads begin to read.
    package func checkObjects(
        _ options: CheckOptions, _ report: inout CheckReport, _ sound: inout SoundInodes,
        beside: () throws(StoreError) -> Void = { () throws(StoreError) in }
    ) throws(StoreError) -> [Suspicion] {
        let pass = try ObjectPass(self, options, keepsInodes: canTreesLinkObjects())
        try pass.run(beside: beside)
        let progress = pass.progress
        report.checkedObjects = progress.objects
        report.checkedBytes = progress.bytes
        report.skippedObjects = progress.skippedObjects
        report.skippedBytes = progress.skippedBytes
        sound = pass.sound
        return pass.confirmed
    }

    /// Whether there may be trees whose inode numbers say anything about objects.
    private func canTreesLinkObjects() throws(StoreError) -> Bool {
        let objects = try fileSystem.status(directories.objects.raw)
        let versions = try fileSystem.status(directories.versions.raw)
        // Two links are a directory's own: each directory in it adds one, unless the file system does not count
        // them and reports one in all. If a file system says otherwise, trees are read instead.
        return objects.device == versions.device && versions.linkCount != 2
    }

    /// Those of the suspicions that hold while neither writers nor collectors can act.
    func confirmed(
        _ suspicions: [Suspicion], _ checker: inout ObjectChecker
    ) throws(StoreError) -> [Suspicion] {
        var confirmed: [Suspicion] = []
        try excludingWriters { (index) throws(StoreError) in
            confirmed = []
            for suspicion in suspicions {
                guard try self.holds(suspicion, index, &checker) else { continue }
                confirmed.append(suspicion)
            }
        }
        return confirmed
    }

    // If a store cannot be written, it has no writers to exclude.
    func excludingWriters(
        _ body: (IndexTransaction) throws(StoreError) -> Void
    ) throws(StoreError) {
        try index { (index) throws(StoreError) in
            do throws(StoreError) {
                try index.write(body)
            } catch {
                guard [.readOnly, .permission, .outOfSpace].contains(error.code) else {
                    throw error
                }
                try index.read(body)
            }
        }
    }

    private func holds(
        _ suspicion: Suspicion, _ index: IndexTransaction,
        _ checker: inout ObjectChecker
    ) throws(StoreError) -> Bool {
        guard let address = suspicion.address else { return true }
        let row = try index.object(address)
        // What is behind a link in place of the shard is not an object.
        let status = try objects.hasShard(of: address) ? objects.status(address) : nil
        switch suspicion.kind {
        case .missingObject: return row?.isPresent == true && status == nil
        case .unindexedObject:
            guard row?.isPresent != true, row?.isMarkedForDeletion != true,
                status?.kind == .regular,
                status?.byteCount == suspicion.byteCount
            else { return false }
            return try !isBeingWritten(address)
        case .damagedObject:
            guard status != nil else { return false }
            return try !objects.isSound(address, checker: &checker)
        case .notAFile: return status != nil && status?.kind != .regular
        case .damagedExecutableCopy:
            guard let executableCopy = try objects.status(address, executable: true) else {
                return false
            }
            guard executableCopy.kind == .regular else { return true }
            return try !objects.isExecutableCopySound(address, checker: &checker)
        case .wrongMode:
            let isExecutableCopy = suspicion.path == StoreLayout.executableCopySuffix
            let here = isExecutableCopy ? try objects.status(address, executable: true) : status
            return here?.kind == .regular && here?.mode != (isExecutableCopy ? 0o555 : 0o444)
        case .wrongFingerprint:
            // The bytes were found to match the address: if the size is the same, so are they.
            guard let row, row.isPresent, status?.byteCount == suspicion.byteCount else {
                return false
            }
            return row.byteCount != suspicion.byteCount || row.fingerprint != suspicion.fingerprint
        default: return true
        }
    }

    // Published, not yet recorded: its writer still has the staged name.
    private func isBeingWritten(_ address: ObjectID) throws(StoreError) -> Bool {
        let staging = directories.staging.raw
        if try fileSystem.status(staging, address.description) != nil { return true }
        for lease in try leaseFiles() {
            let path = lease + "/" + address.description
            if try fileSystem.status(staging, path) != nil { return true }
        }
        return false
    }

    /// Repairs findings about objects.
    ///
    /// Damaged objects go to quarantine; every version that names one is incomplete from here on.
    /// Nothing is guessed, and files that are not castree's are left alone. What is right by now, because a
    /// writer brought it or a collector removed it, is left as it is.
    /// - Returns: the findings, each with whether it is repaired.
    package func repairObjects(
        _ confirmed: [Suspicion]
    ) throws(StoreError) -> [Finding] {
        guard !confirmed.isEmpty else { return [] }
        try checkWritable()
        var findings: [Finding] = []
        var checker = try ObjectChecker()
        try writing { (index) throws(StoreError) in
            findings = []
            for suspicion in confirmed {
                let finding = suspicion.finding
                // Confirmed in another transaction: others may have been at work since.
                guard try self.holds(suspicion, index, &checker) else {
                    findings.append(finding.adding("; it is right by now").done)
                    continue
                }
                findings.append(
                    try finding.repaired { () throws(StoreError) in
                        try self.repair(suspicion, index, &checker) ? finding.done : finding
                    })
            }
            try self.syncAll()
            _ = try index.completeVersions()
        }
        return findings
    }

    /// Moves away what stands in place of objects and is not a file, so that a file can take its place.
    package func setAsideStrangers(_ addresses: [ObjectID]) throws(StoreError) {
        guard !addresses.isEmpty else { return }
        try checkWritable()
        var checker = try ObjectChecker()
        // This changes nothing in the index, but keeps collectors and other repairs from acting meanwhile.
        try writing { (index) throws(StoreError) in
            for address in addresses {
                let suspicion = Suspicion(kind: .notAFile, address: address)
                if try self.holds(suspicion, index, &checker) {
                    _ = try self.objects.quarantineUnlessSound(address, checker: &checker)
                }
            }
        }
    }

    private func repair(
        _ suspicion: Suspicion, _ index: IndexTransaction,
        _ checker: inout ObjectChecker
    ) throws(StoreError) -> Bool {
        guard let address = suspicion.address else {
            // What stands in place of a shard goes to quarantine; any other stray is somebody's and stays.
            guard let shard = suspicion.path.flatMap(StoreLayout.shard(atPath:)) else {
                return false
            }
            try objects.makeShard(named: shard)
            return true
        }
        switch suspicion.kind {
        case .damagedObject, .notAFile:
            guard try objects.quarantineUnlessSound(address, checker: &checker) else {
                return true
            }
            try index.loseObject(address)
        case .missingObject: try index.loseObject(address)
        case .unindexedObject, .wrongFingerprint:
            try index.setPresent(
                StoredObject(
                    address: address, byteCount: suspicion.byteCount,
                    fingerprint: suspicion.fingerprint))
        case .wrongMode:
            var isExecutableCopy = suspicion.path == StoreLayout.executableCopySuffix
            if let executableCopy = try self.objects.status(address, executable: true),
                try self.objects.status(address)?.isSameFile(as: executableCopy) == true
            {
                // One inode never serves two modes: the trees that need the executable copy make it again.
                try self.objects.removeFile(of: address, executable: true)
                isExecutableCopy = false
            }
            try setMode(of: address, executable: isExecutableCopy)
            return try !holds(suspicion, index, &checker)
        case .damagedExecutableCopy:
            guard try objects.hasShard(of: address) else { return false }
            let path = StoreLayout.objectPath(address, executable: true)
            try objects.keepUnlessObject(at: path, of: address, checker: &checker)
            try fileSystem.removeTree(directories.objects.raw, path)
        default: return false
        }
        return true
    }

    /// Finds what dead writers left.
    ///
    /// A repair cleans it up.
    package func checkLeftovers(repairing: Bool) throws(StoreError) -> [Finding] {
        // Trees have a check of their own.
        let dead = try leases().dead + lostLeases(in: [.staging, .manifests])
        var findings = dead.map {
            Finding(
                .leftover, path: StoreLayout.leasePath($0),
                "a writer that died has left staged files (lease \($0))")
        }
        if repairing, !dead.isEmpty {
            try recoverDeadLeases()
            try recoverLostLeases()
            let left = try Set(leases().dead + lostLeases(in: [.staging, .manifests]))
            for (position, lease) in dead.enumerated() {
                findings[position].isRepaired = !left.contains(lease)
                if let reason = reasonStuck(of: lease) {
                    findings[position].message += "; it stays: \(reason)"
                }
            }
        }
        if repairing { try sweepAsides() }
        return findings
    }

    /// Removes what a killed check left while it was writing the files in which checks remember.
    ///
    /// A running check only loses what it was about to remember.
    private func sweepAsides() throws(StoreError) {
        let memories = [StoreLayout.verified, StoreLayout.lastCheck]
        let asides = try fileSystem.names(in: directories.root.raw) { (name, kind) in
            kind != .directory && memories.contains { name.hasPrefix(".\($0).") }
        }
        for name in asides {
            try passingOver(
                name, try self.fileSystem.removeIfPresent(self.directories.root.raw, name))
        }
    }
}
