/// What a hostile or unlucky world does to the files of a store.
///
/// Read-only files are written through all the same, and keep their mode.
package enum Damage {
    /// Replaces the bytes of a file in place: same inode.
    package static func overwrite(_ path: String, with bytes: [UInt8]) throws {
        try writing(path) {
            try $0.truncate(atOffset: 0); try $0.write(contentsOf: bytes)
        }
    }

    package static func flip(_ path: String, at offset: Int, bit: UInt8 = 0) throws {
        var bytes = try contents(path)
        // A damage before this one may have cut it.
        guard offset < bytes.count else { throw CocoaError(.fileReadCorruptFile) }
        bytes[offset] ^= 1 << bit
        try overwrite(path, with: bytes)
    }

    package static func truncate(_ path: String, to byteCount: Int) throws {
        try writing(path) { try $0.truncate(atOffset: UInt64(byteCount)) }
    }

    /// Adds bytes at the end of a file.
    package static func extend(_ path: String, by bytes: [UInt8]) throws {
        try writing(path) {
            _ = try $0.seekToEnd(); try $0.write(contentsOf: bytes)
        }
    }

    /// Replaces whatever stands at `path` by something that is not the file.
    package static func replace(_ path: String, by kind: Stranger) throws {
        remove(path)
        switch kind {
        case .nothing: break
        case .emptyFile: _ = FileManager.default.createFile(atPath: path, contents: nil)
        case .directory:
            try FileManager.default.createDirectory(
                atPath: path, withIntermediateDirectories: false)
        case .symbolicLink(let target):
            try FileManager.default.createSymbolicLink(atPath: path, withDestinationPath: target)
        case .fifo:
            guard mkfifo(path, 0o644) == 0 else { throw CocoaError(.fileWriteUnknown) }
        case .socket:
            guard mknod(path, S_IFSOCK | 0o644, 0) == 0 else {
                throw CocoaError(.fileWriteUnknown)
            }
        }
    }

    /// What may stand where a file belongs.
    package enum Stranger: Sendable, Hashable, CustomStringConvertible {
        case nothing, emptyFile, directory, fifo, socket
        case symbolicLink(String)

        package var description: String {
            switch self {
            case .nothing: "nothing"
            case .emptyFile: "an empty file"
            case .directory: "a directory"
            case .fifo: "a fifo"
            case .socket: "a socket"
            case .symbolicLink(let target): "a symbolic link to \(target)"
            }
        }
    }

    /// Removes a file or a directory with all it holds, if it is there.
    package static func remove(_ path: String) { try? FileManager.default.removeItem(atPath: path) }

    /// Makes a directory, and those above it.
    package static func makeDirectory(_ path: String) throws {
        try FileManager.default.createDirectory(atPath: path, withIntermediateDirectories: true)
    }

    package static func setMode(_ path: String, _ mode: Int) throws {
        try FileManager.default.setAttributes([.posixPermissions: mode], ofItemAtPath: path)
    }

    /// The permission bits.
    package static func mode(_ path: String) throws -> Int {
        let value = try FileManager.default.attributesOfItem(atPath: path)[.posixPermissions]
        return (value as? NSNumber)?.intValue ?? -1
    }

    /// Runs `body`, then gives the file back the times it had: bit-rot leaves no trace.
    package static func keepingTimes(of path: String, _ body: () throws -> Void) throws {
        var before = stat()
        guard stat(path, &before) == 0 else { throw CocoaError(.fileReadUnknown) }
        try body()
        #if canImport(Darwin)
            var times = [before.st_atimespec, before.st_mtimespec]
        #else
            var times = [before.st_atim, before.st_mtim]
        #endif
        guard utimensat(AT_FDCWD, path, &times, 0) == 0 else {
            throw CocoaError(.fileWriteUnknown)
        }
    }

    /// The bytes of a file.
    package static func contents(_ path: String) throws -> [UInt8] {
        var found = stat()
        // A fifo would be waited for.
        guard stat(path, &found) == 0, found.st_mode & S_IFMT == S_IFREG else {
            throw CocoaError(.fileReadUnknown)
        }
        return Array(try Data(contentsOf: URL(filePath: path)))
    }

    /// The names in a directory and below it, sorted.
    package static func names(_ path: String) -> [String] {
        ((try? FileManager.default.subpathsOfDirectory(atPath: path)) ?? []).sorted()
    }

    /// The bytes of all files below a directory, by their paths there; links are followed.
    /// - Parameter hidden: how the paths begin that are left out.
    package static func files(
        below directory: String, without hidden: String? = nil
    ) throws -> [String: [UInt8]] {
        var files: [String: [UInt8]] = [:]
        for name in names(directory) {
            if let hidden, name.hasPrefix(hidden) { continue }
            var isDirectory: ObjCBool = false
            let path = directory + "/" + name
            _ = FileManager.default.fileExists(atPath: path, isDirectory: &isDirectory)
            if !isDirectory.boolValue { files[name] = try contents(path) }
        }
        return files
    }

    private static func writing(_ path: String, _ body: (FileHandle) throws -> Void) throws {
        let before = try mode(path)
        try setMode(path, before | 0o200)
        defer { try? setMode(path, before) }
        guard let file = FileHandle(forUpdatingAtPath: path) else {
            throw CocoaError(.fileNoSuchFile)
        }
        defer { try? file.close() }
        try body(file)
    }
    /// Writes a file, whether it is there or not.
    package static func overwriteOrCreate(_ path: String, with bytes: [UInt8]) throws {
        if !FileManager.default.fileExists(atPath: path) { try replace(path, by: .emptyFile) }
        try overwrite(path, with: bytes)
    }
    /// Leaves an origin in a directory as the publishers of older castrees did, who wrote no log.
    package static func forgetLog(of origin: String) throws {
        remove("\(origin)/log")
        for name in names(origin) where name.hasPrefix("channels/") || name.hasPrefix("for/") {
            guard name.hasSuffix(".json"), let bytes = try? contents("\(origin)/\(name)") else {
                continue
            }
            let text = String(decoding: bytes, as: UTF8.self)
                .replacing(/,"log":[0-9]+/, with: "").replacing(/"log":[0-9]+,/, with: "")
            if text.utf8.count < bytes.count {
                try overwrite("\(origin)/\(name)", with: Array(text.utf8))
            }
        }
    }
}
