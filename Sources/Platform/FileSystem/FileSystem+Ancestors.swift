extension FileSystem {
    /// Calls `body` with a directory and those above it, up to the root, until it returns `true`.
    /// - Returns: whether it did.
    package func anyAncestor(
        of directory: Int32, _ body: (Int32, FileStatus) throws(StoreError) -> Bool
    ) throws(StoreError) -> Bool {
        var current = try open(directory, ".", .directory, mode: 0)
        var here = try status(current.raw)
        // Deeper than any path that a system call takes.
        for _ in 0..<2048 {
            if try body(current.raw, here) { return true }
            let above: Descriptor
            do throws(StoreError) {
                above = try open(current.raw, "..", .directory, mode: 0)
            } catch {
                // A parent that may not be entered is not ours to examine.
                return false
            }
            let next = try status(above.raw)
            if next.isSameFile(as: here) { return false }
            current = above
            here = next
        }
        return false
    }
}
