extension Store {
    /// Removes a file or a directory with all it holds; that it is gone already is success.
    ///
    /// Symbolic links are removed, never followed. Depth is bounded by open directories, which are
    /// held so that a directory swapped for a link cannot lead outside.
    package func removeTree(_ parent: Int32, _ name: String) throws(StoreError) {
        guard let status = try fileSystem.status(parent, name) else { return }
        guard status.kind == .directory else {
            return try fileSystem.removeIfPresent(parent, name)
        }
        do throws(StoreError) {
            let directory = try fileSystem.open(parent, name, .directory, mode: 0)
            // Trees have mode 0555; their owner must make them writable to empty them.
            if status.mode & 0o300 != 0o300 { try fileSystem.setMode(directory.raw, 0o755) }
            var inner: [String] = []
            try fileSystem.list(directory.raw) { (entry, kind) throws(StoreError) in
                if kind == .directory || kind == .unknown {
                    inner.append(String(cString: entry))
                } else {
                    try fileSystem.removeIfPresent(directory.raw, entry)
                }
                return true
            }
            for entry in inner { try removeTree(directory.raw, entry) }
        } catch {
            guard error.code != .notFound else { return }
            throw error
        }
        do throws(StoreError) {
            try fileSystem.remove(parent, name, directory: true)
        } catch {
            guard error.code != .notFound else { return }
            throw error
        }
    }
}
