import StorageTestSupport

/// The executable copy of an object, when several make it at once.
@Suite struct ExecutableCopyBatchTests {
    private func inode(_ store: Store, _ address: ObjectID) throws -> UInt64? {
        try store.objects.status(address, executable: true)?.inode
    }

    // Each of two writers found none and has staged its own; a tree of the first links to it by now.
    @Test func `an executable copy that stands is not replaced by another's`() throws {
        let temporary = try TemporaryStore()
        let store = temporary.store
        let address = try temporary.put("#!shared")
        let one = try store.makeLease()
        let other = try store.makeLease()
        var (first, second) = (
            ExecutableCopyBatch(store, lease: one), ExecutableCopyBatch(store, lease: other)
        )
        try first.stage(address)
        try second.stage(address)
        try first.publish()
        let shown = try inode(store, address)
        expect(shown != nil)
        try second.publish()
        try expect(inode(store, address), equals: shown)
        // Said again, after a failure behind it, it is done already.
        try second.publish()
        try expect(inode(store, address), equals: shown)
    }

    @Test func `an executable copy of another size makes way`() throws {
        let temporary = try TemporaryStore()
        let address = try temporary.put("#!shared")
        let lease = try temporary.store.makeLease()
        let path = temporary.objectPath(address) + StoreLayout.executableCopySuffix
        try Damage.overwriteOrCreate(path, with: bytes("#!sh"))
        var twins = ExecutableCopyBatch(temporary.store, lease: lease)
        try twins.stage(address)
        try twins.publish()
        try expect(Damage.contents(path), equals: bytes("#!shared"))
    }
}
