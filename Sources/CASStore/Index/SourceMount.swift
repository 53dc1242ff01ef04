/// Names a mount on which change times prove something, as long as it is mounted and the system runs: an
/// inode that still has its times still has its bytes.
///
/// Another image at the same place has a name of its own, or is another mount. And after a power cut the
/// bytes of a file may be older or newer than its times, which are in the journal: what was read before the
/// boot proves nothing (ext4 and xfs do not order data that overwrites other data).
package struct SourceMount: Sendable, Hashable {
    /// A hash of the file system, the mount and the boot.
    let name: Int64

    package init(name: Int64) { self.name = name }

    /// - Returns: `nil` if a change of a file might not show there, or if that cannot be known.
    package init?(_ status: MountStatus?, boot: String?) {
        guard let status, status.provesChanges, let boot, !boot.isEmpty else { return nil }
        let text = "castree-mount 1 \(status.kind) \(status.fileSystem) \(status.number) \(boot)"
        let hash = Array(text.utf8).withUnsafeBytes { Fingerprinter.fingerprint($0) }
        name = Int64(bitPattern: hash.low)
    }
}

extension IndexTransaction {
    /// How many mounts are remembered: those of the last boots, and of containers, which have their own.
    private static let mountsMax: Int64 = 64

    /// The number that stands for a mount in rows of the cache; it is shorter than the mount's name.
    func number(of mount: SourceMount) throws(StoreError) -> Int64? {
        try statement("SELECT id FROM mount WHERE name = ?").bind(1, mount.name).firstInteger()
    }

    /// Like ``number(of:)``, but gives a new mount a number.
    ///
    /// The largest number is never dropped, so none is used again. Rows of a dropped mount do not count.
    func noteNumber(of mount: SourceMount) throws(StoreError) -> Int64 {
        if let known = try number(of: mount) { return known }
        let number =
            try statement("SELECT coalesce(max(id), 0) + 1 FROM mount").firstInteger() ?? 1
        try statement("INSERT INTO mount VALUES (?, ?)").bind(1, number)
            .bind(2, mount.name).run()
        try statement("DELETE FROM mount WHERE id <= ?").bind(1, number - Self.mountsMax)
            .run()
        return number
    }
}
