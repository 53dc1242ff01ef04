/// A regular file that is open for reading, and its size when it was opened.
package struct RegularFile: ~Copyable, Sendable {
    package let descriptor: Descriptor
    package let byteCount: Int

    /// Keeps the file open, to ask later whether another has taken its name.
    package consuming func held() -> HeldFile { HeldFile(descriptor) }
}

/// Small compositions of the requirements, without system calls of their own.
extension FileSystem {
    package var canSyncAll: Bool {
        #if os(Linux)
            true
        #else
            false
        #endif
    }

    /// The whole content of a regular file; symbolic links are followed only to what a user named, by a path from the
    /// working directory.
    /// - Throws: `.tooLarge` beyond `limit` bytes, `.notFound`, what reading throws.
    package func contents(
        _ directory: Int32, _ path: UnsafePointer<CChar>, limit: Int
    ) throws(StoreError) -> [UInt8] {
        let file = try openRegular(directory, path, limit: limit)
        return try read(file.descriptor.raw, at: 0, count: file.byteCount)
    }

    /// - Throws: `.tooLarge` beyond `limit` bytes, `.notFound`, `.io` for anything but a regular file.
    package func openRegular(
        _ directory: Int32, _ path: UnsafePointer<CChar>, limit: Int
    ) throws(StoreError) -> RegularFile {
        let isNamed = directory == POSIXFileSystem.workingDirectory
        func refusal(_ kind: FileStatus.Kind) -> StoreError {
            let advice = isNamed ? "" : ": move it away"
            return StoreError(
                .io, "\(name(of: path, in: directory)) is \(kind.noun), not a regular file\(advice)"
            )
        }
        let file: Descriptor
        do throws(StoreError) {
            file = try open(directory, path, isNamed ? .readingFollowingLinks : .reading, mode: 0)
        } catch {
            guard error.isAccessDenied, try status(directory, path)?.kind == .directory else {
                throw error
            }
            throw refusal(.directory)
        }
        let status = try status(file.raw)
        guard status.kind == .regular else { throw refusal(status.kind) }
        guard status.byteCount <= Int64(limit) else {
            throw StoreError(
                .tooLarge,
                "\(name(of: path, in: directory)) has \(status.byteCount) bytes; at most \(limit) are read"
            )
        }
        return RegularFile(descriptor: file, byteCount: Int(status.byteCount))
    }

    private func name(of path: UnsafePointer<CChar>, in directory: Int32) -> String {
        let path = String(cString: path)
        guard directory != POSIXFileSystem.workingDirectory else { return printable(path) }
        return printable("\(POSIXFileSystem().path(of: directory))/\(path)")
    }

    /// Opens the directory that contains a path's file; ``fileName(in:)`` is its name there.
    package func openDirectory(holding path: String) throws(StoreError) -> Descriptor {
        let directory = path.lastIndex(of: "/").map { String(path[...$0]) } ?? "."
        do throws(StoreError) {
            return try open(
                POSIXFileSystem.workingDirectory, directory, .typedDirectory, mode: 0)
        } catch {
            throw naming(directoryMissingAbove: path, error)
        }
    }

    /// Adds to an error of creating something which directory above the path is missing, and what to do.
    package func naming(directoryMissingAbove path: String, _ error: StoreError) -> StoreError {
        guard error.code == .notFound else { return error }
        var parts = path.split(separator: "/", omittingEmptySubsequences: true).dropLast()
        let root = path.hasPrefix("/") ? "/" : ""
        let whole = root + parts.joined(separator: "/")
        var missing: String?
        while !parts.isEmpty {
            let directory = root + parts.joined(separator: "/")
            let found: FileStatus?
            do throws(StoreError) {
                found = try status(POSIXFileSystem.workingDirectory, directory)
            } catch {
                // A directory that cannot be examined is not known to be missing.
                break
            }
            guard found == nil else { break }
            missing = directory
            parts.removeLast()
        }
        guard let missing else { return error }
        return StoreError(
            .notFound,
            "unable to make \(printable(path)): there is no directory \(printable(missing)); check the path, or "
                + "make it (mkdir -p \(printable(whole)))", cause: error.cause)
    }

