// An object's file carries a seal: a part of its address in the nanoseconds of its modification time.
//
// Writing through another name of the file, truncating it, or putting another file in its place stamps it with
// another time. One look at a file thus tells whether it was touched since castree wrote it, without any record that
// could be lost; links and renames change the change time only. A file without the seal is read, and sealed if it is
// intact. If someone sets the time back on purpose, a check finds it by reading the bytes.

extension ObjectDirectory {
    private static let second: Int64 = 1_000_000_000

    /// The nanoseconds of a sealed file's time; never 0, which makers of images and archives write.
    private static func seal(of address: ObjectID) -> Int64 {
        1 + Int64(address.w1 % UInt64(second - 1))
    }

    package static func isSealed(_ status: FileStatus, _ address: ObjectID, _ byteCount: Int64)
        -> Bool
    {
        status.kind == .regular && status.byteCount == byteCount && status.modifiedAt > 0
            && status.modifiedAt % second == seal(of: address)
    }

    /// Seals a file whose bytes are those of an object.
    /// - Parameter time: nanoseconds since 1970 when it was written; its second stays.
    package func seal(
        _ directory: Int32, _ name: UnsafePointer<CChar>, as address: ObjectID, at time: Int64
    ) {
        let nanoseconds = max(0, time) / Self.second * Self.second + Self.seal(of: address)
        // If this fails (another user's file, a read-only file system), the file is only read before it is linked.
        try? fileSystem.setModified(directory, name, nanoseconds)
    }

    /// Seals a file that had lost its seal and was read, if its times alone can be set: a check must not take space.
    package func sealAgain(
        _ directory: Int32, _ name: UnsafePointer<CChar>, as address: ObjectID, at time: Int64
    ) {
        guard fileSystem.mount(of: directory)?.copiesToChange != true else { return }
        seal(directory, name, as: address, at: time)
    }

    /// Removes the seal of a file found damaged, so that it is read before it is linked.
    func unseal(_ address: ObjectID, executable: Bool) throws(StoreError) {
        guard let time = try status(address, executable: executable)?.modifiedAt else { return }
        try StoreLayout.withObjectPath(address, executable: executable) {
            (path) throws(StoreError) in
            try fileSystem.setModified(
                directories.objects.raw, path, time / Self.second * Self.second)
        }
    }

    /// Whether an object's file, or its executable copy, has the object's bytes, judged by its seal or by reading it.
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
