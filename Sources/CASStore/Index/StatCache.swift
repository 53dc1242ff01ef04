/// Identifies the state of a source file: as long as all of it is the same, so are the bytes.
package struct StatKey: Sendable, Hashable {
    package var device: UInt64
    package var inode: UInt64
    package var byteCount: Int64
    package var modifiedAt: Int64
    package var changedAt: Int64
    /// Kept beside the key of a cache row, not in it: a file has one row, however it is mounted.
    package var mount: SourceMount

    package init(
        device: UInt64, inode: UInt64, byteCount: Int64, modifiedAt: Int64, changedAt: Int64,
        mount: SourceMount
    ) {
        self.device = device
        self.inode = inode
        self.byteCount = byteCount
        self.modifiedAt = modifiedAt
        self.changedAt = changedAt
        self.mount = mount
    }
}

extension FileStatus {
    /// Whether no later content of a file that is read now can have this state.
    package func provesContent(at now: Int64) -> Bool { !isRacy(at: now) && hasFineChangeTime }

    /// Whether a change right after a look at `now` could leave this state as it is.
    ///
    /// A file that was changed within the clock's grain may change again without its times moving (git calls such an
    /// entry racily clean and hashes it again; so do we). Linux stamps files with a clock that ticks every 1 to 10
    /// ms; a file system that keeps whole seconds gets two.
    package func isRacy(at now: Int64) -> Bool {
        let latest = max(modifiedAt, changedAt)
        let isCoarse = modifiedAt % 1_000_000_000 == 0
        return latest > now - (isCoarse ? 2_000_000_000 : 20_000_000)
    }

    /// Whether the kernel stamped the last change by a clock, which practically never hits a whole second.
    ///
    /// Otherwise the maker of the image chose the time, perhaps the same one for other bytes, or the file system
    /// keeps no more (ext2, ext3, inodes of 128 bytes).
    package var hasFineChangeTime: Bool { changedAt % 1_000_000_000 != 0 }
}

extension IndexTransaction {
    /// For how many versions an unused row stays.
    private static let lifetime: Int64 = 16

    /// The content of files in these states when they were last read, if the store still has it.
    ///
    /// Scans rows in their order: a look-up for each file would cost several times as much.
    func cachedAddresses(
        count: Int, _ key: (Int) -> StatKey?,
        found: (Int, ObjectID) -> Void
    ) throws(StoreError) {
        var mounts: [SourceMount: Int64] = [:]
        for position in 0..<count {
            guard let mount = key(position)?.mount, mounts[mount] == nil else { continue }
            // Zero is no mount's number.
            mounts[mount] = try number(of: mount) ?? 0
        }
        guard mounts.values.contains(where: { $0 != 0 }) else { return }
        // With their places: making a key for each comparison would cost more than everything else here.
        var order: [(place: CachePlace, position: UInt32)] = []
        order.reserveCapacity(count)
        for position in 0..<count {
            guard let key = key(position) else { continue }
            order.append((CachePlace(key), UInt32(position)))
        }
        order.sort { $0.place < $1.place }
        var rows = OrderedCursor<CachePlace>(
            try statement(
                """
                SELECT inode, device, bytes, modified_at, changed_at, object, mount FROM stat_cache
                WHERE (inode, device) >= (?, ?) ORDER BY inode, device
                """), bind: { $0.bind(1, $1.inode).bind(2, $1.device) }
        ) { (row) throws(StoreError) in
            CachePlace(inode: row.integer(0), device: row.integer(1))
        }
        defer { rows.end() }
        var hits: [Hit] = []
        for (place, position) in order {
            guard let key = key(Int(position)), let row = try rows.find(place),
                row.integer(2) == key.byteCount, row.integer(3) == key.modifiedAt,
                row.integer(4) == key.changedAt, row.integer(6) == mounts[key.mount]
            else { continue }
            hits.append(Hit(position: position, object: row.integer(5)))
            guard hits.count == Hit.countMax else { continue }
            try report(&hits, found)
        }
        try report(&hits, found)
    }

    private struct CachePlace: Comparable {
        var inode: Int64
        var device: Int64

        init(inode: Int64, device: Int64) {
            self.inode = inode
            self.device = device
        }

        init(_ key: StatKey) {
            inode = Int64(bitPattern: key.inode)
            device = Int64(bitPattern: key.device)
        }

        static func < (left: CachePlace, right: CachePlace) -> Bool {
            left.inode == right.inode ? left.device < right.device : left.inode < right.inode
        }
    }

    private struct Hit {
        static let countMax = 16_384
        var position: UInt32
        var object: Int64
    }

