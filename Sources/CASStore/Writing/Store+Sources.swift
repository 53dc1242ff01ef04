// What is known of source files without reading them.

import Synchronization

extension Store {
    /// The mount that holds an open source file; `nil` if a change of a file might not show there.
    package func sourceMount(of file: Int32) -> SourceMount? {
        guard let status = fileSystem.mount(of: file), status.provesChanges else { return nil }
        // Without the name of the boot every file is read, which is always right.
        return SourceMount(status, boot: try? fileSystem.systemBoot())
    }

    /// Looks source files up in the stat cache, and calls `found` for those whose content is known and stored.
    /// - Returns: the ordinal for a new version, whether it should renew hits, and the index version that proves them.
    package func lookUpSources(
        count: Int, key: (Int) -> StatKey?, found: (Int, ObjectID) -> Void
    ) throws(StoreError) -> (ordinal: Int64, renews: Bool, indexVersion: IndexVersion) {
        try reading { (index) throws(StoreError) in
            try index.cachedAddresses(count: count, key, found: found)
            let ordinal = try index.nextOrdinal()
            let renews = index.renewsCache(ordinal: ordinal)
            return (ordinal, renews, try index.currentVersion())
        }
    }

    /// The given objects that are missing, or that another program has changed; touched files are read.
    package func wrong(among addresses: [ObjectID]) throws(StoreError) -> Set<ObjectID> {
        let wrong = Mutex<Set<ObjectID>>([])
        try Parallel.run(workers: Parallel.workerCount, count: addresses.count) {
            (work) throws(StoreError) in
            while let chunk = work.nextChunk() {
                try self.checkInterruption()
                for position in chunk {
                    let address = addresses[position]
                    let isRight = try self.objects.isRight(address)
                    if !isRight { wrong.withLock { _ = $0.insert(address) } }
                }
            }
        }
        return wrong.withLock { $0 }
    }

    /// Reports that a writer has replaced an object whose bytes were wrong.
    func noteHealed(_ address: ObjectID) {
        healed.withLock { _ = $0.insert(address) }
        options.notice(
            "object \(address) had other bytes than its address says, and was written anew")
    }

    /// The objects that were rewritten since the last call: trees that showed them have the old files.
    package func takeHealed() -> [ObjectID] {
        healed.withLock { healed in
            defer { healed = [] }
            return healed.sorted()
        }
    }
}
