internal import CASStore

/// Puts a file of these bytes in place of what is there, in one step: until then the old one stays.
///
/// What is no regular file, such as a pipe, a device or a symbolic link to one, is written into.
/// - Returns: whether it is a file that was replaced; otherwise it may be where this program prints, too.
/// - Throws: what the file system says; the old file is as it was then.
func replaceFile(_ path: String, with bytes: [UInt8]) throws(StoreError) -> Bool {
    let system = POSIXFileSystem()
    let here = POSIXFileSystem.workingDirectory
    let old = try system.status(here, path)
    if let old, old.kind != .regular {
        let target = try system.open(here, path, .writingFollowingLinks, mode: 0)
        try system.write(target.raw, bytes)
        // A link may lead to a longer file.
        if try system.status(target.raw).kind == .regular {
            try system.truncate(target.raw, to: Int64(bytes.count))
        }
        return false
    }
    let aside = "\(path).\(try randomToken())"
    do throws(StoreError) {
        let file = try system.open(here, aside, .creating, mode: 0o644)
        try system.write(file.raw, bytes)
        if let old { try system.setMode(file.raw, old.mode & 0o777) }
        // Else a power cut could leave the new name with no bytes.
        try system.sync(file.raw)
        try system.rename(here, aside, to: here, path)
        return true
    } catch {
        // The error to report is the first.
        try? system.removeIfPresent(here, aside)
        throw error
    }
}
