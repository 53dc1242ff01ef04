import StorageTestSupport

extension FaultyFileSystem.Operation {
    /// The errors that the manual pages allow for this call, and that a disk, a quota, a limit or a
    /// stranger's hand may cause.
    ///
    /// EINTR is not among them: what makes the calls tries again, see InterruptedCallTests.
    var fittingErrors: [Int32] {
        let full = [ENOSPC, EDQUOT]
        switch verb {
        case .open:
            return changesDisk
                ? [EIO, EMFILE, EACCES, EROFS] + full : [EIO, EMFILE, EACCES]
        case .read: return [EIO]
        case .write: return [EIO] + full
        case .truncate: return [EIO]
        case .reserve: return [EIO] + full
        case .setMode: return [EIO, EROFS, EPERM]
        case .sync, .syncAll: return [EIO] + full
        case .status: return [EIO, EACCES]
        case .link: return [EIO, EMLINK, EXDEV, EPERM, EROFS, EACCES] + full
        case .rename, .renameNew: return [EIO, EXDEV, EROFS, EACCES] + full
        case .remove: return [EIO, EROFS, EACCES]
        case .makeDirectory: return [EIO, EMLINK, EROFS, EACCES] + full
        case .makeSymbolicLink: return [EIO, EROFS, EACCES] + full
        case .symbolicLink: return [EIO, EACCES]
        case .list: return [EIO, EACCES]
        case .clone: return [EIO] + full
        case .lock: return [ENOLCK]
        case .freeSpace: return [EIO]
        }
    }

    /// What call it is, as seen from a directory and whatever the names of this run: hexadecimal digits and process ids
    /// left out.
    func place(in root: String) -> String {
        let below = path.hasPrefix(root) ? path.dropFirst(root.utf8.count) : path[...]
        var result = ""
        for component in below.split(separator: "/") {
            let isName =
                component.utf8.count >= 20
                || component.utf8.allSatisfy { $0 >= 48 && $0 <= 57 } || component.contains("-")
            let isShard = component.utf8.count == 2
            let suffix = component.hasSuffix(".x") ? ".x" : ""
            result += "/" + (isName || isShard ? "*" + suffix : String(component))
        }
        return "\(verb) \(access.map { "\($0)" } ?? "") \(result)"
    }
}
