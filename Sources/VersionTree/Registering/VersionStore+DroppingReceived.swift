import CASStore

// Versions that have lost only their publisher's manifest are whole without it.

extension VersionStore {
    /// The versions that are missing only their publisher's manifest, each with its address.
    ///
    /// Excludes versions that are still being fetched, which have neither a tree nor a place in the lifecycle, and
    /// those whose manifest was rebuilt from a tree, since only the mark on what they received says so.
    /// - Parameters:
    ///   - gone: objects that are lost, whether or not the index knows it yet.
    ///   - back: objects that will be there.
    func versionsLackingOnlyReceived(
        _ gone: Set<ObjectID>, besides back: Set<ObjectID> = []
    ) throws(StoreError) -> [String: ObjectID] {
        let rows = try store.versionRows().map(\.row).filter {
            $0.recovery == .none && !($0.isComplete && gone.isEmpty)
        }
        guard !rows.isEmpty else { return [:] }
        var found: [String: ObjectID] = [:]
        let needed = try lifecycleIfReadable()?.needed ?? []
        for row in rows {
            guard let manifest = try readable(row.name),
                let received = manifest.received, !manifest.lacksFields,
                !manifest.records.contains(where: { $0.address == received.address })
            else { continue }
            var lacking: Set<ObjectID> = []
            if !row.isComplete {
                lacking.formUnion(try store.missingObjects(of: row.name)?.map(\.address) ?? [])
            }
            if gone.contains(received.address) { lacking.insert(received.address) }
            for record in manifest.records where gone.contains(record.address) {
                lacking.insert(record.address)
            }
            guard lacking.subtracting(back) == [received.address] else { continue }
            // It was whole until now, or once was.
            let isWhole = gone.contains(received.address) || needed.contains(row.name)
            if !isWhole, try !isMaterialized(row.name) { continue }
            found[row.name] = received.address
        }
        return found
    }

    /// Drops the lost publisher's manifest from versions that are missing nothing else.
    /// - Parameter gone: objects that are lost.
    /// - Returns: the versions that are complete as a result, each with the address of the dropped manifest.
    func dropLostReceived(_ gone: Set<ObjectID>) throws(StoreError) -> [String: ObjectID] {
        var dropped: [String: ObjectID] = [:]
        for (name, address) in try versionsLackingOnlyReceived(gone) {
            if try dropReceived(address, of: name) { dropped[name] = address }
        }
        return dropped
    }

    /// - Returns: `false` if the manifest has come back, or the version has changed, meanwhile.
    private func dropReceived(
        _ address: ObjectID, of name: String
    ) throws(StoreError) -> Bool {
        let existing = try manifestStatus(name)
        guard var manifest = try readable(name), manifest.received?.address == address else {
            return false
        }
        manifest.received = nil
        let lease = try store.makeLease()
        let file = ManifestFile(self, manifest, lease: lease.name)
        do throws(StoreError) {
            return try file.replacing(file.registration(), by: file.write()) {
                (registration) throws(StoreError) -> Bool in
                let isComplete = try self.store.revise(
                    registration, if: { $0?.isComplete == false },
                    replaceManifest: { () throws(StoreError) in
                        guard try self.manifestStatus(name) == existing else { throw Self.lost }
                        try file.replace()
                    })
                guard let isComplete else { throw Self.lost }
                return isComplete
            }
        } catch {
            guard error.code == .lost || error.code == .mismatch else { throw error }
            return false
        }
    }

    static let lost = StoreError(.lost, "somebody has changed the version meanwhile")
}
