import CSystem

#if canImport(Glibc)
    import Glibc
#elseif canImport(Darwin)
    import Darwin
#endif

/// The system calls, one method each, without logic beyond EINTR, short transfers and errno.
package struct POSIXFileSystem: FileSystem {
    package init() {}

    package static let workingDirectory: Int32 = AT_FDCWD

    static func close(_ descriptor: Int32) {
        // close(2): the descriptor is gone even on EINTR; data errors were reported by the sync.
        #if canImport(Glibc)
            _ = Glibc.close(descriptor)
        #else
            _ = Darwin.close(descriptor)
        #endif
    }

    package func open(
        _ directory: Int32, _ path: UnsafePointer<CChar>, _ access: Access, mode: UInt32
    ) throws(StoreError) -> Descriptor {
        if access == .typedDirectory, Self.isRoot {
            return try openTyped(directory, path)
        }
        if access == .directoryOfTypedFile {
            return try openTyped(directory, path, ofFile: true)
        }
        let raw = opened(access) { castree_openat(directory, path, $0, mode_t(mode)) }
        guard raw >= 0 else { throw failure("openat", directory, path) }
        return Descriptor(owning: raw)
    }

    /// The result of `open` for an access.
    ///
    /// A socket, or a device that does not exist, cannot be opened (ENXIO, open(2)). Readers check what they opened
    /// before they read it, as with a fifo, so they get a descriptor that can only be examined.
    private func opened(_ access: Access, _ open: (Int32) -> Int32) -> Int32 {
        let flags = Self.flags(access) | O_CLOEXEC
        let raw = retrying { open(flags) }
        let onlyLooking = castree_only_looking()
        guard raw < 0, errno == ENXIO, access == .reading, onlyLooking != 0 else { return raw }
        return retrying { open(onlyLooking | O_NOFOLLOW | O_CLOEXEC) }
    }

    private static func flags(_ access: Access) -> Int32 {
        switch access {
        case .reading: O_RDONLY | O_NOFOLLOW | O_NONBLOCK
        case .readingFollowingLinks: O_RDONLY | O_NONBLOCK
        case .creating: O_RDWR | O_CREAT | O_EXCL
        case .updating: O_RDWR | O_CREAT | O_NOFOLLOW | O_NONBLOCK
        case .changing: O_RDWR | O_NOFOLLOW | O_NONBLOCK
        case .writingFollowingLinks: O_WRONLY
        case .appending: O_RDWR | O_APPEND | O_NOFOLLOW | O_NONBLOCK
        case .appendingFollowingLinks: O_WRONLY | O_APPEND | O_NONBLOCK
        case .directory: O_RDONLY | O_DIRECTORY | O_NOFOLLOW
        case .directoryFollowingLinks, .typedDirectory, .directoryOfTypedFile:
            O_RDONLY | O_DIRECTORY
        }
    }

    package func openBeneath(
        _ directory: Int32, _ path: String, _ access: Access
    ) throws(StoreError) -> Descriptor {
        let raw = opened(access) { castree_open_beneath(directory, path, $0, 0) }
        if raw >= 0 { return Descriptor(owning: raw) }
        // A kernel before 5.6, or a sandbox that does not know the call.
        guard errno == ENOSYS || errno == EPERM else { throw failure("openat", directory, path) }
        let parts = path.utf8.split(separator: 47).map { String(Substring($0)) }
        guard let last = parts.last else { throw failure("openat", directory, path) }
        var current = try open(directory, ".", .directory, mode: 0)
        for part in parts.dropLast() {
            current = try open(current.raw, part, .directory, mode: 0)
        }
        return try open(current.raw, last, access, mode: 0)
    }

    package func read(
        _ file: Int32, into buffer: UnsafeMutableRawBufferPointer, at offset: Int64
    ) throws(StoreError) -> Int {
        // A network's or a flaky disk's error passes; a bad sector's stays.
        for milliseconds: Int32 in [50, 400] {
            let count = retrying { pread(file, buffer.baseAddress, buffer.count, off_t(offset)) }
            if count >= 0 { return count }
            guard errno == EIO else { break }
            _ = poll(nil, 0, milliseconds)
        }
        return try call("read", file) {
            pread(file, buffer.baseAddress, buffer.count, off_t(offset))
        }
    }

    /// Reads the next bytes of a pipe that a user typed, never of a store's file.
    /// - Returns: 0 at its end; `nil` if nothing is there yet and the pipe does not wait.
    package func readNext(
        _ file: Int32, into buffer: UnsafeMutableRawBufferPointer
    ) throws(StoreError) -> Int? {
        let count = retrying { systemRead(file, buffer.baseAddress, buffer.count) }
        if count < 0, errno == EAGAIN { return nil }
        guard count >= 0 else { throw failure("read", file) }
        return count
    }

    package func write(_ file: Int32, _ bytes: UnsafeRawBufferPointer) throws(StoreError) {
        var rest = bytes
        while !rest.isEmpty {
            let current = rest
            let count = retrying { systemWrite(file, current.baseAddress, current.count) }
            guard count > 0 else { throw failure("write", file) }
            rest = UnsafeRawBufferPointer(rebasing: rest[count...])
        }
    }

    /// Makes an open descriptor number refer to another open file, without closing it in between.
    package func redirect(_ number: Int32, to file: Int32) throws(StoreError) {
        try call("dup3", number) { castree_redirect(number, file) }
    }

    package func write(
        _ file: Int32, _ bytes: UnsafeRawBufferPointer, at offset: Int64
    ) throws(StoreError) {
        var done = 0
        while done < bytes.count {
            let rest = UnsafeRawBufferPointer(rebasing: bytes[done...])
            let count = retrying {
                pwrite(file, rest.baseAddress, rest.count, off_t(offset + Int64(done)))
            }
            guard count > 0 else { throw failure("write", file) }
            done += count
        }
    }

    package func truncate(_ file: Int32, to byteCount: Int64) throws(StoreError) {
        try call("ftruncate", file) { ftruncate(file, off_t(byteCount)) }
    }

    package func reserve(_ file: Int32, _ byteCount: Int64) throws(StoreError) {
        #if canImport(Glibc)
            // posix_fallocate(3) returns the error and leaves errno alone.
            var number = EINTR
            while number == EINTR { number = posix_fallocate(file, 0, off_t(byteCount)) }
            guard number == 0 else {
                throw StoreError(
                    systemCall: "posix_fallocate", errno: number, path: path(of: file))
            }
        #else
            try truncate(file, to: byteCount)
        #endif
    }

    package func map(
        _ file: Int32, byteCount: Int, isWritable: Bool
    ) throws(StoreError) -> MappedFile {
        var number: Int32 = 0
        guard
            let mapped = MappedFile(
                file, byteCount: byteCount, isWritable: isWritable, errno: &number)
        else { throw StoreError(systemCall: "mmap", errno: number, path: path(of: file)) }
        return mapped
    }

    package func setMode(_ file: Int32, _ mode: UInt32) throws(StoreError) {
        try call("fchmod", file) { fchmod(file, mode_t(mode)) }
    }

    package func setMode(
        _ directory: Int32, _ path: UnsafePointer<CChar>, _ mode: UInt32
    ) throws(StoreError) {
        try call("fchmodat", directory, path) {
            castree_set_mode(directory, path, mode_t(mode))
        }
    }

    package func setOwner(_ file: Int32, _ user: UInt32, group: UInt32) throws(StoreError) {
        try call("fchown", file) { fchown(file, user, group) }
    }

    package func setModified(
        _ directory: Int32, _ path: UnsafePointer<CChar>, _ nanoseconds: Int64
    ) throws(StoreError) {
        try call("utimensat", directory, path) {
            castree_set_modified(directory, path, nanoseconds)
        }
    }

    package func sync(_ file: Int32) throws(StoreError) {
        guard retrying({ castree_fsync(file) }) != 0 else { return }
        let error = failure("fsync", file)
        // A read-only file system without such a call (squashfs) has nothing to sync.
        guard error.errno == EINVAL, try freeSpace(file).isReadOnly else { throw error }
    }

    package func sync(
        _ directory: Int32, _ path: UnsafePointer<CChar>,
        by library: () throws(StoreError) -> Void
    ) throws(StoreError) {
        try library()
    }

    package func syncAll(_ file: Int32) throws(StoreError) -> Bool {
        if retrying({ castree_syncfs(file) }) == 0 { return true }
        if errno == ENOSYS { return false }
        throw failure("syncfs", file)
    }

    package func status(_ file: Int32) throws(StoreError) -> FileStatus {
        var status = stat()
        try call("fstat", file) { fstat(file, &status) }
        return FileStatus(status)
    }

    package func status(
        _ directory: Int32, _ path: UnsafePointer<CChar>
    ) throws(StoreError) -> FileStatus? {
        var status = stat()
        if retrying({ fstatat(directory, path, &status, AT_SYMLINK_NOFOLLOW) }) == 0 {
            return FileStatus(status)
        }
        if errno == ENOENT || errno == ENOTDIR { return nil }
        throw failure("fstatat", directory, path)
    }

    package func link(
        _ source: Int32, _ sourcePath: UnsafePointer<CChar>,
        to target: Int32, _ targetPath: UnsafePointer<CChar>
    ) throws(StoreError) {
        try call("linkat", target, targetPath) {
            linkat(source, sourcePath, target, targetPath, 0)
        }
    }

    package func rename(
        _ source: Int32, _ sourcePath: UnsafePointer<CChar>,
        to target: Int32, _ targetPath: UnsafePointer<CChar>
    ) throws(StoreError) {
        try call("renameat", target, targetPath) {
            renameat(source, sourcePath, target, targetPath)
        }
    }

    package func renameNew(
        _ source: Int32, _ sourcePath: UnsafePointer<CChar>,
        to target: Int32, _ targetPath: UnsafePointer<CChar>
    ) throws(StoreError) {
        if retrying({ castree_rename_new(source, sourcePath, target, targetPath) }) == 0 { return }
        // renameat2(2), EINVAL: the file system does not know RENAME_NOREPLACE. ENOSYS and EPERM: a kernel before
        // 3.15, or a sandbox that does not know the call; a rename that is not permitted is refused again.
        guard errno == EINVAL || errno == ENOSYS || errno == ENOTSUP || errno == EPERM else {
            throw failure("renameat", target, targetPath)
        }
        if try status(target, targetPath) != nil {
            errno = EEXIST
            throw failure("renameat", target, targetPath)
        }
        try rename(source, sourcePath, to: target, targetPath)
    }

    package func exchange(
        _ directory: Int32, _ first: String, _ second: String, spare: String
    ) throws(StoreError) {
        if retrying({ castree_rename_exchange(directory, first, directory, second) }) == 0 {
            return
        }
        // renameat2(2), EINVAL: the file system does not know RENAME_EXCHANGE. The rest as for `renameNew`.
        guard errno == EINVAL || errno == ENOSYS || errno == ENOTSUP || errno == EPERM else {
            throw failure("renameat", directory, second)
        }
        try exchangeByRenames(directory, first, second, spare: spare)
    }

    package func remove(
        _ directory: Int32, _ path: UnsafePointer<CChar>, directory isDirectory: Bool
    ) throws(StoreError) {
        let result = retrying { unlinkat(directory, path, isDirectory ? AT_REMOVEDIR : 0) }
        if result >= 0 { return }
        guard errno == ENOENT else { throw failure("unlinkat", directory, path) }
        // Collections try thousands of removals of missing files: the directory's path would cost a call each.
        throw StoreError(systemCall: "unlinkat", errno: ENOENT, path: String(cString: path))
    }

    package func makeDirectory(
        _ directory: Int32, _ path: UnsafePointer<CChar>, mode: UInt32
    ) throws(StoreError) {
        try call("mkdirat", directory, path) { mkdirat(directory, path, mode_t(mode)) }
    }

    package func makeSymbolicLink(
        _ directory: Int32, _ path: UnsafePointer<CChar>, to target: String
    ) throws(StoreError) {
        try call("symlinkat", directory, path) { symlinkat(target, directory, path) }
    }

    package func symbolicLink(
        _ directory: Int32, _ path: UnsafePointer<CChar>
    ) throws(StoreError) -> String? {
        var count = 0
        let target = String(unsafeUninitializedCapacity: 4096) { buffer in
            count = buffer.withMemoryRebound(to: CChar.self) { target in
                guard let start = target.baseAddress else { return -1 }
                return retrying { readlinkat(directory, path, start, 4096) }
            }
            return max(count, 0)
        }
        if count >= 0 { return target }
        if errno == ENOENT || errno == EINVAL || errno == ENOTDIR { return nil }
        throw failure("readlinkat", directory, path)
    }

    package func clone(_ source: Int32, to target: Int32) throws(StoreError) -> Bool {
        if retrying({ castree_clone(target, source) }) == 0 { return true }
        switch errno {
        case EOPNOTSUPP, ENOTTY, EINVAL, EXDEV, ENOTSUP, EPERM, ENOSYS: return false
        default: throw failure("clone", target)
        }
    }

    package func lock(_ file: Int32, exclusive: Bool) throws(StoreError) -> Bool {
        let operation = (exclusive ? LOCK_EX : LOCK_SH) | LOCK_NB
        if retrying({ flock(file, operation) }) == 0 { return true }
        if errno == EWOULDBLOCK { return false }
        throw failure("flock", file)
    }

    package func unlock(_ file: Int32) { _ = retrying { flock(file, LOCK_UN) } }

    package func freeSpace(_ file: Int32) throws(StoreError) -> FreeSpace {
        var space = statvfs()
        try call("statvfs", file) { fstatvfs(file, &space) }
        let unit = Int64(space.f_frsize)
        return FreeSpace(
            available: Int64(space.f_bavail) * unit, total: Int64(space.f_blocks) * unit,
            files: space.f_files == 0 ? nil : Int64(space.f_favail),
            isReadOnly: space.f_flag & UInt(ST_RDONLY) != 0, unit: max(1, unit))
    }

    package func mount(of file: Int32) -> MountStatus? {
        var mount = castree_mount()
        return retrying { castree_mount_of(file, &mount) } == 0 ? MountStatus(mount) : nil
    }
}

