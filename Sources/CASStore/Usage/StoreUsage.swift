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

/// Estimates the disk usage of a file from its size, by the file system's allocation unit.
package struct AllocationUnit: Sendable, Hashable {
    package let byteCount: Int64

    /// - Parameter unit: from the file system; replaced by 4096 if it is a network's transfer size.
    init(_ unit: Int64) { byteCount = (512...(1 << 17)).contains(unit) ? unit : 4096 }

    /// The disk usage of a file of that size, clamped to the largest number.
    package func diskBytes(_ bytes: Int64) -> Int64 {
        let units = bytes / byteCount + (bytes % byteCount > 0 ? 1 : 0)
        let (product, isTooLarge) = units.multipliedReportingOverflow(by: byteCount)
        return isTooLarge ? .max : product
    }
}

extension Store {
    package func allocationUnit() throws(StoreError) -> AllocationUnit {
        AllocationUnit(try fileSystem.freeSpace(directories.root.raw).unit)
    }
}

extension Int64 {
    /// The sum, clamped to the largest number, so that a manifest with huge sizes cannot crash the program.
    package func addingClamped(_ other: Int64) -> Int64 {
        let (sum, isTooLarge) = addingReportingOverflow(other)
        return isTooLarge ? .max : sum
    }
}
