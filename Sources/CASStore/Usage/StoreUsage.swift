/// The usage of the store as a whole.
public struct StoreUsage: Sendable, Hashable {
    /// The number of objects on disk.
    public var objects = 0
    /// The total size of the objects, in bytes.
    public var objectBytes: Int64 = 0
    /// The disk usage of everything in the store, in bytes: blocks, each inode once.
    public var diskBytes: Int64 = 0
    /// The size of partial objects and of running writers' files, in bytes.
    public var stagedBytes: Int64 = 0
    /// The size of unreferenced objects, which `gc` would delete, in bytes.
    public var unreferencedBytes: Int64 = 0
    /// The size of plain copies of all versions, in bytes.
    public var apparentBytes: Int64 = 0
    /// The disk usage of unreferenced objects, in bytes; `nil` if each was not examined.
    package var unreferencedDiskBytes: Int64?
    package var disk = DiskUsage()
    /// `apparentBytes` divided by `objectBytes`; 1 when nothing is stored.
    public var ratio: Double { objectBytes > 0 ? Double(apparentBytes) / Double(objectBytes) : 1 }

    package init() {}

    mutating func add(_ disk: DiskUsage) {
        self.disk = disk
        diskBytes = disk.total.diskBytes
        stagedBytes = disk[.staging].apparentBytes
    }
}

package struct LargeObject: Sendable, Hashable {
    package let address: ObjectID
    package let byteCount: Int64
    package let references: Int
    /// The disk usage with its executable copy, in bytes; 0 if the disk was not examined.
    package var diskBytes: Int64 = 0
}

extension Store {
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
