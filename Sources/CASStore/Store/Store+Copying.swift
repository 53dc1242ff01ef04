extension Store {
    /// Copies an object's bytes into a new file, sharing them on disk where the file system can.
    ///
    /// Hashes the bytes on the way, unless they are shared; a wrong byte throws `.damagedObject`.
    /// - Parameter place: the file system of the directory, if the directory is outside the store.
    /// - Returns: whether they are shared.
    package func copyObject(
        _ address: ObjectID, to directory: Int32, _ name: UnsafePointer<CChar>, mode: UInt32,
        allowingReflink: Bool, on place: (any FileSystem)? = nil
    ) throws(StoreError) -> Bool {
        guard let source = try objects.open(address) else { throw missingObject(address) }
        // A clone is not read, so a touched file is copied and hashed instead.
        let status = allowingReflink ? try fileSystem.status(source.raw) : nil
        let isSealed = status.map { ObjectDirectory.isSealed($0, address, $0.byteCount) } ?? false
        return try copy(
            source.raw, of: address, to: directory, name, mode: mode, allowingReflink: isSealed,
            on: place)
    }

    func copy(
        _ source: Int32, of address: ObjectID, to directory: Int32,
        _ name: UnsafePointer<CChar>, mode: UInt32, allowingReflink: Bool,
        on place: (any FileSystem)? = nil
    ) throws(StoreError) -> Bool {
        let place = place ?? fileSystem
        let target = try place.open(directory, name, .creating, mode: mode)
        let isCloned = allowingReflink ? try fileSystem.clone(source, to: target.raw) : false
        if !isCloned {
            var checker = try ObjectChecker()
            try fileSystem.forEachPiece(of: source, buffer: checker.buffer) {
                (piece) throws(StoreError) in
                checker.update(piece)
                try fileSystem.write(target.raw, piece)
                try checkInterruption()
            }
            guard checker.finish().address == address else {
                throw StoreError.damagedObject(address)
            }
        }
        // The umask cut the mode that open(2) was given.
        try place.setMode(target.raw, mode)
        return isCloned
    }

    package func missingObject(_ address: ObjectID) -> StoreError {
        StoreError(
            .missingObject,
            "object \(address) is not in the store; castree fsck --repair restores it from a copy if there is one; otherwise add or pull a version that has it",
            object: address)
    }

    /// The error for an object that no tree may link to: it was written to, truncated or replaced.
    package func touchedObject(_ address: ObjectID) -> StoreError {
        StoreError(
            .damagedObject,
            "object \(address) was changed by another program or a bad disk: its bytes do not match its address; "
                + "run castree fsck --repair, or add or pull its content again",
            object: address)
    }
}
