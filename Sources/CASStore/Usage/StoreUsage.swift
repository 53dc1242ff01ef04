/// Who uses how much: the store as a whole.
public struct StoreUsage: Sendable, Hashable {
    /// Objects on disk.
    public var objects = 0
    /// What they hold, in bytes.
    public var objectBytes: Int64 = 0
    /// What everything in the store takes on disk, in bytes: blocks, each inode once.
    public var diskBytes: Int64 = 0
    /// Bytes of partial objects and of running writers.
    public var stagedBytes: Int64 = 0
    /// Bytes of objects that nothing references: what `gc` would free.
    public var unreferencedBytes: Int64 = 0
    /// What all versions together show: what plain copies would hold.
    public var apparentBytes: Int64 = 0
    /// `apparentBytes` divided by `objectBytes`; 1 when nothing is stored.
    public var ratio: Double { objectBytes > 0 ? Double(apparentBytes) / Double(objectBytes) : 1 }
}

/// One of the largest objects.
public struct LargeObject: Sendable, Hashable {
    /// The object.
    public let address: ObjectID
    /// Its size in bytes.
    public let byteCount: Int64
    /// How many versions reference it.
    public let references: Int
}

extension Store {
    /// The usage figures of the store, from the index; disk blocks from the disk.
    public func usage() throws(StoreError) -> StoreUsage {
        var usage = try index { (index) throws(StoreError) in
            try index.read { (connection) throws(StoreError) in try index.usage(connection) }
        }
        var seen: Set<InodeKey> = []
        usage.diskBytes = try diskBytes(directories.root.raw, ".", &seen)
        usage.stagedBytes = try apparentBytes(directories.root.raw, StoreLayout.staging)
        return usage
    }

    /// The largest objects, largest first.
    public func largestObjects(limit: Int) throws(StoreError) -> [LargeObject] {
        try index { (index) throws(StoreError) in
            try index.read { (connection) throws(StoreError) in
                try index.largest(limit, connection)
            }
        }
    }

    private struct InodeKey: Hashable {
        var device: UInt64
        var inode: UInt64
    }

    // As du(1): 512-byte blocks, a file with several links once.
    private func diskBytes(
        _ parent: Int32, _ name: String, _ seen: inout Set<InodeKey>
    ) throws(StoreError) -> Int64 {
        guard let directory = try fileSystem.openIfPresent(parent, name, .directory) else {
            return 0
        }
        var total = try fileSystem.status(directory.raw).blocks * 512
        var inner: [String] = []
        try fileSystem.list(directory.raw) { (entry, _) throws(StoreError) in
            guard let status = try fileSystem.status(directory.raw, entry) else { return true }
            if status.kind == .directory {
                inner.append(String(cString: entry))
                return true
            }
            if status.linkCount > 1 {
                let key = InodeKey(device: status.device, inode: status.inode)
                guard seen.insert(key).inserted else { return true }
            }
            total += status.blocks * 512
            return true
        }
        for entry in inner { total += try diskBytes(directory.raw, entry, &seen) }
        return total
    }

    private func apparentBytes(_ parent: Int32, _ name: String) throws(StoreError) -> Int64 {
        guard let directory = try fileSystem.openIfPresent(parent, name, .directory) else {
            return 0
        }
        var total: Int64 = 0
        var inner: [String] = []
        try fileSystem.list(directory.raw) { (entry, _) throws(StoreError) in
            guard let status = try fileSystem.status(directory.raw, entry) else { return true }
            if status.kind == .directory {
                inner.append(String(cString: entry))
            } else {
                total += status.byteCount
            }
            return true
        }
        for entry in inner { total += try apparentBytes(directory.raw, entry) }
        return total
    }
}

extension Index {
    func usage(_ connection: Connection) throws(StoreError) -> StoreUsage {
        var usage = StoreUsage()
        let objects = try connection.statement(
            """
            SELECT count(*), coalesce(sum(bytes), 0),
              coalesce(sum(CASE WHEN refs = 0 THEN bytes END), 0) FROM object WHERE state <> 0
            """)
        defer { objects.reset() }
        if try objects.step() {
            usage.objects = Int(objects.integer(0))
            usage.objectBytes = objects.integer(1)
            usage.unreferencedBytes = objects.integer(2)
        }
        let versions = try connection.statement(
            "SELECT coalesce(sum(bytes), 0) FROM version")
        defer { versions.reset() }
        if try versions.step() { usage.apparentBytes = versions.integer(0) }
        return usage
    }

    func largest(_ limit: Int, _ connection: Connection) throws(StoreError) -> [LargeObject] {
        var result: [LargeObject] = []
        let rows = try connection.statement(
            "SELECT address, bytes, refs FROM object WHERE state <> 0 "
                + "ORDER BY bytes DESC, address LIMIT ?"
        ).bind(1, Int64(limit))
        while try rows.step() {
            guard let address = rows.address(0) else { continue }
            result.append(
                LargeObject(
                    address: address, byteCount: rows.integer(1),
                    references: Int(rows.integer(2))))
        }
        return result
    }
}
