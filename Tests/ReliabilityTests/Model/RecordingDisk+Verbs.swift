import StorageTestSupport

// The verbs: each is performed and noted, alone.
extension RecordingDisk {
    func open(
        _ directory: Int32, _ path: UnsafePointer<CChar>, _ access: Access, mode: UInt32
    ) throws(StoreError) -> Descriptor {
        guard access == .creating || access == .updating else {
            return try base.open(directory, path, access, mode: mode)
        }
        return try alone { (index) throws(StoreError) -> Descriptor in
            let place = place(directory, path)
            let isThere = place.map { view.nodes[$0.0]?.entries[$0.1] != nil } ?? true
            let file = try base.open(directory, path, access, mode: mode)
            if let place, !isThere {
                make(.file, mode, directory, path, at: place, index: index, "create")
            }
            return file
        }
    }

    func write(_ file: Int32, _ bytes: UnsafeRawBufferPointer) throws(StoreError) {
        try alone { (index) throws(StoreError) in
            let known = node(file)
            let isAppending = fcntl(file, F_GETFL) & O_APPEND != 0
            let offset =
                isAppending
                ? known.map { view[$0].content.count } ?? 0 : Int(lseek(file, 0, SEEK_CUR))
            try base.write(file, bytes)
            guard let known else { return }
            note(
                .write(node: known, offset: offset, [UInt8](bytes)), "write \(name(of: file))",
                index: index)
        }
    }

    private func name(of file: Int32) -> String {
        let path = POSIXFileSystem().path(of: file)
        return path.hasPrefix(root) ? String(path.dropFirst(root.count)) : path
    }

    func truncate(_ file: Int32, to byteCount: Int64) throws(StoreError) {
        try alone { (index) throws(StoreError) in
            try base.truncate(file, to: byteCount)
            guard let known = node(file) else { return }
            note(.resize(node: known, Int(byteCount)), "truncate \(name(of: file))", index: index)
        }
    }

    func reserve(_ file: Int32, _ byteCount: Int64) throws(StoreError) {
        try alone { (index) throws(StoreError) in
            // Sparse is enough, and quicker.
            try base.truncate(file, to: byteCount)
            guard let known = node(file) else { return }
            note(.resize(node: known, Int(byteCount)), "reserve \(name(of: file))", index: index)
        }
    }

    func setMode(_ file: Int32, _ mode: UInt32) throws(StoreError) {
        try alone { (index) throws(StoreError) in
            try base.setMode(file, mode)
            guard let known = node(file) else { return }
            note(.setMode(node: known, mode), "chmod \(name(of: file))", index: index)
        }
    }

    func setMode(
        _ directory: Int32, _ path: UnsafePointer<CChar>, _ mode: UInt32
    ) throws(StoreError) {
        try alone { (index) throws(StoreError) in
            try base.setMode(directory, path, mode)
            guard let place = place(directory, path),
                let known = view.nodes[place.0]?.entries[place.1]
            else { return }
            note(.setMode(node: known, mode), "chmod \(String(cString: path))", index: index)
        }
    }

    func sync(_ file: Int32) throws(StoreError) {
        try alone { (index) throws(StoreError) in
            guard let known = node(file) else { return }
            syncCount += 1
            if syncCount == failingSync {
                note(.failedSync(node: known), "failed sync \(name(of: file))", index: index)
                throw StoreError(systemCall: "fsync", errno: EIO, path: name(of: file))
            }
            note(.sync(node: known), "sync \(name(of: file))", index: index)
        }
    }

    /// The one sync that SQLite's files get, but for those of everything.
    func sync(
        _ directory: Int32, _ path: UnsafePointer<CChar>,
        by library: () throws(StoreError) -> Void
    ) throws(StoreError) {
        let name = String(cString: path)
        guard isIndexName(name) else {
            throw StoreError(.io, "\(name) is no file of SQLite's: who has it open?")
        }
        try alone { (index) throws(StoreError) in
            syncCount += 1
            if syncCount == failingSync {
                droppedIndex = index
                throw StoreError(systemCall: "fsync", errno: EIO, path: root + "/store/" + name)
            }
            note(.syncIndex, "sync \(name)", index: index, saves: index != droppedIndex)
        }
    }

