import CSystem

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