    package func fileName(in path: String) -> String {
        path.lastIndex(of: "/").map { String(path[path.index(after: $0)...]) } ?? path
    }

    package func openIfPresent(
        _ directory: Int32, _ path: UnsafePointer<CChar>, _ access: Access
    ) throws(StoreError) -> Descriptor? {
        try ifPresent { () throws(StoreError) in try open(directory, path, access, mode: 0) }
    }

    @discardableResult
    @inline(__always)
    package func ifPresent<R: ~Copyable>(
        _ body: () throws(StoreError) -> R
    ) throws(StoreError) -> R? {
        do throws(StoreError) {
            return try body()
        } catch {
            guard error.code == .notFound else { throw error }
            return nil
        }
    }

    package func names(
        in directory: Int32,
        where isWanted: (String, FileStatus.Kind) -> Bool = { (_, _) in true }
    ) throws(StoreError) -> [String] {
        var names: [String] = []
        try list(directory) { (entry, kind) throws(StoreError) in
            let name = String(cString: entry)
            if isWanted(name, kind) { names.append(name) }
            return true
        }
        return names
    }

    package func isEmpty(_ directory: Int32) throws(StoreError) -> Bool {
        var isEmpty = true
        try list(directory) { (_, _) throws(StoreError) in
            isEmpty = false
            return false
        }
        return isEmpty
    }

    /// Reads `count` bytes at `offset`; fewer only at the end of the file.
    package func read(
        _ file: Int32, at offset: Int64, count: Int
    ) throws(StoreError) -> [UInt8] {
        // Swift would write into the storage that all empty arrays share: a race, even if of equal bytes.
        guard count > 0 else { return [] }
        var failure: StoreError?
        let bytes = [UInt8](unsafeUninitializedCapacity: count) { buffer, filled in
            let raw = UnsafeMutableRawBufferPointer(buffer)
            do throws(StoreError) {
                while filled < count {
                    let rest = UnsafeMutableRawBufferPointer(rebasing: raw[filled..<count])
                    let got = try read(file, into: rest, at: offset + Int64(filled))
                    if got == 0 { break }
                    filled += got
                }
            } catch {
                failure = error
            }
        }
        if let failure { throw failure }
        return bytes
    }

    package func write(_ file: Int32, _ bytes: [UInt8]) throws(StoreError) {
        try bytes.span.bytes.withUnsafeBytes { (bytes) throws(StoreError) in
            try write(file, bytes)
        }
    }

    package func write(_ file: Int32, _ bytes: [UInt8], at offset: Int64) throws(StoreError) {
        try bytes.span.bytes.withUnsafeBytes { (bytes) throws(StoreError) in
            try write(file, bytes, at: offset)
        }
    }

    /// Calls `body` with the bytes of an open file, piece by piece, until its end.
    /// - Returns: how many there were.
    @discardableResult
    package func forEachPiece(
        of file: Int32, buffer: UnsafeMutableRawBufferPointer,
        _ body: (UnsafeRawBufferPointer) throws(StoreError) -> Void
    ) throws(StoreError) -> Int64 {
        var offset: Int64 = 0
        while true {
            let count = try read(file, into: buffer, at: offset)
            if count == 0 { return offset }
            try body(UnsafeRawBufferPointer(rebasing: buffer[..<count]))
            offset += Int64(count)
        }
    }

    /// Replaces a file durably, so that readers see the old bytes or the new ones, even after a power cut.
    /// - Parameter mode: the file's mode; the umask applies only if the mode lets others write.
    package func replaceFile(
        _ directory: Int32, _ name: String, with bytes: [UInt8], mode: UInt32 = 0o644,
        token: String, durably: Bool
    ) throws(StoreError) {
        try replaceFile(directory, name, mode: mode, token: token, durably: durably) {
            (file) throws(StoreError) in try write(file, bytes)
        }
    }

