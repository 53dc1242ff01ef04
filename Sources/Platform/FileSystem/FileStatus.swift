import CSystem

/// The part of stat(2) that castree uses.
package struct FileStatus: Hashable, Sendable {
    package enum Kind: Sendable, Hashable {
        case regular, directory, symbolicLink, fifo, socket, device, unknown

        package var noun: String {
            switch self {
            case .regular: "a file"
            case .directory: "a directory"
            case .symbolicLink: "a symbolic link"
            case .fifo: "a named pipe"
            case .socket: "a socket"
            case .device: "a device"
            case .unknown: "something unknown"
            }
        }
    }

    /// The directory at the root of a disk in which fsck(8) puts recovered files.
    package static let foundFiles = "lost+found"

    /// Whether a directory is root's and group-writable, like the root of a volume (`fsGroup` of Kubernetes).
    package var isGroupsPlace: Bool {
        owner == 0 && kind == .directory && mode & 0o022 == 0o020
    }

    package var kind: Kind
    /// The permission bits, 0o7777.
    package var mode: UInt32
    package var owner, group: UInt32
    package var byteCount: Int64
    /// Disk usage in 512-byte units (stat(2), st_blocks).
    package var blocks: Int64
    package var linkCount: UInt64
    package var device: UInt64
    package var inode: UInt64
    /// Last change of the bytes, nanoseconds since 1970.
    package var modifiedAt: Int64
    /// Last change of the inode, nanoseconds since 1970.
    package var changedAt: Int64

    init(_ status: stat) {
        var status = status
        kind = Self.kind(of: status.st_mode)
        mode = UInt32(status.st_mode) & 0o7777
        owner = status.st_uid
        group = status.st_gid
        byteCount = Int64(status.st_size)
        blocks = Int64(status.st_blocks)
        linkCount = UInt64(status.st_nlink)
        device = UInt64(status.st_dev)
        inode = UInt64(status.st_ino)
        modifiedAt = castree_mtime_ns(&status)
        changedAt = castree_ctime_ns(&status)
    }

    private static func kind(of mode: mode_t) -> Kind {
        switch castree_file_type(mode) {
        case 0o100000: .regular
        case 0o040000: .directory
        case 0o120000: .symbolicLink
        case 0o010000: .fifo
        case 0o140000: .socket
        case 0o020000, 0o060000: .device
        default: .unknown
        }
    }

    package func isSameFile(as other: FileStatus) -> Bool {
        device == other.device && inode == other.inode
    }

    /// Whether nothing was written to the file between the two looks.
    package func isUnchanged(since other: FileStatus) -> Bool {
        isSameFile(as: other) && byteCount == other.byteCount
            && modifiedAt == other.modifiedAt && changedAt == other.changedAt
    }
}
