import CSystem

#if canImport(Glibc)
    import Glibc
#elseif canImport(Darwin)
    import Darwin
#endif

extension POSIXFileSystem {
    package func list(
        _ directory: Int32, once: Bool,
        _ body: (UnsafePointer<CChar>, FileStatus.Kind, UInt64) throws(StoreError) -> Bool
    ) throws(StoreError) {
        if once { return try listOnce(directory, body) }
        // Listing moves the position of a descriptor, which others may share.
        let own = try open(directory, ".", .directory, mode: 0)
        try listOnce(own.raw, body)
    }

    #if os(Linux)
        /// Enough to list a shard of some hundred objects in one call.
        private static let listingByteCount = 32 * 1024

        // readdir(3) would add three calls to the two that a small directory needs. The records are those of
        // getdents64(2): inode (8 bytes), position (8), length of the record (2), type (1), name with its NUL.
        private func listOnce(
            _ directory: Int32,
            _ body: (UnsafePointer<CChar>, FileStatus.Kind, UInt64) throws(StoreError) -> Bool
        ) throws(StoreError) {
            try withUnsafeTemporaryAllocation(
                byteCount: Self.listingByteCount, alignment: 8
            ) { (buffer) throws(StoreError) -> Void in
                while true {
                    let count = castree_getdents(directory, buffer.baseAddress, buffer.count)
                    if count < 0, errno == EINTR { continue }
                    // The directory was removed after it was opened: it is empty.
                    if count < 0, errno == ENOENT { return }
                    guard count >= 0 else { throw failure("getdents64", directory) }
                    if count == 0 { return }
                    var start = 0
                    var position: Int64 = 0
                    while start < count {
                        let inode = buffer.loadUnaligned(fromByteOffset: start, as: UInt64.self)
                        position = buffer.loadUnaligned(
                            fromByteOffset: start + 8, as: Int64.self)
                        let length = buffer.loadUnaligned(
                            fromByteOffset: start + 16, as: UInt16.self)
                        let kind = Self.kind(ofEntry: buffer[start + 18])
                        let name = UnsafeRawBufferPointer(rebasing: buffer[(start + 19)..<count])
                            .assumingMemoryBound(to: CChar.self)
                        start += Int(length)
                        guard let name = name.baseAddress, !Self.isDots(name) else { continue }
                        if try !body(name, kind, inode) { return }
                    }
                    // The largest position, which ext4 and others give to the last entry, saves one more call.
                    if position == .max { return }
                }
            }
        }
    #else
        private func listOnce(
            _ directory: Int32,
            _ body: (UnsafePointer<CChar>, FileStatus.Kind, UInt64) throws(StoreError) -> Bool
        ) throws(StoreError) {
            // fdopendir(3) takes over the descriptor: give it its own.
            let own = castree_openat(directory, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC, 0)
            guard own >= 0 else { throw failure("openat", directory) }
            guard let stream = fdopendir(own) else {
                let error = failure("readdir", directory)
                Self.close(own)
                throw error
            }
            defer { closedir(stream) }
            while true {
                errno = 0
                guard let entry = readdir(stream) else {
                    if errno != 0 { throw failure("readdir", directory) }
                    return
                }
                let kind = Self.kind(ofEntry: entry.pointee.d_type)
                let name = UnsafeRawPointer(entry)
                    .advanced(by: MemoryLayout<dirent>.offset(of: \.d_name) ?? 0)
                    .assumingMemoryBound(to: CChar.self)
                if Self.isDots(name) { continue }
                if try !body(name, kind, UInt64(entry.pointee.d_ino)) { return }
            }
        }
    #endif

    private static func isDots(_ name: UnsafePointer<CChar>) -> Bool {
        guard name[0] == 46 else { return false }
        return name[1] == 0 || (name[1] == 46 && name[2] == 0)
    }

    private static func kind(ofEntry type: UInt8) -> FileStatus.Kind {
        switch Int(type) {
        case Int(DT_REG): .regular
        case Int(DT_DIR): .directory
        case Int(DT_LNK): .symbolicLink
        case Int(DT_FIFO): .fifo
        case Int(DT_SOCK): .socket
        case Int(DT_CHR), Int(DT_BLK): .device
        default: .unknown
        }
    }
}
