internal import CLibraries
package import Platform
internal import VersionTree

/// The bytes of an archive in a file or from a pipe; belongs to one thread.
package final class ArchiveSource {
    package let name: ArchiveName
    /// Its length; `nil` for a pipe.
    package let byteCount: Int64?
    /// How much was read, in order.
    package private(set) var offset: Int64 = 0

    private let file: Descriptor?
    private let raw: Int32
    private let system = POSIXFileSystem()
    private let wait: (Int32?) throws(StoreError) -> Void
    /// What was peeked at and not yet read.
    private var head: [UInt8] = []

    /// Opens a file, or a named pipe.
    /// - Parameter wait: called before each read, with the descriptor of a pipe; waits for bytes, or throws to stop.
    /// - Throws: `.notFound`, `.permission`; `.unsupportedFile` for what cannot be read.
    package convenience init(
        path: String, wait: @escaping (Int32?) throws(StoreError) -> Void
    ) throws(StoreError) {
        let system = POSIXFileSystem()
        let file: Descriptor
        do throws(StoreError) {
            file = try system.open(
                POSIXFileSystem.workingDirectory, path, .readingFollowingLinks, mode: 0)
        } catch {
            guard error.code == .notFound else { throw error }
            throw StoreError(
                .notFound, "there is no file \(printable(path))", cause: error.cause)
        }
        try self.init(file.raw, file, ArchiveName(path), wait)
    }

    package convenience init(
        standardInput wait: @escaping (Int32?) throws(StoreError) -> Void
    ) throws(StoreError) {
        try self.init(0, nil, ArchiveName("standard input"), wait)
    }

    private init(
        _ raw: Int32, _ file: consuming Descriptor?, _ name: ArchiveName,
        _ wait: @escaping (Int32?) throws(StoreError) -> Void
    ) throws(StoreError) {
        let status = try system.status(raw)
        switch status.kind {
        case .regular: byteCount = status.byteCount
        case .directory: throw name.refusal("it is a directory", .unsupportedFile)
        default: byteCount = nil
        }
        self.raw = raw
        self.file = file
        self.name = name
        self.wait = wait
    }

    /// The path by which a library can open the same file.
    package var path: String { "/dev/fd/\(raw)" }

    /// - Throws: `.unsupported` if libarchive is not installed.
    static func requireLibarchive() throws(StoreError) {
        guard let problem = castree_load_archive() else { return }
        throw StoreError(
            .unsupported,
            "libarchive, which reads such archives, is not installed (\(String(cString: problem))); on Debian: apt install "
                + "libarchive13")
    }

    /// The next bytes, without consuming them.
    package func peek(_ count: Int) throws(StoreError) -> [UInt8] {
        var buffer = [UInt8](repeating: 0, count: count)
        while head.count < count {
            let taken = try fill(&buffer, count - head.count)
            if taken == 0 { break }
            head += buffer[..<taken]
        }
        return Array(head.prefix(count))
    }

    private func fill(_ buffer: inout [UInt8], _ count: Int) throws(StoreError) -> Int {
        var failure: StoreError?
        let taken = buffer.withUnsafeMutableBytes { buffer in
            do throws(StoreError) {
                return try fetch(UnsafeMutableRawBufferPointer(rebasing: buffer[..<count]))
            } catch {
                failure = error
                return 0
            }
        }
        if let failure { throw failure }
        return taken
    }

    /// Reads the next bytes; 0 at the end.
    package func read(into buffer: UnsafeMutableRawBufferPointer) throws(StoreError) -> Int {
        let count: Int
        if head.isEmpty {
            count = try fetch(buffer)
        } else {
            count = min(head.count, buffer.count)
            head.withUnsafeBytes {
                buffer.copyMemory(from: UnsafeRawBufferPointer(rebasing: $0[..<count]))
            }
            head.removeFirst(count)
        }
        offset += Int64(count)
        return count
    }

    private func fetch(_ buffer: UnsafeMutableRawBufferPointer) throws(StoreError) -> Int {
        if byteCount != nil {
            try wait(nil)
            return try system.read(raw, into: buffer, at: offset + Int64(head.count))
        }
        while true {
            try wait(raw)
            if let count = try system.readNext(raw, into: buffer) { return count }
        }
    }

    /// Reads bytes of a file at an offset.
    /// - Throws: `.badArchive` if it has no more.
    package func read(at offset: Int64, count: Int) throws(StoreError) -> [UInt8] {
        let bytes = try system.read(raw, at: offset, count: count)
        guard bytes.count == count else { throw name.refusal("it is cut off") }
        return bytes
    }

    /// Reads at most a buffer of a file's bytes at an offset; 0 at its end.
    package func read(
        at offset: Int64, into buffer: UnsafeMutableRawBufferPointer
    ) throws(StoreError) -> Int {
        try wait(nil)
        return try system.read(raw, into: buffer, at: offset)
    }
}
