internal import Platform

/// Compares what stands before each file of a zip archive with the directory.
///
/// libzip does the same, and up to 1.7 refuses what bsdtar, Windows' tar and others write: sizes before a file although
/// a data descriptor follows it. APPNOTE.TXT 6.3.10, 4.4.4, wants zeros there. The true number is no contradiction.
struct ZipHeaders {
    private let source: ArchiveSource
    /// Where each file begins and ends.
    private var places: [(start: Int64, end: Int64, name: String)] = []

    init(_ source: ArchiveSource) {
        self.source = source
    }

    private static let headerByteCount = 30
    private static let hasDescriptor: Int64 = 8

    /// - Parameter header: the file's header in the directory, and what follows it.
    /// - Throws: `.badArchive`.
    mutating func compare(
        _ header: some RandomAccessCollection<UInt8>, name: [UInt8]
    ) throws(StoreError) {
        let entry = String(decoding: name, as: UTF8.self)
        func central(_ offset: Int, _ count: Int) -> Int64 {
            ZipDirectory.number(header, offset, count)
        }
        let (start, stored) = (central(42, 4), central(20, 4))
        let bytes = try source.read(at: start, count: Self.headerByteCount + name.count)
        func local(_ offset: Int, _ count: Int) -> Int64 {
            ZipDirectory.number(bytes, offset, count)
        }
        let flags = central(8, 2)
        let mayBeZero = flags & Self.hasDescriptor != 0
        // Checksum, stored size, size.
        let isSame = [(16, 14), (20, 18), (24, 22)].allSatisfy { there, here in
            let number = local(here, 4)
            // Sizes that do not fit are not looked up elsewhere: what libzip refuses then stays refused.
            return central(there, 4) == number && (there == 16 || number != 0xFFFF_FFFF)
                || mayBeZero && number == 0
        }
        guard bytes.starts(with: ZipDirectory.signature(3, 4)), local(6, 2) == flags,
            local(8, 2) == central(10, 2), local(26, 2) == name.count,
            bytes.suffix(name.count).elementsEqual(name), isSame
        else {
            throw source.name.refusal(
                "it is damaged: the directory of the archive and what stands before the file differ",
                entry: entry)
        }
        places.append((start, start + Int64(bytes.count) + local(28, 2) + stored, entry))
    }

    /// Refuses files that lie over each other or over the directory.
    /// - Parameter directory: where that begins.
    /// - Throws: `.badArchive`.
    func check(before directory: Int64) throws(StoreError) {
        var end: Int64 = 0
        for place in places.sorted(by: { $0.start < $1.start }) {
            guard place.start >= end, place.end <= directory else {
                throw source.name.refusal("it lies over something else", entry: place.name)
            }
            end = place.end
        }
    }
}
