// What is known of source files without reading them.

extension Store {
    /// The mount that holds an open source file; `nil` if a change of a file might not show there.
    package func sourceMount(of file: Int32) -> SourceMount? {
        guard let status = fileSystem.mount(of: file), status.provesChanges else { return nil }
        // Without the name of the boot every file is read, which is always right.
        return SourceMount(status, boot: try? fileSystem.systemBoot())
    }

    /// Looks source files up in the stat cache and calls `found` for those whose content is known and
    /// stored; the others, and those without a key, must be read.
    ///
    /// - Returns: the ordinal that a new version gets, whether hits should be renewed by it, and the
    ///   moment at which the index vouched for them.
    package func lookUpSources(
        count: Int, key: (Int) -> StatKey?, found: (Int, ObjectID) -> Void
    ) throws(StoreError) -> (ordinal: Int64, renews: Bool, moment: IndexMoment) {
        try reading { (index) throws(StoreError) in
            try index.cachedAddresses(count: count, key, found: found)
            let ordinal = try index.nextOrdinal()
            let renews = index.renewsCache(ordinal: ordinal)
            return (ordinal, renews, try index.moment())
        }
    }

    /// Whether an object is there and was not touched since it was written; what was touched is read.
    package func isRight(_ address: ObjectID, byteCount: Int64) throws(StoreError) -> Bool {
        try objects.isRight(address, byteCount: byteCount) ?? false
    }

    /// Tells that a writer replaces an object whose bytes are wrong.
    func noteHealed(_ address: ObjectID) {
        options.notice(
            "object \(address) had other bytes than its address says, and is written anew from what is added; "
                + "castree fsck --repair finds the trees that still show the old ones")
    }
}
