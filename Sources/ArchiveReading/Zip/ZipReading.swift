internal import CZip
internal import Platform
internal import VersionTree

/// Reads a zip archive by libzip, which compares local and central headers and every checksum.
///
/// All that the directory says is judged before the first byte is unpacked.
final class ZipReading {
    private let source: ArchiveSource
    private let handle: OpaquePointer
    private var files: [Member] = []
    /// The bytes of all files.
    private(set) var byteCount: Int64 = 0

    private struct Member {
        var index: UInt64
        var path: TreePath
        var byteCount: Int64
        var isExecutable: Bool
    }

    /// Opens an archive and lists it.
    ///
    /// - Parameter size: the number of its bytes.
    /// - Throws: `.badArchive`, `.badPath`, `.tooLarge` with the entry.
    init(
        _ source: ArchiveSource, size: Int64, _ rules: EntryRules, _ expansion: Expansion
    ) throws(StoreError) {
        self.source = source
        var failure: Int32 = 0
        // Names that stand twice are refused by the rules, which say which; what libzip takes for inconsistent is
        // looked at again.
        guard
            let handle = zip_open(source.path, ZIP_RDONLY | ZIP_CHECKCONS, &failure)
                ?? ([ZIP_ER_EXISTS, ZIP_ER_INCONS].contains(failure)
                    ? zip_open(source.path, ZIP_RDONLY, nil) : nil)
        else { throw Self.unopened(source, failure) }
        self.handle = handle
        var commentByteCount: Int32 = 0
        _ = zip_get_archive_comment(handle, &commentByteCount, ZIP_FL_ENC_RAW)
        try ZipDirectory(source, size: size).check(
            commentByteCount: Int(commentByteCount),
            comparingHeaders: failure == ZIP_ER_INCONS)
        try list(size, rules, expansion)
        if failure == ZIP_ER_EXISTS { throw Self.unopened(source, failure) }
    }

    deinit { zip_discard(handle) }

    private static func unopened(_ source: ArchiveSource, _ failure: Int32) -> StoreError {
        var error = zip_error_t()
        zip_error_init_with_code(&error, failure)
        defer { zip_error_fini(&error) }
        let said = zip_error_strerror(&error).map { String(cString: $0) }
        return source.name.refusal(
            "it is damaged, or cut off (\(said ?? "error \(failure)"))")
    }

    private func list(
        _ size: Int64, _ rules: EntryRules, _ expansion: Expansion
    ) throws(StoreError) {
        var (rules, expansion) = (rules, expansion)
        var compressed: Int64 = 0
        for index in 0..<UInt64(max(0, zip_get_num_entries(handle, 0))) {
            try expansion.addEntry(Manifest.countMax)
            let (name, status) = try look(at: index)
            let isDirectory = name.utf8.last == 47
            let mode = mode(of: index)
            try refuseKind(mode & 0o170000, isDirectory: isDirectory, name)
            guard let byteCount = Int64(exactly: status.size),
                let stored = Int64(exactly: status.comp_size), stored <= size
            else { throw source.name.refusal("its size cannot be right", entry: name) }
            compressed += stored
            guard compressed <= size else {
                throw source.name.refusal("its entries lie over each other", entry: name)
            }
            if isDirectory, byteCount > 0 {
                throw source.name.refusal("it is a directory with content", entry: name)
            }
            guard let path = try rules.path(of: name, isDirectory: isDirectory) else { continue }
            try expansion.add(fileOf: byteCount, named: name)
            files.append(
                Member(
                    index: index, path: path, byteCount: byteCount,
                    isExecutable: mode & 0o100 != 0))
        }
        byteCount = expansion.byteCount
        try Expansion.check(byteCount, from: size, of: source.name)
    }

