internal import CArchive
internal import Platform
internal import VersionTree

/// Reads a tar archive (pax, ustar, GNU, v7) by libarchive, and refuses anything that causes a warning.
///
/// libarchive is used for tar alone; the bytes are decompressed before, strictly.
final class TarReading {
    private let stream: DecompressedStream
    private let archive: ArchiveName
    private let handle: OpaquePointer
    private(set) var rules: EntryRules
    private var expansion: Expansion
    /// Why a block is unavailable, which libarchive does not know.
    private var failure: StoreError?
    private let locale: UnsafeMutableRawPointer
    /// The blocks that libarchive was given while it read a header; `nil` while it reads content.
    private var headers: [UInt8]?
    private var said = TarHeaders()

    /// - Throws: `.outOfMemory`, `.unsupported` if the system has no locale with UTF-8.
    init(
        _ stream: DecompressedStream, _ archive: ArchiveName, _ rules: EntryRules,
        _ expansion: Expansion
    ) throws(StoreError) {
        guard let locale = castree_utf8_locale() else {
            throw StoreError(
                .unsupported,
                "this system has no locale C.UTF-8, by which names in archives are read")
        }
        guard let handle = archive_read_new() else {
            castree_free_locale(locale)
            throw StoreError(.outOfMemory, "unable to read an archive: out of memory")
        }
        self.locale = locale
        self.stream = stream
        self.archive = archive
        self.handle = handle
        self.rules = rules
        self.expansion = expansion
    }

    deinit {
        archive_read_free(handle)
        castree_free_locale(locale)
    }

    /// The most bytes before an entry; libarchive takes names and records of up to a mebibyte.
    private static let headerByteCountMax = 8 << 20

    /// - Throws: `.badArchive`, `.badPath`, `.tooLarge` with the entry; what the intake throws.
    func read(into intake: any ArchiveIntake, progress: () -> Void) throws(StoreError) {
        // For this thread alone; libarchive takes the encoding of names from it.
        let before = castree_use_locale(locale)
        defer { _ = castree_use_locale(before) }
        archive_read_support_format_tar(handle)
        // Valid as long as the handle, which this object owns.
        let client = Unmanaged.passUnretained(self).toOpaque()
        let opened = archive_read_open2(
            handle, client, nil,
            { _, client, block in
                guard let client else { return -1 }
                return Unmanaged<TarReading>.fromOpaque(client).takeUnretainedValue().give(block)
            }, nil, nil)
        guard opened == ARCHIVE_OK else { throw refused() }
        while let entry = try nextEntry() {
            try expansion.addEntry(Manifest.countMax)
            try take(entry, into: intake)
            progress()
        }
        // libarchive considers an archive complete that ends after any entry.
        guard !stream.isOver else { throw archive.refusal("it is cut off: it has no end") }
        try expectNothing()
    }

    private func give(_ block: UnsafeMutablePointer<UnsafeRawPointer?>?) -> Int {
        do throws(StoreError) {
            let next = try stream.next()
            headers?.append(contentsOf: next)
            guard headers?.count ?? 0 <= Self.headerByteCountMax else {
                throw archive.refusal("the headers of an entry have more than 8 MiB", .tooLarge)
            }
            block?.pointee = next.baseAddress
            return next.count
        } catch {
            failure = error
            return -1
        }
    }

    private func refused(_ name: String? = nil) -> StoreError {
        if let failure { return failure }
        let said = archive_error_string(handle).map { String(cString: $0) }
        return archive.refusal("it is damaged (\(said ?? "no tar archive"))", entry: name)
    }

    private func nextEntry() throws(StoreError) -> OpaquePointer? {
        var entry: OpaquePointer?
        // The bytes that it was given and has not used: it has read the previous entry to its end.
        headers = Array(stream.last(stream.byteCount - archive_filter_bytes(handle, 0)))
        let result = archive_read_next_header(handle, &entry)
        if result == ARCHIVE_EOF, failure == nil { return nil }
        // Even a warning: a name that cannot be converted, a sum that does not match.
        guard result == ARCHIVE_OK, failure == nil, let entry else { throw refused() }
        // For example, libarchive ends a name at a NUL.
        if let objection = said.objection(to: headers ?? []) {
            throw archive.refusal(
                objection.problem, entry: objection.entry, objection.isName ? .badPath : .badArchive
            )
        }
        headers = nil
        return entry
    }

