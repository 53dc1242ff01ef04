// Whether the modes of files mean anything where a store is.

import Synchronization

extension Store {
    /// Whether files here keep the modes that they are given; tried once, and told where they do not.
    ///
    /// Where all files have one mode (ntfs-3g, SMB, WSL's drives), chmod(2) says that it succeeded, and changes nothing.
    package var keepsModes: Bool {
        triedModes.withLock { tried in
            if let tried { return tried }
            // Where nothing can be written, modes are judged as they are.
            let isKept = (try? tryModes()) ?? true
            if !isKept {
                options.notice(
                    "all files have one mode on the file system of \(path), so castree cannot protect its files "
                        + "from writing; what is in them is verified all the same")
            }
            tried = isKept
            return isKept
        }
    }

    private func tryModes() throws(StoreError) -> Bool {
        // As a lease that is being made: the next writer removes what is left of it.
        let (leases, name) = (directories.leases.raw, ".new-\(try randomToken())")
        let file = try fileSystem.open(leases, name, .updating, mode: 0o600)
        // As above.
        defer { try? fileSystem.removeIfPresent(leases, name) }
        // No file has it, and it is open to its owner, so what is left of this is nothing wrong.
        try fileSystem.setMode(file.raw, 0o601)
        return try fileSystem.status(file.raw).mode == 0o601
    }
}
