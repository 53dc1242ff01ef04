package import Platform

/// Returns the file system through which root writes in an open directory, given with its path.
package typealias OwnersAsking = (Int32, String) throws(StoreError) -> any FileSystem

/// A name to write at: for root in its open directory, for others the path, since they may be unable to read that.
final class OutputName {
    /// In full, for messages.
    let path: String
    /// Relative to ``directory``.
    let name: String
    let directory: Int32
    let system: any FileSystem
    private let owners: OwnersAsking?
    private let held: Descriptor?

    convenience init(
        _ path: String, _ system: any FileSystem, _ owners: OwnersAsking?
    ) throws(StoreError) {
        try self.init(
            path, system, effectiveUser() == 0 ? owners : nil, path,
            from: POSIXFileSystem.workingDirectory)
    }

    private init(
        _ path: String, _ system: any FileSystem, _ owners: OwnersAsking?, _ typed: String,
        from start: Int32
    ) throws(StoreError) {
        self.path = path
        self.owners = owners
        guard let owners else {
            (name, directory, self.system) = (path, start, system)
            held = nil
            return
        }
        let (name, above) = (system.fileName(in: typed), Console.directory(of: typed))
        let opened: Descriptor
        do throws(StoreError) {
            opened = try system.open(start, above.isEmpty ? "." : above, .typedDirectory, mode: 0)
        } catch {
            throw system.naming(directoryMissingAbove: path, error)
        }
        self.name = name.isEmpty ? "." : name
        directory = opened.raw
        // Root follows a link as its maker.
        let isTyped = start == POSIXFileSystem.workingDirectory
        if try isTyped ? true : system.status(start).owner == 0 {
            self.system = try owners(opened.raw, path)
        } else {
            self.system = system
        }
        held = consume opened
    }

    func following(_ target: String) throws(StoreError) -> OutputName {
        let path = target.hasPrefix("/") ? target : Console.directory(of: path) + target
        return try OutputName(path, system, owners, target, from: directory)
    }

    func status() throws(StoreError) -> FileStatus? { try system.status(directory, name) }

    func link() throws(StoreError) -> String? { try system.symbolicLink(directory, name) }

    /// Refuses another user's file in a directory where all may create names and only owners remove them.
    ///
    /// Linux does (proc_sys_fs(5), protected_symlinks, protected_regular, protected_fifos), but not for links
    /// followed by name.
    func refuseStrangers(_ status: FileStatus) throws(StoreError) {
        guard status.owner != effectiveUser() else { return }
        let above = Console.directory(of: name)
        let place = try system.status(directory, above.isEmpty ? "." : above + ".")
        guard let place, place.mode & 0o1002 == 0o1002, status.owner != place.owner else { return }
        throw StoreError(
            .permission,
            "unable to write \(printable(path)): \(status.kind.noun) of another user stands there, in a directory where "
                + "everybody may write; remove it, or name another place")
    }
}

/// The directory of a path, with the slash; nothing for the working directory.
func directory(of path: String) -> String {
    guard let slash = path.utf8.lastIndex(of: 47) else { return "" }
    return String(path[...slash])
}
