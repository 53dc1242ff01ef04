extension FileSystem {
    /// Removes a file, or a directory with all it holds; succeeds if it is already gone.
    ///
    /// What cannot be removed does not keep the rest: it is thrown at the end, the first of several. Nothing is removed
    /// from what is mounted on a directory in it.
    ///
    /// Symbolic links are removed, never followed. Depth is bounded by open directories, which are
    /// held so that a directory swapped for a link cannot lead outside.
    package func removeTree(_ parent: Int32, _ name: String) throws(StoreError) {
        try removeTree(parent, name, path: name, beforeEach: nil)
    }

    /// As above, but calls `beforeEach` before it removes a file: with the directory, the name there, and a closure
    /// that returns the path from `parent`.
    package func removeTree(
        _ parent: Int32, _ name: String,
        beforeEach: (Int32, UnsafePointer<CChar>, () -> String) throws(StoreError) -> Void
    ) throws(StoreError) {
        try withoutActuallyEscaping(beforeEach) { (beforeEach) throws(StoreError) in
            try removeTree(parent, name, path: name, beforeEach: beforeEach)
        }
    }

    private func removeTree(
        _ parent: Int32, _ name: String, path: String,
        beforeEach: ((Int32, UnsafePointer<CChar>, () -> String) throws(StoreError) -> Void)?
    ) throws(StoreError) {
        guard let found = try status(parent, name) else { return }
        guard found.kind == .directory else {
            try beforeEach?(parent, name, { path })
            return try removeIfPresent(parent, name)
        }
        if try removeUnlessFull(parent, name) { return }
        var first: StoreError?
        let emptied: Void? = try ifPresent { () throws(StoreError) in
            // One that is closed to its owner (mode 000) is opened first. By its name: who could exchange it is its owner.
            if found.mode & 0o500 != 0o500 { try setMode(parent, name, 0o755) }
            let directory = try open(parent, name, .directory, mode: 0)
            // Trees have mode 0555; their owner must make them writable to empty them.
            if found.mode & 0o300 != 0o300 { try setMode(directory.raw, 0o755) }
            var inner: [String] = []
            try list(directory.raw) { (entry, kind) throws(StoreError) in
                if !RawName.isText(entry) {
                    // Not castree's. Paths are text, so it gets a text name before it is removed like the others.
                    let name = ".\(try randomToken())"
                    try ifPresent { () throws(StoreError) in
                        try move(directory.raw, entry, to: directory.raw, name)
                    }
                    inner.append(name)
                } else if kind == .directory || kind == .unknown {
                    inner.append(String(cString: entry))
                } else {
                    do throws(StoreError) {
                        try beforeEach?(
                            directory.raw, entry, { "\(path)/\(String(cString: entry))" })
                        try removeIfPresent(directory.raw, entry)
                    } catch {
                        guard error.isOfOneName else { throw error }
                        first = first ?? error
                    }
                }
                return true
            }
            for entry in inner {
                do throws(StoreError) {
                    try removeTree(
                        directory.raw, entry, path: "\(path)/\(entry)", beforeEach: beforeEach)
                } catch {
                    guard error.isOfOneName else { throw error }
                    first = first ?? error
                }
            }
        }
        if let first { throw first }
        guard emptied != nil else { return }
        try ifPresent { () throws(StoreError) in try remove(parent, name, directory: true) }
    }

    /// Removes an empty directory.
    ///
    /// What is mounted is somebody's, and refused before anything in it goes (rmdir(2), EBUSY).
    /// - Returns: whether it is gone; `false` if there is something in it.
    private func removeUnlessFull(_ parent: Int32, _ name: String) throws(StoreError) -> Bool {
        do throws(StoreError) {
            try ifPresent { () throws(StoreError) in try remove(parent, name, directory: true) }
            return true
        } catch {
            guard error.isExisting else { throw error }
            return false
        }
    }
}