// Inside the type, `write` names the method and not the system call.
private func systemWrite(_ file: Int32, _ bytes: UnsafeRawPointer?, _ count: Int) -> Int {
    write(file, bytes, count)
}

private func systemRead(_ file: Int32, _ buffer: UnsafeMutableRawPointer?, _ count: Int) -> Int {
    read(file, buffer, count)
}

extension POSIXFileSystem {
    func retrying<N: FixedWidthInteger>(_ call: () -> N) -> N {
        while true {
            let result = call()
            if result >= 0 || errno != EINTR { return result }
        }
    }

    @discardableResult
    private func call<N: FixedWidthInteger>(
        _ name: String, _ directory: Int32, _ path: UnsafePointer<CChar>? = nil,
        _ operation: () -> N
    ) throws(StoreError) -> N {
        let result = retrying(operation)
        guard result >= 0 else { throw failure(name, directory, path) }
        return result
    }

    /// The error of the call that has just failed; errno is read before anything else runs.
    func failure(
        _ call: String, _ directory: Int32, _ path: UnsafePointer<CChar>? = nil
    ) -> StoreError {
        let number = errno
        guard let path else {
            return StoreError(systemCall: call, errno: number, path: self.path(of: directory))
        }
        let name = String(cString: path)
        let full =
            name.hasPrefix("/") || directory == AT_FDCWD
            ? name : self.path(of: directory) + "/" + name
        return StoreError(systemCall: call, errno: number, path: full)
    }

