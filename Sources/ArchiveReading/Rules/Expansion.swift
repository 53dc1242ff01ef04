package import Platform

/// How much an archive may become: a small one that would fill the disk is refused early.
package struct Expansion {
    private let archive: ArchiveName
    private let byteCountMax: Int64
    package private(set) var byteCount: Int64 = 0
    private var entryCount = 0

    /// More than this from one byte is a trap, above ``freeByteCount``.
    private static let ratioMax: Int64 = 1000
    /// The output allowed to any archive.
    private static let freeByteCount: Int64 = 64 << 20

    package init(_ archive: ArchiveName, byteCountMax: Int64) {
        self.archive = archive
        self.byteCountMax = byteCountMax
    }

    /// Counts a file by its size, before its content is read.
    /// - Throws: `.tooLarge`.
    package mutating func add(fileOf byteCount: Int64, named name: String) throws(StoreError) {
        let (sum, isHuge) = self.byteCount.addingReportingOverflow(byteCount)
        guard byteCount >= 0, !isHuge, sum <= byteCountMax else {
            throw archive.refusal(
                "with it the files have more than \(sizeText(byteCountMax)); if that is right, allow more with --max-size",
                entry: name, .tooLarge)
        }
        self.byteCount = sum
    }

    /// - Throws: `.tooLarge`.
    package mutating func addEntry(_ countMax: Int) throws(StoreError) {
        entryCount += 1
        if entryCount > countMax {
            throw archive.refusal("it has more than \(countMax) entries", .tooLarge)
        }
    }

    /// The memory of a name in bytes, and what a file takes besides.
    private static let (nameCost, fileCost): (Int64, Int64) = (64, 256)
    /// The memory allowed for any archive's names; each of its bytes allows ``memoryRatio`` more.
    private static let freeMemory: Int64 = 32 << 20
    private static let memoryRatio: Int64 = 10

    /// Refuses names that would take much more memory than the archive has bytes; implied directories count, too.
    /// - Parameter compressed: how many bytes of the archive are known to exist.
    /// - Throws: `.tooLarge`.
    package func check(
        names nameCount: Int, _ countMax: Int, from compressed: Int64, at name: String
    ) throws(StoreError) {
        guard nameCount <= countMax else {
            throw archive.refusal(
                "with it there are more than \(countMax) files and directories", entry: name,
                .tooLarge)
        }
        let cost = Int64(nameCount) * Self.nameCost + Int64(entryCount) * Self.fileCost
        let (more, isHuge) = compressed.multipliedReportingOverflow(by: Self.memoryRatio)
        guard !isHuge, cost > Self.freeMemory, cost - Self.freeMemory > more else { return }
        throw archive.refusal(
            "with it there are \(nameCount) files and directories, which would take far more memory than the archive has "
                + "bytes; if it is right, unpack it and add the directory", entry: name, .tooLarge)
    }

    /// The dictionary allowed in any archive: as large as libzstd's, and larger than usual ones.
    private static let freeDictionary: Int64 = 128 << 20

    /// Refuses a dictionary that would take much more memory than the archive has bytes.
    /// - Throws: `.tooLarge`.
    static func check(
        dictionary byteCount: Int64, from compressed: Int64, of archive: ArchiveName
    ) throws(StoreError) {
        let (most, isHuge) = compressed.multipliedReportingOverflow(by: memoryRatio)
        guard !isHuge, byteCount > max(freeDictionary, most) else { return }
        throw archive.refusal(
            "to unpack it would take \(sizeText(byteCount)) of memory, far more than the archive has bytes; make the archive "
                + "with Deflate (7z a -tzip -mm=Deflate), or unpack it and add the directory",
            .tooLarge)
    }

    /// Refuses too many bytes for the compressed ones from which they come.
    /// - Throws: `.tooLarge`.
    package static func check(
        _ byteCount: Int64, from compressed: Int64, of archive: ArchiveName
    ) throws(StoreError) {
        let (most, isHuge) = max(compressed, 1).multipliedReportingOverflow(by: ratioMax)
        guard byteCount > freeByteCount, !isHuge, byteCount > most else { return }
        throw archive.refusal(
            "it expands to more than \(ratioMax) times its size, as made to fill disks; if it is "
                + "right, unpack it and add the directory", .tooLarge)
    }
}
