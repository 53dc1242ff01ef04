/// How bytes got to a new file.
package enum CopyMethod: Sendable { case reflinked, copied }

extension Store {
    /// Copies an object's bytes into a new file, sharing them on disk where the file system can.
    ///
    /// What is copied is hashed on the way; a wrong byte throws `.damagedObject`.
    package func copyObject(
        _ address: ObjectID, to directory: Int32, _ name: UnsafePointer<CChar>, mode: UInt32,
        allowingReflink: Bool
    ) throws(StoreError) -> CopyMethod {
        guard let source = try objects.open(address) else { throw missingObject(address) }
        let target = try fileSystem.open(directory, name, .creating, mode: mode)
        var method = CopyMethod.reflinked
        let isCloned = allowingReflink ? try fileSystem.clone(source.raw, to: target.raw) : false
        if !isCloned {
            method = .copied
            var checker = try ObjectChecker()
            var offset: Int64 = 0
            while true {
                let count = try fileSystem.read(source.raw, into: checker.buffer, at: offset)
                if count == 0 { break }
                let piece = UnsafeRawBufferPointer(rebasing: checker.buffer[..<count])
                checker.update(piece)
                try fileSystem.write(target.raw, piece)
                offset += Int64(count)
                try checkInterruption()
            }
            guard checker.finish().address == address else {
                throw StoreError(
                    .damagedObject,
                    "the bytes of object \(address) do not match its address; "
                        + "run castree fsck --repair, then add or pull the content again",
                    object: address)
            }
        }
        // The mode that open(2) gave was cut by the umask.
        try fileSystem.setMode(target.raw, mode)
        return method
    }

    package func missingObject(_ address: ObjectID) -> StoreError {
        StoreError(
            .missingObject,
            "object \(address) is not in the store; add or pull a version that has it",
            object: address)
    }

    /// Makes the executable twin of an object: the same bytes in a file of mode 0555, so that one
    /// inode never serves two modes.
    ///
    /// Durable before it gets its name.
    package func makeTwin(
        of address: ObjectID, lease: borrowing Lease
    ) throws(StoreError) {
        if let twin = try objects.status(address, executable: true), twin.kind == .regular,
            twin.byteCount == (try objects.status(address)?.byteCount)
        {
            return
        }
        let staging = directories.staging.raw
        try fileSystem.makeDirectoryIfAbsent(staging, lease.name)
        let directory = try fileSystem.open(staging, lease.name, .directory, mode: 0)
        let name = address.description + StoreLayout.twinSuffix
        try fileSystem.removeIfPresent(directory.raw, name)
        _ = try copyObject(
            address, to: directory.raw, name, mode: 0o555, allowingReflink: true)
        let file = try fileSystem.open(directory.raw, name, .reading, mode: 0)
        try sync(file.raw)
        let objects = directories.objects.raw
        try StoreLayout.withObjectPath(address, executable: true) { (path) throws(StoreError) in
            try fileSystem.rename(directory.raw, name, to: objects, path)
        }
        if options.isDurable { try self.objects.syncEntries(of: address) }
    }
}
