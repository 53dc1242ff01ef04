import CSystem

#if canImport(Glibc)
    import Glibc
#elseif canImport(Darwin)
    import Darwin
#endif

// Maps errno to code and sentence, in one place (errno(3)).
extension StoreError {
    package init(systemCall name: String, errno number: Int32, path: String) {
        let (code, advice) = Self.meaning(of: number)
        self.init(systemCall: name, errno: number, path: path, code, advice)
    }

    private init(
        systemCall name: String, errno number: Int32, path: String, _ code: Code, _ advice: String
    ) {
        let reason = String(cString: strerror(number))
        var message = "unable to \(Self.operation(of: name)) \(printable(path)): \(reason)"
        if !advice.isEmpty { message += "; \(advice)" }
        self.init(
            code, message, cause: .systemCall(name, errno: number, path: path))
    }

    /// Replaces the advice in the error of a system call; any other error stays as it is.
    package func advising(_ advice: String) -> StoreError {
        guard case .systemCall(let name, let number, let path) = cause else { return self }
        return StoreError(systemCall: name, errno: number, path: path, code, advice)
    }

    /// The code of an errno, and what to do about it.
    package static func meaning(of number: Int32) -> (Code, String) {
        switch number {
        case ENOSPC:
            (
                .outOfSpace,
                "free space (castree gc in a store, castree prune in an origin) and repeat the command"
            )
        case EDQUOT: (.outOfSpace, "the quota is used up; free space and repeat the command")
        case EFBIG: (.outOfSpace, "a file size limit is in the way (ulimit -f, or the file system)")
        case EACCES, EPERM: (.permission, "check who owns it and its mode")
        case EROFS: (.readOnly, "mount it writable to change anything; reading still works")
        case ENOENT: (.notFound, "")
        case EMFILE, ENFILE: (.io, "raise the limit of open files (ulimit -n)")
        case EIO:
            (
                .io,
                "the disk reports an error; check it (dmesg, smartctl), then castree fsck --repair"
            )
        case ENOMEM: (.outOfMemory, "")
        case EXDEV:
            (
                .io,
                "a part of the store or origin is a disk of its own (a mount, a subvolume), and files are moved within it: "
                    + "move all of it to one disk"
            )
        case ELOOP: (.io, "a symbolic link stands where none may: move it away")
        case EISDIR: (.io, "a directory stands where a file belongs: move it away")
        case ENXIO: (.io, "a socket or a device stands where a file belongs: move it away")
        case ENOTDIR: (.io, "something else stands where a directory belongs: move it away")
        case ENAMETOOLONG: (.tooLarge, "shorten the name")
        default: (.io, "")
        }
    }

    private static func operation(of call: String) -> String {
        switch call {
        case "openat": "open"
        case "fsync", "syncfs": "sync"
        case "linkat": "link"
        case "unlinkat": "remove"
        case "renameat": "rename"
        case "mkdirat": "create directory"
        case "fstat", "fstatat": "examine"
        case "fchmod", "fchmodat": "set the mode of"
        case "fchown", "fchownat": "change the owner of"
        case "ftruncate": "set the length of"
        case "readdir", "getdents64": "list"
        case "symlinkat": "create symbolic link"
        case "readlinkat": "read symbolic link"
        case "posix_fallocate": "reserve space for"
        case "flock": "lock"
        case "mmap": "map"
        case "statvfs": "find the free space of"
        default: call
        }
    }
}

extension StoreError {
    /// Whether no space is left on a disk (ENOSPC), or of a quota (EDQUOT).
    package var isDiskFull: Bool { errno == ENOSPC || errno == EDQUOT }
    /// Whether a limit of file sizes is in the way (EFBIG), and free space would not help.
    package var isFileSizeLimited: Bool { errno == EFBIG }
    /// Whether the name is taken (EEXIST).
    package var isExisting: Bool { errno == EEXIST || errno == ENOTEMPTY }
    /// Whether the file has as many links as the file system allows (EMLINK).
    package var isTooManyLinks: Bool { errno == EMLINK }
    /// Whether a hard link is impossible here though the store is intact: another file system, or a folder that takes
    /// none (macOS refuses links inside some bundles with EPERM).
    package var isLinkRefused: Bool {
        errno == EXDEV || errno == EPERM || errno == EOPNOTSUPP || errno == ENOTSUP
    }
    /// Whether a directory cannot be renamed because it is in a lower layer of overlayfs (EXDEV).
    package var isOtherLayer: Bool { errno == EXDEV }
    /// Whether a directory was expected and something else is there (ENOTDIR, ELOOP).
    package var isNotDirectory: Bool { errno == ENOTDIR || errno == ELOOP }
    /// Whether a file was expected and a directory is there (EISDIR; macOS: EPERM).
    package var isDirectory: Bool { errno == EISDIR || errno == EPERM }
    /// Whether the failure is specific to one name: owner, immutable mark, mount, other disk, or bad sector.
    package var isOfOneName: Bool {
        guard case .systemCall(let name, let number, _) = cause,
            !["fsync", "syncfs", "write", "pwrite"].contains(name)
        else { return false }
        #if canImport(Glibc)
            if number == EUCLEAN { return true }
        #endif
        return [EACCES, EPERM, EIO, EBUSY, EXDEV].contains(number)
    }
    /// Whether the disk cannot read the data: a bad sector (EIO), a damaged file system (EUCLEAN).
    package var isUnreadable: Bool {
        #if canImport(Glibc)
            if errno == EUCLEAN { return true }
        #endif
        return errno == EIO
    }
    /// If the disk cannot read a file, the error that `damage` makes of the reason; any other error as it is.
    package func ifUnreadable(_ damage: (String) -> StoreError) -> StoreError {
        isUnreadable ? damage(advising("see dmesg and smartctl").message) : self
    }
    /// Whether rights are missing (EACCES), as opposed to a mark that forbids it to all (EPERM).
    package var isAccessDenied: Bool { errno == EACCES }
    /// Whether the reader of a pipe has gone (EPIPE).
    package var isReaderGone: Bool { errno == EPIPE }
    /// Whether something is mounted there (EBUSY).
    package var isMountPoint: Bool { errno == EBUSY }
    /// Whether the file is a socket, or a device or pipe without another end (ENXIO).
    package var isUnopenable: Bool { errno == ENXIO }
}
