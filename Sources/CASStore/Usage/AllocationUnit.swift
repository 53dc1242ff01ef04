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
