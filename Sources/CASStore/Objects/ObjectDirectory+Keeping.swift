// A misplaced file among the objects may be the last copy of an object, so it is kept before it goes.

extension ObjectDirectory {
    /// Keeps a wrong file that is about to go in quarantine, unless it has an intact object's bytes.
    ///
    /// A file keeps its name as well, so that it can still be replaced in one step; a directory is moved. Durable,
    /// because what the caller does next may reach the disk first.
    /// - Parameter address: the object whose place it is.
    func keepUnlessObject(
        at path: String, of address: ObjectID, checker: inout ObjectChecker
    ) throws(StoreError) {
        let (objects, quarantine) = (directories.objects.raw, directories.quarantine.raw)
        guard let status = try fileSystem.status(objects, path) else { return }
        switch status.kind {
        case .directory:
            try fileSystem.setAside(objects, path, to: quarantine, quarantineName(address))
        case .regular where status.byteCount > 0:
            guard let name = try nameToKeep(path, &checker) else { return }
            do throws(StoreError) {
                try fileSystem.link(objects, path, to: quarantine, name)
            } catch {
                // EPERM, EMLINK (link(2)). Then it leaves its place, where it was wrong anyway.
                try fileSystem.renameIfPresent(objects, path, to: quarantine, name)
            }
        default: return
        }
        try fileSystem.sync(quarantine)
    }

    /// The name in quarantine for a file; `nil` if it need not be kept: an object has its bytes, or they are lost.
    private func nameToKeep(
        _ path: String, _ checker: inout ObjectChecker
    ) throws(StoreError) -> String? {
        let content: ObjectID
        do throws(StoreError) {
            guard let file = try fileSystem.openIfPresent(directories.objects.raw, path, .reading)
            else { return nil }
            content = try checker.hash(file.raw, fileSystem).address
        } catch {
            // It may be readable for another user or later.
            guard error.code == .permission || error.code == .io else { throw error }
            return try StoreLayout.aside("unread")
        }
        return try isSound(content, checker: &checker) ? nil : quarantineName(content)
    }

    /// A free name in quarantine, since an existing file there may be the last copy of something else.
    func quarantineName(_ address: ObjectID) throws(StoreError) -> String {
        let name = address.description
        guard try fileSystem.status(directories.quarantine.raw, name) != nil else { return name }
        return "\(name).\(try randomToken())"
    }
}

extension StoreLayout {
    /// The address in a quarantine name (`<address>`, or `<address>.<token>` beside that); `nil` for other names.
    static func quarantinedAddress(_ name: String) -> ObjectID? {
        if let address = ObjectID(name) { return address }
        let bytes = name.utf8
        guard bytes.count > 65, bytes[bytes.index(bytes.startIndex, offsetBy: 64)] == 46 else {
            return nil
        }
        return ObjectID(String(name.prefix(64)))
    }
}
