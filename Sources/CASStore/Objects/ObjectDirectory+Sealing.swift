// An object's file carries a seal: a part of its address in the nanoseconds of its modification time.
//
// Whoever writes through another name of the file, cuts it, or puts another file in its place stamps it with a time of
// their own. So one look at a file tells whether it was touched since castree wrote it, without any record that could be
// lost; links and renames change the change time only. A file without the seal is no wrong file: it is read, and sealed
// if it is sound. Whoever sets the time back on purpose is found by a check, which reads the bytes.

extension ObjectDirectory {
    private static let second: Int64 = 1_000_000_000

    /// The nanoseconds of a sealed file's time; never 0, which makers of images and archives write.
    private static func seal(of address: ObjectID) -> Int64 {
        1 + Int64(address.w1 % UInt64(second - 1))
    }

    /// Whether a file has the size and the seal of an object.
    package static func isSealed(_ status: FileStatus, _ address: ObjectID, _ byteCount: Int64)
        -> Bool
    {
        status.kind == .regular && status.byteCount == byteCount && status.modifiedAt > 0
            && status.modifiedAt % second == seal(of: address)
    }

    /// Seals a file whose bytes are those of an object.
    ///
    /// - Parameters:
    ///   - directory: where it stands.
    ///   - name: its name there.
    ///   - address: the object.
    ///   - time: nanoseconds since 1970 when it was written; its second stays.
    package func seal(
        _ directory: Int32, _ name: UnsafePointer<CChar>, as address: ObjectID, at time: Int64
    ) {
        let nanoseconds = max(0, time) / Self.second * Self.second + Self.seal(of: address)
        // A file without a seal is read before it is linked, and nothing else is lost: somebody else's file, or a
        // file system that is read-only.
        try? fileSystem.setModified(directory, name, nanoseconds)
    }

    /// The same for a file that lacks its seal and was read.
    ///
    /// Where the times alone cannot be set it is read again the next time: whoever only looks takes no room.
    package func sealAgain(
        _ directory: Int32, _ name: UnsafePointer<CChar>, as address: ObjectID, at time: Int64
    ) {
        guard fileSystem.mount(of: directory)?.copiesToChange != true else { return }
        seal(directory, name, as: address, at: time)
    }

    /// Takes the seal from an object's file that somebody has found wrong: whoever would link it reads it first.
    func unseal(_ address: ObjectID, executable: Bool) throws(StoreError) {
        guard let time = try status(address, executable: executable)?.modifiedAt else { return }
        try StoreLayout.withObjectPath(address, executable: executable) {
            (path) throws(StoreError) in
            try fileSystem.setModified(
                directories.objects.raw, path, time / Self.second * Self.second)
        }
    }

    /// Whether an object's file, or its executable copy, has the object's bytes: told by its seal, or by reading it.
    ///
    /// - Returns: `nil` if there is none.
    package func isRight(
        _ address: ObjectID, byteCount: Int64, executable: Bool = false
    ) throws(StoreError) -> Bool? {
        guard let status = try status(address, executable: executable) else { return nil }
        return try isRight(address, status, byteCount: byteCount, executable: executable)
    }

    /// Whether an object's file is there and has the object's bytes, whatever its size.
    package func isRight(_ address: ObjectID) throws(StoreError) -> Bool {
        guard let status = try status(address) else { return false }
        return try isRight(address, status, byteCount: status.byteCount, executable: false)
    }

    /// The same for a file that was looked at.
    func isRight(
        _ address: ObjectID, _ status: FileStatus, byteCount: Int64, executable: Bool
    ) throws(StoreError) -> Bool {
        if Self.isSealed(status, address, byteCount) { return true }
        guard status.kind == .regular, status.byteCount == byteCount else { return false }
        var checker = try ObjectChecker()
        let isSound =
            executable
            ? try isExecutableCopySound(address, checker: &checker)
            : try self.isSound(address, checker: &checker)
        guard isSound else { return false }
        try StoreLayout.withObjectPath(address, executable: executable) {
            (path) throws(StoreError) in
            sealAgain(directories.objects.raw, path, as: address, at: status.modifiedAt)
        }
        return true
    }
}
