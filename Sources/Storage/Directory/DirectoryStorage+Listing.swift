package import Platform
import Synchronization

// Listings: a walk in the order of the keys' bytes.

extension DirectoryStorage {
    package func list(_ request: ListRequest) throws(StoreError) -> ListPage {
        count()
        uncommitted.withLock { $0.isAll = true }
        let after = [request.startAfter, request.token].compactMap(\.self)
            .max { $0.utf8.lexicographicallyPrecedes($1.utf8) }
        var walk = Walk(prefix: request.prefix, after: after ?? "", countMax: request.countMax)
        try visit(root.raw, "", &walk)
        let hasMore = walk.files.count > request.countMax
        if hasMore { walk.files.removeLast() }
        return ListPage(
            files: walk.files, next: hasMore ? walk.files.last?.key : nil, answeredAt: secondsNow())
    }

    /// Everything below the directory for unfinished files.
    package func unlistedFiles() throws(StoreError) -> [ListedFile] {
        guard let directory = try openIfThere(root.raw, scratch) else { return [] }
        var walk = Walk(prefix: "", after: "", countMax: .max)
        try visit(directory.raw, scratch + "/", &walk)
        return walk.files
    }

    private struct Walk {
        let prefix: String
        let after: String
        let countMax: Int
        var files: [ListedFile] = []

        var isFull: Bool { files.count > countMax }

        func wants(below path: String) -> Bool {
            let mayMatch =
                path.utf8.starts(with: prefix.utf8) || prefix.utf8.starts(with: path.utf8)
            return mayMatch && (path.utf8 >= after.utf8 || after.utf8.starts(with: path.utf8))
        }

        func wants(_ key: String) -> Bool {
            key.utf8.starts(with: prefix.utf8) && after.utf8.lexicographicallyPrecedes(key.utf8)
        }
    }

    /// - Parameter path: that of the directory, with a trailing slash; empty for the root.
    private func visit(
        _ directory: Int32, _ path: String, _ walk: inout Walk
    ) throws(StoreError) {
        // With its slash, a directory is sorted like its keys: "a.b" before "a/b" before "a0".
        var names: [String] = []
        try fileSystem.list(directory) { (entry, kind) throws(StoreError) in
            guard RawName.isText(entry) else { return true }
            let name = String(cString: entry)
            // Some file systems do not tell what an entry is.
            let isUnknown = kind == .unknown
            let kind = try isUnknown ? fileSystem.status(directory, name)?.kind : kind
            if kind == .directory {
                guard !(path.isEmpty && name == scratch), Self.mayHaveKeys(path, name) else {
                    return true
                }
                if walk.wants(below: "\(path)\(name)/") { names.append(name + "/") }
            } else if kind == .regular, walk.wants(path + name) {
                names.append(name)
            }
            return true
        }
        names.sort { $0.utf8.lexicographicallyPrecedes($1.utf8) }
        for name in names {
            if walk.isFull { return }
            if name.hasSuffix("/") {
                do throws(StoreError) {
                    let inner = try openIfThere(directory, String(name.dropLast()))
                    if let inner { try visit(inner.raw, path + name, &walk) }
                } catch {
                    guard error.isOfOneName, passesOver(path + name, error) else { throw error }
                }
            } else if let status = try fileSystem.status(directory, name), status.kind == .regular {
                // A file that is renamed or deleted meanwhile is listed elsewhere, or not at all.
                walk.files.append(
                    ListedFile(
                        key: path + name, byteCount: status.byteCount, tag: EntityTag(status),
                        modifiedAt: status.modifiedAt / 1_000_000_000))
            }
        }
    }

    /// Whether a listing leaves out an unreadable directory, decided once for each.
    private func passesOver(_ path: String, _ error: StoreError) -> Bool {
        passedOver.withLock { paths in
            guard !paths.contains(path) else { return true }
            guard rescue.passesOver(path, error) else { return false }
            paths.insert(path)
            return true
        }
    }

    /// Whether a key can lead through a directory; deeper ones are a stranger's.
    private static func mayHaveKeys(_ path: String, _ name: String) -> Bool {
        path.utf8.count + name.utf8.count + 2 <= keyByteCountMax
    }

    private func openIfThere(
        _ directory: Int32, _ name: String
    ) throws(StoreError) -> Descriptor? {
        do throws(StoreError) {
            return try fileSystem.openIfPresent(directory, name, .directory)
        } catch {
            guard error.isNotDirectory else { throw error }
            return nil
        }
    }
}

extension String.UTF8View {
    fileprivate static func >= (left: String.UTF8View, right: String.UTF8View) -> Bool {
        !left.lexicographicallyPrecedes(right)
    }
}