    func syncAll(_ file: Int32) throws(StoreError) -> Bool {
        try alone { (index) throws(StoreError) in
            syncCount += 1
            if syncCount == failingSync {
                for node in now.unsaved {
                    note(.failedSync(node: node), "failed syncfs", index: index)
                }
                droppedIndex = index
                throw StoreError(systemCall: "syncfs", errno: EIO, path: root)
            }
            note(.syncAll, "syncfs", index: index, saves: index != droppedIndex)
            return true
        }
    }

    func link(
        _ source: Int32, _ sourcePath: UnsafePointer<CChar>,
        to target: Int32, _ targetPath: UnsafePointer<CChar>
    ) throws(StoreError) {
        try alone { (index) throws(StoreError) in
            try base.link(source, sourcePath, to: target, targetPath)
            guard let from = place(source, sourcePath), let to = place(target, targetPath),
                let known = view.nodes[from.0]?.entries[from.1]
            else { return }
            note(
                .names(names([(to, known)], [to.0: time(target, targetPath)])),
                "link \(String(cString: targetPath))", index: index)
        }
    }

    private func renamed(
        _ source: Int32, _ sourcePath: UnsafePointer<CChar>, _ target: Int32,
        _ targetPath: UnsafePointer<CChar>, _ index: Int
    ) {
        guard let from = place(source, sourcePath), let to = place(target, targetPath),
            let known = view.nodes[from.0]?.entries[from.1]
        else { return }
        // rename(2) does nothing when both names are one file already.
        if view.nodes[to.0]?.entries[to.1] == known { return }
        var times = [to.0: time(target, targetPath)]
        times[from.0] = time(source, sourcePath)
        note(
            .names(names([(from, nil), (to, known)], times)),
            "rename \(String(cString: sourcePath)) to \(String(cString: targetPath))", index: index)
    }

    func rename(
        _ source: Int32, _ sourcePath: UnsafePointer<CChar>,
        to target: Int32, _ targetPath: UnsafePointer<CChar>
    ) throws(StoreError) {
        try alone { (index) throws(StoreError) in
            try base.rename(source, sourcePath, to: target, targetPath)
            renamed(source, sourcePath, target, targetPath, index)
        }
    }

    func renameNew(
        _ source: Int32, _ sourcePath: UnsafePointer<CChar>,
        to target: Int32, _ targetPath: UnsafePointer<CChar>
    ) throws(StoreError) {
        try alone { (index) throws(StoreError) in
            try base.renameNew(source, sourcePath, to: target, targetPath)
            renamed(source, sourcePath, target, targetPath, index)
        }
    }

    func remove(
        _ directory: Int32, _ path: UnsafePointer<CChar>, directory isDirectory: Bool
    ) throws(StoreError) {
        try alone { (index) throws(StoreError) in
            try base.remove(directory, path, directory: isDirectory)
            guard let place = place(directory, path) else { return }
            note(
                .names(names([(place, nil)], [place.0: time(directory, path)])),
                "remove \(String(cString: path))", index: index)
        }
    }

    func makeDirectory(
        _ directory: Int32, _ path: UnsafePointer<CChar>, mode: UInt32
    ) throws(StoreError) {
        try alone { (index) throws(StoreError) in
            let place = place(directory, path)
            try base.makeDirectory(directory, path, mode: mode)
            guard let place else { return }
            make(.directory, mode, directory, path, at: place, index: index, "mkdir")
        }
    }

    func makeSymbolicLink(
        _ directory: Int32, _ path: UnsafePointer<CChar>, to target: String
    ) throws(StoreError) {
        try alone { (index) throws(StoreError) in
            let place = place(directory, path)
            try base.makeSymbolicLink(directory, path, to: target)
            guard let place else { return }
            make(.link(target), 0o777, directory, path, at: place, index: index, "symlink")
        }
    }

    /// No reflinks: a copy shows every write.
    func clone(_ source: Int32, to target: Int32) throws(StoreError) -> Bool { false }
}
