import CSystem

#if canImport(Glibc)
    import Glibc
#elseif canImport(Darwin)
    import Darwin
#endif

extension POSIXFileSystem {
    package func list(
        _ directory: Int32,
        _ body: (UnsafePointer<CChar>, FileStatus.Kind) throws(StoreError) -> Bool
    ) throws(StoreError) {
        try listInodes(directory) { (name, kind, _) throws(StoreError) in try body(name, kind) }
    }

    package func listInodes(
        _ directory: Int32,
        _ body: (UnsafePointer<CChar>, FileStatus.Kind, UInt64) throws(StoreError) -> Bool
    ) throws(StoreError) {
        // fdopendir(3) takes the descriptor over and moves its position: give it one of its own.
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
            if name[0] == 46, name[1] == 0 || (name[1] == 46 && name[2] == 0) { continue }
            if try !body(name, kind, UInt64(entry.pointee.d_ino)) { return }
        }
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
