package import Platform

/// Replaces a file in one step: until then the old one stays.
///
/// Follows symbolic links to the file, but not a stranger's in a directory where everyone may write. Writes directly
/// into anything but a regular file, such as a pipe, a device or an open file (`/dev/stdout`), and into a file that
/// cannot be replaced because its directory is not writable or it is a mount point.
/// - Parameter owners: the file system through which root writes in an open directory, so that swapping its path
///   meanwhile has no effect.
/// - Returns: whether it is a file of its own; otherwise this program may print to the same place.
/// - Throws: what the file system says; a file that can be replaced is unchanged then.
package func replaceFile(
    _ path: String, with bytes: [UInt8], on system: any FileSystem = POSIXFileSystem(),
    asking owners: OwnersAsking? = nil
) throws(StoreError) -> Bool {
    try replaceFile(path, on: system, asking: owners) { (file) throws(StoreError) in
        try system.write(file, bytes)
        return Int64(bytes.count)
    }
}

/// The same with bytes that `writeBytes`, called once or more, writes into an open file, returning their number.
package func replaceFile(
    _ path: String, on system: any FileSystem = POSIXFileSystem(),
    asking owners: OwnersAsking? = nil,
    _ writeBytes: (Int32) throws(StoreError) -> Int64
) throws(StoreError) -> Bool {
    do throws(StoreError) {
        return try replace(OutputName(path, system, owners), writeBytes)
    } catch {
        // The full disk need not be the store's.
        guard error.isDiskFull else { throw error }
        throw error.advising("free space there, or name another place, and repeat the command")
    }
}

/// Opens a file to append to, creating it if it is absent: in another user's directory, as that user.
///
/// Follows symbolic links as above, also to nothing, or to an open file (`/dev/stdout`). A file that root created there before stays root's.
package func openToAppend(
    _ path: String, asking owners: @escaping OwnersAsking
) throws(StoreError) -> Descriptor {
    let system = POSIXFileSystem()
    let typed = try OutputName(path, system, owners)
    guard let place = try resolved(typed) else {
        return try typed.system.open(
            typed.directory, typed.name, .appendingFollowingLinks, mode: 0)
    }
    do throws(StoreError) {
        if let old = try place.status() { try place.refuseStrangers(old) }
        let there = place === typed ? system : place.system
        if let file = try there.openIfPresent(place.directory, place.name, .appending) {
            return file
        }
        // Opening for appending does not create the file.
        _ = try place.system.open(place.directory, place.name, .updating, mode: 0o644)
        return try place.system.open(place.directory, place.name, .appending, mode: 0)
    } catch {
        throw system.naming(directoryMissingAbove: path, error)
    }
}

private func replace(
    _ typed: OutputName, _ writeBytes: (Int32) throws(StoreError) -> Int64
) throws(StoreError) -> Bool {
    guard let place = try resolved(typed), try place === typed ? true : place.status() != nil else {
        try write(into: typed, writeBytes)
        return false
    }
    let system = place.system
    let old = try system.status(place.directory, place.name)
    if let old { try place.refuseStrangers(old) }
    if let old, old.kind != .regular {
        try write(into: place, writeBytes)
        return false
    }
    let aside = directory(of: place.name) + ".castree-\(try randomToken())"
    var hasFailed = false
    do throws(StoreError) {
        try write(aside: aside, of: place, for: old, writeBytes) { hasFailed = true }
        try system.rename(place.directory, aside, to: place.directory, place.name)
    } catch {
        // Report the first error.
        try? system.removeIfPresent(place.directory, aside)
        // A disk that did not take the bytes will not take them elsewhere.
        guard !hasFailed, error.forbidsReplacing else { throw error }
        try write(into: place, writeBytes)
    }
    return true
}

/// Writes a file to replace `old`, durably, with its mode.
private func write(
    aside: String, of place: OutputName, for old: FileStatus?,
    _ writeBytes: (Int32) throws(StoreError) -> Int64, whenRefused: () -> Void
) throws(StoreError) {
    // Until it has the mode of the old file, no one else may read it.
    let system = place.system
    let file = try system.open(
        place.directory, aside, .creating, mode: old == nil ? 0o666 : 0o600)
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
    /// Whether only writing into the file can help, or gives a better error.
    fileprivate var forbidsReplacing: Bool {
        [.permission, .readOnly, .tooLarge, .notFound].contains(code) || isMountPoint
    }
}

/// Writes into the existing file, or into a new one.
private func write(
    into place: OutputName, _ writeBytes: (Int32) throws(StoreError) -> Int64
) throws(StoreError) {
    let system = place.system
    let isThere = try system.status(place.directory, place.name) != nil
    let hold = try holdIfFifo(place.path)
    defer { withExtendedLifetime(hold) {} }
    let target: Descriptor
    do throws(StoreError) {
        target = try system.open(
            place.directory, place.name, isThere ? .writingFollowingLinks : .creating, mode: 0o666)
    } catch {
        throw system.naming(directoryMissingAbove: place.path, error)
    }
    let byteCount: Int64
    do throws(StoreError) {
        byteCount = try writeBytes(target.raw)
    } catch {
        // Dropped silently, like what is written to standard output.
        guard error.isReaderGone else { throw error }
        return
    }
    // The file may have been longer.
    if try system.status(target.raw).kind == .regular {
        try system.truncate(target.raw, to: byteCount)
    }
}

/// Holds a fifo that is being read; `nil` for anything else.
private func holdIfFifo(_ path: String) throws(StoreError) -> System.FifoHold? {
    guard System.isFifo(path) else { return nil }
    // A reader may be just about to open it: wait for a second.
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

/// The place behind symbolic links, which may be empty; `nil` if a link leads to an open file, or in a circle.
private func resolved(_ typed: OutputName) throws(StoreError) -> OutputName? {
    guard var target = try typed.link() else { return typed }
    var place = typed
    // As many as Linux follows (path_resolution(7)).
    for _ in 0..<40 {
        // Checked after it was read: its maker cannot have replaced it by another user's since.
        if let link = try place.status() { try place.refuseStrangers(link) }
        // Links of the system lead to open files, whatever they say (proc(5)).
        for system in ["/proc/", "/dev/"] where place.path.hasPrefix(system) { return nil }
        place = try place.following(target)
        guard let next = try place.link() else { return place }
        target = next
    }
    return nil
}
