extension FaultyFileSystem {
    /// What was asked of the disk: one case for each verb of ``FileSystem``.
    package enum Verb: String, Sendable, Hashable, CaseIterable {
        case open, read, write, truncate, reserve, setMode, sync, syncAll, status, link, rename
        case renameNew, remove, makeDirectory, makeSymbolicLink, symbolicLink, list, clone, lock
        case freeSpace

        /// The system call that ``POSIXFileSystem`` names when the verb fails.
        var call: String {
            switch self {
            case .open: "openat"
            case .read, .write, .clone: rawValue
            case .truncate: "ftruncate"
            case .reserve: "posix_fallocate"
            case .setMode: "fchmod"
            case .sync: "fsync"
            case .syncAll: "syncfs"
            case .status: "fstatat"
            case .link: "linkat"
            case .rename, .renameNew: "renameat"
            case .remove: "unlinkat"
            case .makeDirectory: "mkdirat"
            case .makeSymbolicLink: "symlinkat"
            case .symbolicLink: "readlinkat"
            case .list: "readdir"
            case .lock: "flock"
            case .freeSpace: "statvfs"
            }
        }

        /// The verbs that meet a full disk (ENOSPC in their manual pages).
        package static let allocating: Set<Verb> = [
            .open, .write, .reserve, .link, .rename, .renameNew, .makeDirectory,
            .makeSymbolicLink, .sync, .syncAll,
        ]
    }

    /// One thing that was asked of the disk.
    package struct Operation: Sendable, Hashable, CustomStringConvertible {
        package var verb: Verb
        /// The whole path as the kernel knew it; of two, the target.
        package var path: String
        /// The path as it was asked for; empty where an open file was meant.
        package var name: String
        /// The whole path of what is linked or renamed.
        package var source: String?
        /// How a file was to be opened.
        package var access: Access?

        package var changesDisk: Bool {
            switch verb {
            case .open: access == .creating || access == .updating || access == .appending
            case .write, .truncate, .reserve, .setMode, .link, .rename, .renameNew, .remove,
                .makeDirectory, .makeSymbolicLink, .clone:
                true
            default: false
            }
        }

        /// Whether it takes a block of the disk: what is there needs none, EEXIST comes first.
        package var allocates: Bool {
            switch verb {
            case .write: true
            case .open: access == .creating
            case .makeDirectory: Foundation.access(path, F_OK) != 0
            default: false
            }
        }

        /// The error of its system call.
        package func error(_ errno: Int32) -> StoreError {
            StoreError(systemCall: verb.call, errno: errno, path: path)
        }

        package var description: String {
            "\(verb.rawValue)\(access.map { " (\($0))" } ?? "") \(path)"
        }
    }
}
