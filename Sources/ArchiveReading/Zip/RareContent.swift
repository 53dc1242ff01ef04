internal import CArchive
internal import Platform

/// Reads files in a zip archive with unusual compression by libarchive, which is used for nothing else in the archive.
///
/// It goes through the files in the order of their positions, in which they must be read.
final class RareContent {
    /// BZip2, LZMA and XZ (APPNOTE.TXT 6.3.10, 4.4.5).
    static let methods: Set<Int64> = [12, 14, 95]

    private let source: ArchiveSource
    private let handle: OpaquePointer
    /// Where the remaining files begin, from the last to the next.
    private var starts: [Int64]

    /// - Parameter files: all files of the archive.
    /// - Throws: `.unsupported` if libarchive is not installed; `.badArchive`, `.outOfMemory`.
    init(_ source: ArchiveSource, among files: [ZipFile]) throws(StoreError) {
        try ArchiveSource.requireLibarchive()
        guard let handle = archive_read_new() else {
            throw StoreError(.outOfMemory, "unable to read an archive: out of memory")
        }
        (self.source, self.handle) = (source, handle)
        starts = files.map(\.start).sorted(by: >)
        archive_read_support_format_zip_seekable(handle)
        // On macOS some files would count as attributes of others.
        archive_read_set_format_option(handle, "zip", "mac-ext", nil)
        guard archive_read_open_filename(handle, source.path, 64 << 10) == ARCHIVE_OK else {
            throw damaged(nil)
        }
    }

    deinit { archive_read_free(handle) }

    /// Calls `take` with the content of a file, block by block.
    /// - Throws: `.badArchive` unless size and checksum are right; `.tooLarge` if that would take too much memory.
    func read(
        _ file: ZipFile, through buffer: UnsafeMutableRawBufferPointer,
        _ take: (UnsafeRawBufferPointer) throws(StoreError) -> Void
    ) throws(StoreError) {
        // libarchive 3.6 mistakes LZMA's empty output for damage.
        guard file.header.byteCount > 0 || file.header.crc != 0 else { return }
        try Expansion.check(
            dictionary: RareDictionary.byteCount(of: file, in: source),
            from: source.byteCount ?? 0, of: source.name.reading(file.header.entry))
        while let start = starts.popLast() {
            var entry: OpaquePointer?
            // A warning concerns its name or its time, for which the directory counts.
            guard archive_read_next_header(handle, &entry) >= ARCHIVE_WARN else {
                throw damaged(file)
            }
            if start == file.start { break }
        }
        var rest = file.header.byteCount
        // Up to the end, where libarchive compares the checksum.
        while true {
            let taken = archive_read_data(handle, buffer.baseAddress, buffer.count)
            guard taken >= 0 else { throw damaged(file) }
            if taken == 0 { break }
            rest -= Int64(taken)
            guard rest >= 0 else { throw damaged(file, "it has more than it says") }
            try take(UnsafeRawBufferPointer(rebasing: buffer[..<taken]))
        }
        guard rest == 0 else { throw damaged(file, "it has less than it says") }
    }

    private func damaged(_ file: ZipFile?, _ problem: String? = nil) -> StoreError {
        let said = archive_error_string(handle).map { String(cString: $0) }
        return source.name.refusal(
            "it is damaged (\(problem ?? said ?? "it cannot be read"))", entry: file?.header.entry)
    }
}
