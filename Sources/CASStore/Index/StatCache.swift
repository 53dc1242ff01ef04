/// What identifies the state of a source file: as long as all of it is the same, so are the bytes.
package struct StatKey: Sendable, Hashable {
    package var device: UInt64
    package var inode: UInt64
    package var byteCount: Int64
    package var modifiedAt: Int64
    package var changedAt: Int64

    package init(
        device: UInt64, inode: UInt64, byteCount: Int64, modifiedAt: Int64, changedAt: Int64
    ) {
        self.device = device
        self.inode = inode
        self.byteCount = byteCount
        self.modifiedAt = modifiedAt
        self.changedAt = changedAt
    }

    package init(_ status: FileStatus) {
        device = status.device
        inode = status.inode
        byteCount = status.byteCount
        modifiedAt = status.modifiedAt
        changedAt = status.changedAt
    }

    /// Whether a change right after a look at `now` could leave this state as it is.
    ///
    /// A file that was changed within the clock's grain may change again without its times moving
    /// (git calls such an entry racily clean and hashes it again; so do we). Linux stamps files with
    /// a clock that ticks every 1 to 10 ms; file systems with whole seconds get two of them.
    package func isRacy(at now: Int64) -> Bool {
        let latest = max(modifiedAt, changedAt)
        let isCoarse = modifiedAt % 1_000_000_000 == 0
        return latest > now - (isCoarse ? 2_000_000_000 : 20_000_000)
    }
}

extension Index {
    /// How many versions a row that nothing has used stays.
    private static let lifetime: Int64 = 16

    /// What a file in this state contained when it was last read, if the store still holds that.
    func cachedAddress(
        _ key: StatKey, _ connection: Connection
    ) throws(StoreError) -> ObjectID? {
        let row = try connection.statement(
            """
            SELECT c.address FROM stat_cache c JOIN object o ON o.address = c.address
            WHERE c.inode = ? AND c.device = ? AND c.bytes = ? AND c.modified_at = ?
              AND c.changed_at = ? AND o.state = 1
            """
        )
        .bind(1, Int64(bitPattern: key.inode)).bind(2, Int64(bitPattern: key.device))
        .bind(3, key.byteCount).bind(4, key.modifiedAt).bind(5, key.changedAt)
        defer { row.reset() }
        return try row.step() ? row.address(0) : nil
    }

    /// Remembers what a file in this state contains.
    func cache(
        _ key: StatKey, _ address: ObjectID, ordinal: Int64, _ connection: Connection
    ) throws(StoreError) {
        try connection.statement("INSERT OR REPLACE INTO stat_cache VALUES (?,?,?,?,?,?,?)")
            .bind(1, Int64(bitPattern: key.inode)).bind(2, Int64(bitPattern: key.device))
            .bind(3, key.byteCount).bind(4, key.modifiedAt).bind(5, key.changedAt)
            .bind(6, address).bind(7, ordinal).run()
    }

    /// Drops, now and then, what no import has used for long: rebuilt source trees get new inodes,
    /// and the cache would grow by one tree for each.
    func trimCache(ordinal: Int64, _ connection: Connection) throws(StoreError) {
        guard ordinal % 8 == 0 else { return }
        try connection.statement("DELETE FROM stat_cache WHERE used < ?")
            .bind(1, ordinal - Self.lifetime).run()
    }

    /// Whether a row was used so long ago that a hit must renew it.
    func renewsCache(ordinal: Int64) -> Bool { ordinal % 8 == 7 }
}
