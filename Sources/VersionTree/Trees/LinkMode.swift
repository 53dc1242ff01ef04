/// How the files of a tree are made.
public enum LinkMode: String, Sendable, CaseIterable {
    /// Hard links to the objects: no bytes, read-only. If a link is impossible, a reflink or copy.
    case link
    /// Copy-on-write clones if the file system has them, otherwise copies. Writable.
    case reflink
    /// Copies. Writable.
    case copy
}

/// What a materialization did, file by file.
public struct TreeReport: Sendable, Hashable {
    /// Files in the tree.
    package var files = 0
    /// Hard links.
    package var linked = 0
    /// Copies, and empty files, which are made and not linked.
    package var copied = 0
    /// Copy-on-write clones.
    package var reflinked = 0

    mutating func add(_ other: TreeReport) {
        files += other.files
        linked += other.linked
        copied += other.copied
        reflinked += other.reflinked
    }
}
