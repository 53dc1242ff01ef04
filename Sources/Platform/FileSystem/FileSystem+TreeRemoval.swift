extension FileSystem {
    /// Removes a file, or a directory with its content; succeeds if it is already gone.
    ///
    /// Continues past what cannot be removed, and throws the first such error at the end. Nothing is removed from a
    /// file system mounted below it. Symbolic links are removed, never followed: each directory is held while it is
    /// emptied, so that one swapped for a link cannot lead outside. What is deeper than a few dozen directories is
    /// first moved up beside `name`.
    package func removeTree(_ parent: Int32, _ name: String) throws(StoreError) {
        try removeTree(parent, name, beforeEach: nil)
    }

    /// Calls `beforeEach` before it removes a file: with the directory, the name, and a closure for the path from
    /// `parent`.
    package func removeTree(
        _ parent: Int32, _ name: String,
        beforeEach: (Int32, UnsafePointer<CChar>, () -> String) throws(StoreError) -> Void
    ) throws(StoreError) {
        try withoutActuallyEscaping(beforeEach) { (beforeEach) throws(StoreError) in
            try removeTree(parent, name, beforeEach: Optional(beforeEach))
        }
    }

    private typealias BeforeEach =
        (Int32, UnsafePointer<CChar>, () -> String) throws(StoreError) -> Void

    /// How many nested directories are emptied in place.
    private static var depthMax: Int { 64 }

    private func removeTree(
        _ parent: Int32, _ name: String, beforeEach: BeforeEach?
    ) throws(StoreError) {
        var rest = [name]
        var first: StoreError?
        while let next = rest.popLast() {
            do throws(StoreError) {
                try removeTree(
                    parent, next, path: next, depth: 0, below: parent, &rest, beforeEach)
            } catch {
                first = first ?? error
            }
        }
        if let first { throw first }
    }

    /// - Parameters:
    ///   - top: where what is too deep is moved.
    ///   - raised: gets the names that it has there.
    private func removeTree(
        _ parent: Int32, _ name: String, path: String, depth: Int, below top: Int32,
        _ raised: inout [String], _ beforeEach: BeforeEach?
    ) throws(StoreError) {
        guard let found = try status(parent, name) else { return }
        guard found.kind == .directory else {
            try beforeEach?(parent, name, { path })
            return try removeIfPresent(parent, name)
        }
        if try removeUnlessFull(parent, name) { return }
        var first: StoreError?
        let emptied: Void? = try ifPresent { () throws(StoreError) in
            // One closed to its owner (mode 000) is opened first; by name, because only its owner could swap it.
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
                    if depth == Self.depthMax {
                        if let name = try raise(directory.raw, entry, to: top) {
                            raised.append(name)
                        }
                        continue
                    }
                    try removeTree(
                        directory.raw, entry, path: "\(path)/\(entry)", depth: depth + 1,
                        below: top,
                        &raised, beforeEach)
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

    /// Moves something that is too deep to a name of its own in the directory that the removal began in.
    /// - Returns: the name; `nil` if it is gone.
    private func raise(
        _ directory: Int32, _ name: String, to top: Int32
    ) throws(StoreError) -> String? {
        guard let found = try status(directory, name) else { return nil }
        // A directory that is moved must be writable, since its parent changes.
        if found.kind == .directory, found.mode & 0o200 == 0 { try setMode(directory, name, 0o755) }
        let raised = ".\(try randomToken())"
        let moved: Void? = try ifPresent { () throws(StoreError) in
            try move(directory, name, to: top, raised)
        }
        return moved == nil ? nil : raised
    }

    /// Removes an empty directory; a mount point is refused before anything in it goes (rmdir(2), EBUSY).
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