    package func replaceFile(
        _ directory: Int32, _ name: String, mode: UInt32 = 0o644, token: String, durably: Bool,
        _ writeBytes: (Int32) throws(StoreError) -> Void
    ) throws(StoreError) {
        let aside = try free(".\(name).\(token)", in: directory)
        do throws(StoreError) {
            let file = try open(directory, aside, .creating, mode: mode)
            if Self.isExact(mode) { try setMode(file.raw, mode) }
            try writeBytes(file.raw)
            if durably { try sync(file.raw) }
            try rename(directory, aside, to: directory, name)
        } catch {
            // Report the first error; fsck sweeps a leftover.
            try? removeIfPresent(directory, aside)
            throw error
        }
        if durably { try sync(directory) }
    }

    /// Removes what has a temporary name; if that is a directory, returns another name.
    package func free(
        _ aside: String, in directory: Int32
    ) throws(StoreError) -> String {
        var free = aside
        var number = 0
        while true {
            do throws(StoreError) {
                try removeIfPresent(directory, free)
                return free
            } catch {
                guard error.isDirectory, try status(directory, free)?.kind == .directory else {
                    throw error
                }
            }
            number += 1
            free = "\(aside)-\(number)"
        }
    }

    package func removeIfPresent(
        _ directory: Int32, _ path: UnsafePointer<CChar>
    ) throws(StoreError) {
        try ifPresent { () throws(StoreError) in try remove(directory, path, directory: false) }
    }

    package func renameIfPresent(
        _ source: Int32, _ sourcePath: UnsafePointer<CChar>,
        to target: Int32, _ targetPath: UnsafePointer<CChar>
    ) throws(StoreError) {
        try ifPresent { () throws(StoreError) in
            try rename(source, sourcePath, to: target, targetPath)
        }
    }

    // Those whom its modes let read a store can read it, even if it was created under umask 077.
    private static func isExact(_ mode: UInt32) -> Bool { mode & 0o022 == 0 }

    /// Creates a directory; succeeds if it already exists.
    /// - Parameters:
    ///   - mode: as for ``replaceFile(_:_:with:mode:token:durably:)``.
    ///   - isCut: apply the umask in any case.
    /// - Returns: whether this call created it.
    @discardableResult
    package func makeDirectoryIfAbsent(
        _ directory: Int32, _ path: UnsafePointer<CChar>, mode: UInt32 = 0o755,
        cutByUmask isCut: Bool = false
    ) throws(StoreError) -> Bool {
        do throws(StoreError) {
            try makeDirectory(directory, path, mode: mode)
            if !isCut, Self.isExact(mode) { try setMode(directory, path, mode) }
            return true
        } catch {
            guard error.isExisting else { throw error }
            return false
        }
    }

    /// Creates a directory at a path that a person typed; succeeds if it already exists.
    /// - Returns: whether this call created it.
    package func makeTypedDirectory(
        _ path: String, mode: UInt32 = 0o755, cutByUmask isCut: Bool = false
    ) throws(StoreError) -> Bool {
        try atTyped(path) { (directory, name) throws(StoreError) in
            try makeDirectoryIfAbsent(directory, name, mode: mode, cutByUmask: isCut)
        }
    }

    /// Calls `body` with a directory and a name for creating something at a path that a person typed; for root, on
    /// whose way others may put links, the directory above it is open.
    package func atTyped<R: ~Copyable>(
        _ path: String, _ body: (Int32, String) throws(StoreError) -> R
    ) throws(StoreError) -> R {
        do throws(StoreError) {
            guard POSIXFileSystem.isRoot else {
                return try body(POSIXFileSystem.workingDirectory, path)
            }
            var path = path
            while path.count > 1, path.hasSuffix("/") { path.removeLast() }
            let above = try openDirectory(holding: path)
            return try body(above.raw, path == "/" ? "." : fileName(in: path))
        } catch {
            throw naming(directoryMissingAbove: path, error)
        }
    }
}