    /// The path of an open file, for messages only.
    package func path(of descriptor: Int32) -> String {
        #if canImport(Glibc)
            // readlink(2) of /proc/self/fd; a message is useful even without it.
            let link = "/proc/self/fd/\(descriptor)"
            if let path = try? symbolicLink(AT_FDCWD, link), !path.isEmpty { return path }
        #endif
        return "file descriptor \(descriptor)"
    }
}

#if canImport(Glibc)
    import Glibc
#endif

extension POSIXFileSystem {
    /// Takes and returns a lease for reading (fcntl(2), F_SETLEASE), which is refused while a process can write.
    ///
    /// `nil` for other users' files without CAP_LEASE, on file systems without leases, and outside of Linux.
    package func isOpenForWriting(_ file: Int32) -> Bool? {
        #if os(Linux)
            // A process that opens the file for writing in between waits until the lease is back, and we get a
            // signal. This one is ignored unless a handler was installed; the default, SIGIO, would end the process.
            guard fcntl(file, setSignal, SIGURG) == 0 else { return nil }
            if fcntl(file, setLease, Int32(F_RDLCK)) == 0 {
                // Cannot fail on a lease that we have; closing the file would do it, too.
                _ = fcntl(file, setLease, Int32(F_UNLCK))
                return false
            }
            return errno == EAGAIN ? true : nil
        #else
            return nil
        #endif
    }
}

#if os(Linux)
    // fcntl(2): not in the headers that Swift sees.
    private let setSignal: Int32 = 10  // F_SETSIG
    private let setLease: Int32 = 1024  // F_SETLEASE
#endif

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
