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

/// What castree needs to know of the mount that holds a file.
package struct MountStatus: Sendable, Hashable {
    /// The file system's usual name; for an unknown one its number (statfs(2), f_type).
    package var kind: String
    package var isWritable: Bool
    /// The identifier of the file system (f_fsid).
    package var fileSystem: UInt64
    /// The identifier of the mount (statx(2), stx_mnt_id).
    package var number: UInt64
}

extension MountStatus {
    init(_ mount: castree_mount) {
        let name = withUnsafeBytes(of: mount.kind) { bytes in
            String(decoding: bytes.prefix { $0 != 0 }, as: UTF8.self)
        }
        kind = name.isEmpty ? Self.kind(of: mount.magic) : name
        isWritable = mount.is_writable != 0
        fileSystem = mount.file_system
        number = mount.number
    }

    static let memory = "tmpfs"

    /// From linux/magic.h; for zfs, from its own headers.
    private static func kind(of magic: UInt64) -> String {
        switch magic {
        case 0xEF53: "ext4"
        case 0x5846_5342: "xfs"
        case 0x9123_683E: "btrfs"
        case 0xF2F5_2010: "f2fs"
        case 0x2FC1_2FC1: "zfs"
        case 0x794C_7630: "overlay"
        case 0x0102_1994: memory
        default: "0x" + String(magic, radix: 16)
        }
    }

    /// Whether changing a file's times alone may copy the file from a lower layer (overlayfs).
    package var copiesToChange: Bool { kind == "overlay" }

    /// Whether the kernel itself stamps each change of a file with a time that no program can set.
    ///
    /// Only a writable mount of a listed kind does: a read-only image has the times that its maker gave it, FUSE and
    /// network file systems report others' times, tmpfs does not stamp what is written through a mapping, and a file
    /// of an overlay may be another one after a copy-up.
    package var provesChanges: Bool {
        isWritable && ["ext4", "xfs", "btrfs", "f2fs", "zfs", "apfs"].contains(kind)
    }
}
