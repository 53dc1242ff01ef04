/// Where tests write the directories that they add.
package enum SourcePlace {
    /// Whether the stat cache counts there: not in memory, nor in the layers of a container.
    package static let isCached: Bool = {
        let temporary = TemporaryDirectory()
        let fileSystem = POSIXFileSystem()
        guard
            // A place that cannot be opened has no cache; the test itself will say what is wrong.
            let directory = try? fileSystem.open(
                POSIXFileSystem.workingDirectory, temporary.path, .directory, mode: 0)
        else { return false }
        return fileSystem.mount(of: directory.raw)?.provesChanges ?? false
    }()

    package static let why: String =
        "the temporary directory is on a file system that proves no change; set CASTREE_TEST_TMP"
}
