import CASStore
import Console
import VersionTree

/// Examines what `add` imports before a store is created: a mistyped name, or a store that would lie inside, must not
/// leave an empty store behind.
enum ImportSource {
    private static let system = POSIXFileSystem()
    private static let here = POSIXFileSystem.workingDirectory

    static func require(_ path: String) throws(StoreError) {
        guard try system.status(here, path) == nil else { return }
        throw StoreError(.notFound, "there is no directory or archive \(printable(path))")
    }

    /// Whether a path leads to something other than a directory: a file, or a named pipe.
    static func isFile(_ path: String) throws(StoreError) -> Bool {
        guard let status = try system.status(here, path) else { return false }
        // Opened only if it must be, because the writer of a pipe notices.
        guard status.kind == .symbolicLink else { return status.kind != .directory }
        let opened = try system.open(here, path, .readingFollowingLinks, mode: 0)
        return try system.status(opened.raw).kind != .directory
    }

    static func refuse(_ store: String, in path: String) throws(StoreError) {
        // The listing reports a directory that is not there, the import one that this user may not see.
        let source = try allowing(
            { $0.code == .notFound },
            try system.open(here, path, .directoryFollowingLinks, mode: 0))
        guard let source, let place = nearestDirectory(above: store) else { return }
        let own = try system.status(source.raw)
        let isInside = try system.anyAncestor(of: place.raw) { (_, here) throws(StoreError) in
            here.isSameFile(as: own)
        }
        guard isInside else { return }
        throw StoreError(
            .unsupportedFile,
            "the store \(store) would be created inside \(path), the directory to import; "
                + "choose another place with --store DIR")
    }

    private static func nearestDirectory(above path: String) -> Descriptor? {
        var components = path.split(separator: "/")
        while components.popLast() != nil {
            let start = path.hasPrefix("/") ? "/" : "./"
            let ancestor = start + components.joined(separator: "/")
            // Else one level higher.
            if let found = try? system.open(here, ancestor, .directoryFollowingLinks, mode: 0) {
                return found
            }
        }
        return nil
    }
}

extension Invocation {
    /// The patterns of `--exclude`.
    /// - Throws: `usage` for one that can match nothing.
    func excluded() throws(CommandError) -> [String] {
        let patterns = values("exclude")
        do throws(StoreError) {
            _ = try SourceRules(excluding: patterns)
        } catch {
            throw .usage("--exclude: \(error.message)")
        }
        return patterns
    }

    /// Reports which files were left out by default, and which were included but look as if they were not for users.
    func note(leftOut: [String], unwanted: [String]) {
        let own = leftOut.filter(UnwantedName.isVersionControl)
        if !own.isEmpty {
            note(
                "\(list(own)) left out as version control; --exclude '!NAME' includes it"
            )
        }
        if !unwanted.isEmpty {
            note(
                "\(list(unwanted)) in the version, and probably not for users; leave such files out with --exclude PATTERN, a .castreeignore or --skip-junk, or confirm them with --exclude '!PATTERN'"
            )
        }
    }

    private func list(_ paths: [String]) -> String {
        let shownCount = 4
        var parts = paths.prefix(shownCount).map { printable($0) }
        if paths.count > shownCount { parts.append("\(paths.count - shownCount) more") }
        let isOne = parts.count == 1
        return parts.joined(separator: ", ") + (isOne ? " is" : " are")
    }
}