    private func take(
        _ entry: OpaquePointer, into intake: any ArchiveIntake
    ) throws(StoreError) {
        guard let name = Self.spelled(archive_entry_pathname_utf8(entry), said.name) else {
            throw archive.refusal("the name of an entry is not UTF-8, or is not one name")
        }
        let type = archive_entry_filetype(entry)
        let isDirectory = type == 0o040000
        if archive_entry_hardlink(entry) != nil || archive_entry_hardlink_utf8(entry) != nil {
            return try takeLink(entry, name, into: intake)
        }
        let path = try rules.path(of: name, isDirectory: isDirectory)
        try expansion.check(
            names: rules.nameCount, Manifest.countMax, from: stream.sourceByteCount, at: name)
        // What is left out may be of any kind.
        guard let path else { return try skip(name) }
        guard type == 0o100000 else {
            throw archive.refusal(
                "it is \(Self.kind(UInt32(type))); castree reads regular files", entry: name)
        }
        guard archive_entry_sparse_count(entry) == 0 else {
            throw archive.refusal(TarHeaders.isSparse, entry: name)
        }
        let byteCount = archive_entry_size(entry)
        try expansion.add(fileOf: byteCount, named: name)
        try intake.begin(
            path, byteCount: byteCount, isExecutable: archive_entry_perm(entry) & 0o100 != 0)
        var count: Int64 = 0
        while true {
            var block: UnsafeRawPointer?
            var (size, offset) = (0, Int64(0))
            let result = archive_read_data_block(handle, &block, &size, &offset)
            if result == ARCHIVE_EOF, failure == nil { break }
            guard result == ARCHIVE_OK, failure == nil else { throw refused(name) }
            guard offset == count, count + Int64(size) <= byteCount else {
                throw archive.refusal("its content does not fit its size", entry: name)
            }
            count += Int64(size)
            try intake.append(UnsafeRawBufferPointer(start: block, count: size))
        }
        guard count == byteCount else {
            throw archive.refusal("it has \(count) bytes instead of \(byteCount)", entry: name)
        }
        try intake.finish()
    }

    /// A name in the bytes of the archive; `nil` if it is no text, or libarchive has read another one.
    /// - Parameters:
    ///   - read: the name from libarchive, which composes the characters of a name in an extended header.
    ///   - own: that name verbatim.
    private static func spelled(
        _ read: UnsafePointer<CChar>?, _ own: ArraySlice<UInt8>?
    ) -> String? {
        guard let name = read.flatMap({ String(validatingCString: $0) }) else { return nil }
        // pax(1): an empty value leaves what the entry's own header says.
        guard let own, !own.isEmpty else { return name }
        // Compares up to canonical equivalence, as Swift's strings do.
        guard let text = String(validating: own, as: UTF8.self), text == name else { return nil }
        return text
    }

    private func skip(_ name: String) throws(StoreError) {
        guard archive_read_data_skip(handle) == ARCHIVE_OK, failure == nil else {
            throw refused(name)
        }
    }

    /// Takes a hard link to an earlier entry: a file with the same bytes.
    private func takeLink(
        _ entry: OpaquePointer, _ name: String, into intake: any ArchiveIntake
    ) throws(StoreError) {
        guard let target = Self.spelled(archive_entry_hardlink_utf8(entry), said.target) else {
            throw archive.refusal(
                "it is a hard link to a name that is not UTF-8, or not one name", entry: name)
        }
        // pax(1) allows content with a link, which programs treat differently.
        guard archive_entry_size_is_set(entry) == 0 || archive_entry_size(entry) == 0 else {
            throw archive.refusal("it is a hard link with content of its own", entry: name)
        }
        let path = try rules.path(of: name, isDirectory: false)
        try expansion.check(
            names: rules.nameCount, Manifest.countMax, from: stream.sourceByteCount, at: name)
        guard let path else { return }
        guard let source = try rules.target(of: name, named: target),
            let byteCount = try intake.link(path, to: source)
        else {
            throw archive.refusal(
                "it is a hard link to \"\(printable(target))\", which is left out; leave out both, or none",
                entry: name)
        }
        try expansion.add(fileOf: byteCount, named: name)
    }

    private static func kind(_ type: UInt32) -> String {
        switch type {
        case 0o120000: "a symbolic link"
        case 0o010000: "a named pipe"
        case 0o020000, 0o060000: "a device"
        case 0o140000: "a socket"
        default: "of an unknown kind"
        }
    }

    /// After the end, only zeros up to the end of the last block are allowed (pax(1)).
    private func expectNothing() throws(StoreError) {
        // libarchive's unused bytes: the rest of the last block that it was given.
        var rest = stream.byteCount - archive_filter_bytes(handle, 0)
        while rest > 0 || !stream.isOver {
            let block = try unread(&rest)
            guard block.allSatisfy({ $0 == 0 }) else {
                throw archive.refusal("something follows its end")
            }
        }
    }

    private func unread(_ rest: inout Int64) throws(StoreError) -> UnsafeRawBufferPointer {
        guard rest > 0 else { return try stream.next() }
        let block = stream.last(rest)
        rest = 0
        return block
    }
}