    private func look(at index: UInt64) throws(StoreError) -> (String, zip_stat_t) {
        var status = zip_stat_t()
        zip_stat_init(&status)
        guard zip_stat_index(handle, index, 0, &status) == 0,
            let raw = zip_get_name(handle, index, ZIP_FL_ENC_RAW),
            let strict = zip_get_name(handle, index, ZIP_FL_ENC_STRICT)
        else { throw source.name.refusal("its entry \(index) cannot be read") }
        let name = String(cString: raw)
        // What is neither ASCII nor said to be UTF-8 is code page 437 by the specification, and almost never in fact:
        // libzip would make other names of it.
        guard String(cString: strict) == name, String(validatingCString: raw) != nil else {
            throw source.name.refusal(
                "its name is not ASCII, and the archive does not say that it is UTF-8; make the "
                    + "archive with a program that says so (bsdtar, jar, python3 -m zipfile; not zip), or make a "
                    + "tar archive, or unpack it and add the directory",
                entry: name, .badPath)
        }
        guard status.encryption_method == 0 else {
            throw source.name.refusal("it is encrypted", entry: name)
        }
        guard zip_compression_method_supported(Int32(status.comp_method), 0) != 0 else {
            throw source.name.refusal(
                "it is compressed by method \(status.comp_method), which libzip cannot undo here",
                entry: name)
        }
        return (name, status)
    }

    /// The Unix mode of an entry; 0 if it has none.
    private func mode(of index: UInt64) -> UInt32 {
        var system: UInt8 = 0
        var attributes: UInt32 = 0
        let found = zip_file_get_external_attributes(handle, index, 0, &system, &attributes)
        // Unix and macOS (APPNOTE.TXT, 4.4.2) have it in the upper half.
        return found == 0 && (system == 3 || system == 19) ? attributes >> 16 : 0
    }

    private func refuseKind(
        _ kind: UInt32, isDirectory: Bool, _ name: String
    ) throws(StoreError) {
        let problem: String
        switch kind {
        case 0,
            0o100000 where !isDirectory:
            return
        case 0o040000 where isDirectory: return
        case 0o120000: problem = "a symbolic link"
        case 0o010000: problem = "a named pipe"
        case 0o020000, 0o060000: problem = "a device"
        case 0o140000: problem = "a socket"
        default: problem = "a file by its name or its mode, and a directory by the other"
        }
        throw source.name.refusal("it is \(problem); castree reads regular files", entry: name)
    }

    /// Unpacks all files.
    /// - Throws: `.badArchive` with the entry; what the intake throws.
    func read(
        into intake: any ArchiveIntake, progress: (Int64) -> Void
    ) throws(StoreError) {
        let room = UnsafeMutableRawBufferPointer.allocate(byteCount: 128 << 10, alignment: 16)
        defer { room.deallocate() }
        var done: Int64 = 0
        for file in files {
            try intake.begin(
                file.path, byteCount: file.byteCount, isExecutable: file.isExecutable)
            guard let content = zip_fopen_index(handle, file.index, 0) else {
                throw damaged(file, zip_strerror(handle).map { String(cString: $0) })
            }
            defer { zip_fclose(content) }
            var count: Int64 = 0
            // Up to the end, where libzip compares the checksum.
            while true {
                let taken = zip_fread(content, room.baseAddress, UInt64(room.count))
                guard taken >= 0 else {
                    throw damaged(file, zip_file_strerror(content).map { String(cString: $0) })
                }
                if taken == 0 { break }
                count += taken
                guard count <= file.byteCount else {
                    throw damaged(file, "it has more than it says")
                }
                try intake.append(UnsafeRawBufferPointer(rebasing: room[..<Int(taken)]))
                progress(done + count)
            }
            guard count == file.byteCount else { throw damaged(file, "it has less than it says") }
            try intake.finish()
            done += count
        }
    }

    private func damaged(_ file: Member, _ said: String?) -> StoreError {
        source.name.refusal(
            "it is damaged (\(said ?? "it cannot be read"))", entry: file.path.description)
    }
}
