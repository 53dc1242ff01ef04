internal import Platform
internal import VersionTree

/// Reads a zip archive that `ZipDirectory` and `ZipLayout` accept as unambiguous.
///
/// The whole directory is checked before the first byte is unpacked.
final class ZipReading {
    private let source: ArchiveSource
    /// In the order of the archive.
    private var files: [Member] = []
    /// Reads files with unusual compression; `nil` if there are none.
    private var rare: RareContent?
    private(set) var rules: EntryRules
    private(set) var byteCount: Int64 = 0

    private struct Member {
        var path: TreePath
        var file: ZipFile
        var isExecutable: Bool
    }

    /// - Throws: `.badArchive`, `.badPath`, `.tooLarge` with the entry.
    init(
        _ source: ArchiveSource, size: Int64, _ rules: EntryRules, _ expansion: Expansion
    ) throws(StoreError) {
        self.source = source
        self.rules = rules
        let all = try ZipDirectory(source, size: size).read()
        try list(all, size, expansion)
        files.sort { $0.file.start < $1.file.start }
        if files.contains(where: { RareContent.methods.contains($0.file.header.method) }) {
            rare = try RareContent(source, among: all)
        }
    }

    private func list(
        _ all: [ZipFile], _ size: Int64, _ expansion: Expansion
    ) throws(StoreError) {
        var expansion = expansion
        for file in all {
            try expansion.addEntry(Manifest.countMax)
            let name = try name(of: file.header)
            let isDirectory = name.utf8.last == 47
            let path = try rules.path(of: name, isDirectory: isDirectory)
            try expansion.check(names: rules.nameCount, Manifest.countMax, from: size, at: name)
            guard isDirectory || path != nil else { continue }
            try refuseUnreadable(file.header, name)
            let mode = file.header.mode
            try refuseKind(mode & 0o170000, isDirectory: isDirectory, name)
            if isDirectory, file.header.byteCount > 0 {
                throw source.name.refusal("it is a directory with content", entry: name)
            }
            guard let path else { continue }
            try expansion.add(fileOf: file.header.byteCount, named: name)
            files.append(Member(path: path, file: file, isExecutable: mode & 0o100 != 0))
        }
        byteCount = expansion.byteCount
        try Expansion.check(byteCount, from: size, of: source.name)
    }

    /// The name of an entry, if its encoding is known.
    private func name(of header: ZipHeader) throws(StoreError) -> String {
        // By the specification, a name not marked as UTF-8 is in code page 437. On Unix and macOS nobody writes that:
        // a name is its bytes, and UTF-8 if it can be; unzip, bsdtar and macOS unpack it as such. Made elsewhere, or
        // in another encoding, it has another name for each program.
        let name = String(validating: header.name, as: UTF8.self)
        if name == nil, header.saysUTF8 {
            throw source.name.refusal(
                "its name is said to be UTF-8, and is not: programs make different names of it; give the file another "
                    + "name, and make the archive anew", entry: header.entry, .badPath)
        }
        guard header.isASCII || header.saysUTF8 || header.isFromUnix, let name else {
            throw source.name.refusal(
                "its name is not ASCII, and neither is it said to be UTF-8, nor is it UTF-8 made on Unix; make the "
                    + "archive with a program that says so (bsdtar, jar, 7-Zip, python3 -m zipfile), or make a "
                    + "tar archive, or unpack it and add the directory", entry: header.entry,
                .badPath)
        }
        guard !header.hasWrongComment else {
            throw source.name.refusal(
                "its comment is said to be UTF-8, and is not; make the archive anew", entry: name)
        }
        return name
    }

    private func refuseUnreadable(_ header: ZipHeader, _ name: String) throws(StoreError) {
        guard header.flags & 1 == 0 else {
            throw source.name.refusal("it is encrypted", entry: name)
        }
        guard ZipContent.methods.union(RareContent.methods).contains(header.method) else {
            throw source.name.refusal(
                "it is compressed by \(Self.methodName(header.method)), which castree does not read here; make the archive "
                    + "with Deflate (7z a -tzip -mm=Deflate), or unpack it and add the directory",
                entry: name)
        }
    }

    /// APPNOTE.TXT 6.3.10, 4.4.5.
    private static func methodName(_ method: Int64) -> String {
        let names: [Int64: String] = [
            1: "Shrink", 6: "Implode", 9: "Deflate64", 10: "PKWARE's Implode", 12: "BZip2",
            14: "LZMA",
            93: "Zstandard", 94: "MP3", 95: "XZ", 96: "JPEG", 97: "WavPack", 98: "PPMd", 99: "AES",
        ]
        let number = "method \(method)"
        return names[method].map { "\($0) (\(number))" } ?? number
    }

    private func refuseKind(
        _ kind: Int64, isDirectory: Bool, _ name: String
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

    /// - Throws: `.badArchive` with the entry; what the intake throws.
    func read(
        into intake: any ArchiveIntake, progress: (Int64) -> Void
    ) throws(StoreError) {
        let buffer = UnsafeMutableRawBufferPointer.allocate(byteCount: 128 << 10, alignment: 16)
        defer { buffer.deallocate() }
        let content = ZipContent(source)
        var done: Int64 = 0
        for member in files {
            let header = member.file.header
            try intake.begin(
                member.path, byteCount: header.byteCount, isExecutable: member.isExecutable)
            func take(_ block: UnsafeRawBufferPointer) throws(StoreError) {
                try intake.append(block)
                done += Int64(block.count)
                progress(done)
            }
            if let rare, RareContent.methods.contains(header.method) {
                try rare.read(member.file, through: buffer, take)
            } else {
                try content.read(member.file, through: buffer, take)
            }
            try intake.finish()
        }
    }
}
