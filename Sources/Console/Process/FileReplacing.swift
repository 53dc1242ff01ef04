package import Platform

/// Replaces a file with one of these bytes, in one step: until then the old one stays.
///
/// Follows symbolic links to the file, but takes nothing that a stranger has put where everybody may write. Writes into
/// what is no regular file, such as a pipe, a device or a file that is open already (`/dev/stdout`), and into a file
/// that cannot be replaced: its directory takes no other one, or it is a mount point.
/// - Returns: whether it is a file of its own; otherwise this program may print to the same place.
/// - Throws: what the file system says; a file that can be replaced is unchanged then.
package func replaceFile(
    _ path: String, with bytes: [UInt8], on system: any FileSystem = POSIXFileSystem()
) throws(StoreError) -> Bool {
    try replaceFile(path, on: system) { (file) throws(StoreError) in
        try system.write(file, bytes)
        return Int64(bytes.count)
    }
}

/// The same with bytes that `writeBytes` writes into an open file, perhaps more than once, saying how many there are.
package func replaceFile(
    _ path: String, on system: any FileSystem = POSIXFileSystem(),
    _ writeBytes: (Int32) throws(StoreError) -> Int64
) throws(StoreError) -> Bool {
    let here = POSIXFileSystem.workingDirectory
    do throws(StoreError) {
        return try replace(path, here, system, writeBytes)
    } catch {
        // The disk that is full need not be the store's.
        guard error.code == .outOfSpace else { throw error }
        throw error.advising("make room there, or name another place, and repeat the command")
    }
}

private func replace(
    _ path: String, _ here: Int32, _ system: any FileSystem,
    _ writeBytes: (Int32) throws(StoreError) -> Int64
) throws(StoreError) -> Bool {
    guard let place = try resolved(path, system) else {
        try write(into: path, system, writeBytes)
        return false
    }
    let old = try system.status(here, place)
    if let old { try system.refuseStrangers(old, at: place) }
    if let old, old.kind != .regular {
        try write(into: place, system, writeBytes)
        return false
    }
    let aside = directory(of: place) + ".castree-\(try randomToken())"
    var hasFailed = false
    do throws(StoreError) {
        try write(aside: aside, for: old, system, writeBytes) { hasFailed = true }
        try system.rename(here, aside, to: here, place)
    } catch {
        // The first error is the one to report.
        try? system.removeIfPresent(here, aside)
        // A disk that did not take the bytes will not take them elsewhere.
        guard !hasFailed, error.forbidsReplacing else { throw error }
        try write(into: place, system, writeBytes)
    }
    return true
}

/// Writes a file to take the place of `old`, durably, with its mode.
private func write(
    aside: String, for old: FileStatus?, _ system: any FileSystem,
    _ writeBytes: (Int32) throws(StoreError) -> Int64, whenRefused: () -> Void
) throws(StoreError) {
    // Until it has the mode of the old file, nobody else may read it.
    let file = try system.open(
        POSIXFileSystem.workingDirectory, aside, .creating, mode: old == nil ? 0o666 : 0o600)
    do throws(StoreError) {
        _ = try writeBytes(file.raw)
        // Otherwise a power cut could leave the new name with no bytes.
        try system.sync(file.raw)
    } catch {
        whenRefused()
        throw error
    }
    if let old { try system.setMode(file.raw, old.mode & 0o777) }
}

extension StoreError {
    /// Whether only writing into the file can help, or can say better what is wrong.
    fileprivate var forbidsReplacing: Bool {
        [.permission, .readOnly, .tooLarge, .notFound].contains(code) || isMountPoint
    }
}

/// Writes into the file that is there, or into a new one.
private func write(
    into path: String, _ system: any FileSystem,
    _ writeBytes: (Int32) throws(StoreError) -> Int64
) throws(StoreError) {
    let here = POSIXFileSystem.workingDirectory
    let isThere = try system.status(here, path) != nil
    let hold = try holdIfFifo(path)
    defer { withExtendedLifetime(hold) {} }
    let target: Descriptor
    do throws(StoreError) {
        target = try system.open(
            here, path, isThere ? .writingFollowingLinks : .creating, mode: 0o666)
    } catch {
        throw system.naming(directoryMissingAbove: path, error)
    }
    let byteCount: Int64
    do throws(StoreError) {
        byteCount = try writeBytes(target.raw)
    } catch {
        // Dropped without complaint, as what is written to standard output.
        guard error.isReaderGone else { throw error }
        return
    }
    // The file may have been longer.
    if try system.status(target.raw).kind == .regular {
        try system.truncate(target.raw, to: byteCount)
    }
}

/// Holds a fifo that somebody reads; `nil` for what is none.
private func holdIfFifo(_ path: String) throws(StoreError) -> System.FifoHold? {
    guard System.isFifo(path) else { return nil }
    // A reader may be just about to open it: a second.
    for _ in 0..<50 {
        let hold = System.FifoHold(path)
        if !hold.isUnread { return hold }
        pause(milliseconds: 20)
    }
    throw StoreError(
        .io,
        "unable to write \(printable(path)): it is a fifo that nobody reads; start its reader first"
    )
}

/// The path behind symbolic links; `nil` if a link leads to nothing, or to an open file.
private func resolved(
    _ path: String, _ system: any FileSystem
) throws(StoreError) -> String? {
    let here = POSIXFileSystem.workingDirectory
    guard var target = try system.symbolicLink(here, path) else { return path }
    var path = path
    // As many as Linux follows (path_resolution(7)).
    for _ in 0..<40 {
        // Looked at after it was read: whoever made it cannot have made one of somebody else's since.
        if let link = try system.status(here, path) {
            try system.refuseStrangers(link, at: path)
        }
        // Links of the system lead to open files, whatever they say (proc(5)).
        for place in ["/proc/", "/dev/"] where path.hasPrefix(place) { return nil }
        path = target.hasPrefix("/") ? target : directory(of: path) + target
        guard let next = try system.symbolicLink(here, path) else {
            return try system.status(here, path) == nil ? nil : path
        }
        target = next
    }
    return nil
}

extension FileSystem {
    /// Refuses what belongs to somebody else, in a directory where everybody makes names and nobody takes another's.
    ///
    /// As Linux refuses it to whoever opens such a link, or makes such a file (proc_sys_fs(5), protected_symlinks,
    /// protected_regular, protected_fifos): links are followed by name here, so no system call would meet one.
    fileprivate func refuseStrangers(_ status: FileStatus, at path: String) throws(StoreError) {
        guard status.owner != effectiveUser() else { return }
        let above = directory(of: path)
        let place = try self.status(
            POSIXFileSystem.workingDirectory, above.isEmpty ? "." : above + ".")
        guard let place, place.mode & 0o1002 == 0o1002, status.owner != place.owner else { return }
        throw StoreError(
            .permission,
            "unable to write \(printable(path)): \(status.kind.noun) of another user stands there, in a directory where "
                + "everybody may write; remove it, or name another place")
    }
}

/// The directory of a path, with the slash; nothing for the working directory.
private func directory(of path: String) -> String {
    guard let slash = path.utf8.lastIndex(of: 47) else { return "" }
    return String(path[...slash])
}