    private func report(
        _ hits: inout [Hit], _ found: (Int, ObjectID) -> Void
    ) throws(StoreError) {
        hits.sort { $0.object < $1.object }
        var objects = OrderedCursor<Int64>(
            try statement(
                "SELECT id, state, address FROM object WHERE id >= ? ORDER BY id"),
            bind: { $0.bind(1, $1) }
        ) { (row) throws(StoreError) in row.integer(0) }
        defer { objects.end() }
        for hit in hits {
            guard let row = try objects.find(hit.object),
                row.integer(1) == ObjectState.present.rawValue, let address = row.address(2)
            else { continue }
            found(Int(hit.position), address)
        }
        hits.removeAll(keepingCapacity: true)
    }

    func cache(_ files: some Sequence<(StatKey, ObjectID)>, ordinal: Int64) throws(StoreError) {
        var mounts: [SourceMount: Int64] = [:]
        for (key, address) in files {
            if mounts[key.mount] == nil {
                mounts[key.mount] = try noteNumber(of: key.mount)
            }
            // By the id, which is never reused: an address would double the row.
            try statement(
                """
                INSERT OR REPLACE INTO stat_cache
                SELECT ?1, ?2, ?3, ?4, ?5, id, ?7, ?8 FROM object WHERE address = ?6
                """
            )
            .bind(1, Int64(bitPattern: key.inode)).bind(2, Int64(bitPattern: key.device))
            .bind(3, key.byteCount).bind(4, key.modifiedAt).bind(5, key.changedAt)
            .bind(6, address).bind(7, ordinal).bind(8, mounts[key.mount] ?? 0).run()
        }
    }

    /// Now and then drops rows unused for long: each rebuilt source tree has new inodes, and the cache would grow.
    ///
    /// Continues where it ended last time, and reads no more rows than an import of `files` warrants.
    func trimCache(ordinal: Int64, files: Int64) throws(StoreError) {
        guard ordinal % 8 == 0 else { return }
        let start = try meta("trimmed_to") ?? .min
        let end = try statement(
            "SELECT inode FROM stat_cache WHERE inode >= ? ORDER BY inode LIMIT 1 OFFSET ?"
        ).bind(1, start).bind(2, 4096 + 32 * files).firstInteger()
        try statement(
            "DELETE FROM stat_cache WHERE inode >= ? AND inode < ? AND used < ?"
        )
        .bind(1, start).bind(2, end ?? Int64.max).bind(3, ordinal - Self.lifetime).run()
        try setMeta("trimmed_to", end ?? .min)
    }

    /// Whether a row was used so long ago that a hit must renew it.
    func renewsCache(ordinal: Int64) -> Bool { ordinal % 8 == 7 }
}

/// Identifies a mount on which unchanged times prove unchanged bytes, while it is mounted and the system runs.
///
/// Another image at the same place has a different name or mount. Nothing read before the boot proves anything: after
/// a power cut a file's bytes may be older or newer than its times, which are in the journal (ext4 and xfs do not
/// order data that overwrites other data).
package struct SourceMount: Sendable, Hashable {
    /// A hash of the file system, the mount and the boot.
    let name: Int64

    package init(name: Int64) { self.name = name }

    /// - Returns: `nil` if a change of a file might not show there, or if that cannot be known.
    package init?(_ status: MountStatus?, boot: String?) {
        guard let status, status.provesChanges, let boot, !boot.isEmpty else { return nil }
        let text = "castree-mount 1 \(status.kind) \(status.fileSystem) \(status.number) \(boot)"
        let hash = Array(text.utf8).withUnsafeBytes { Fingerprinter.fingerprint($0) }
        name = Int64(bitPattern: hash.low)
    }
}

extension IndexTransaction {
    /// How many mounts are remembered: those of the last boots, and of containers, which have their own.
    private static let mountsMax: Int64 = 64

    /// The number of a mount in rows of the cache, which is shorter than its name.
    func number(of mount: SourceMount) throws(StoreError) -> Int64? {
        try statement("SELECT id FROM mount WHERE name = ?").bind(1, mount.name).firstInteger()
    }

    /// Like ``number(of:)``, but gives a new mount a number, never one used before: the largest is not dropped.
    func noteNumber(of mount: SourceMount) throws(StoreError) -> Int64 {
        if let known = try number(of: mount) { return known }
        let number =
            try statement("SELECT coalesce(max(id), 0) + 1 FROM mount").firstInteger() ?? 1
        try statement("INSERT INTO mount VALUES (?, ?)").bind(1, number)
            .bind(2, mount.name).run()
        try statement("DELETE FROM mount WHERE id <= ?").bind(1, number - Self.mountsMax)
            .run()
        return number
    }
}
