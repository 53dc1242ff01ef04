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
    /// What the objects that nothing references take on disk, in bytes; `nil` if nobody looked at each.
    package var unreferencedDiskBytes: Int64?
    /// The same on disk, part by part; the sums above come from here.
    package var disk = DiskUsage()
    /// `apparentBytes` divided by `objectBytes`; 1 when nothing is stored.
    public var ratio: Double { objectBytes > 0 ? Double(apparentBytes) / Double(objectBytes) : 1 }

    /// The usage of an empty store.
    package init() {}

    /// Adds the figures of the disk.
    mutating func add(_ disk: DiskUsage) {
        self.disk = disk
        diskBytes = disk.total.diskBytes
        stagedBytes = disk[.staging].apparentBytes
    }
}

/// One of the largest objects.
package struct LargeObject: Sendable, Hashable {
    package let address: ObjectID
    /// Its size in bytes.
    package let byteCount: Int64
    /// How many versions reference it.
    package let references: Int
    /// What it takes on disk, with its executable copy, in bytes; 0 if nobody looked.
    package var diskBytes: Int64 = 0
}

extension Store {
    /// What the objects hold, in bytes, according to the index; does not look at the disk.
    package func objectBytes() throws(StoreError) -> Int64 {
        try reading { (index) throws(StoreError) in
            try index.statement("SELECT coalesce(sum(bytes), 0) FROM object WHERE state <> 0")
                .firstInteger() ?? 0
        }
    }

    /// The usage figures of the store, from the index; disk blocks from the disk.
    public func usage() throws(StoreError) -> StoreUsage {
        var usage = try usageTable().usage
        usage.add(try diskUsage())
        return usage
    }
}
