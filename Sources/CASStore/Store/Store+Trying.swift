// What the file system of a store can do, tried on a file of its own.

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
        try trying { (file, _, _) throws(StoreError) in
            // No file has it, and it is open to its owner, so what is left of this is nothing wrong.
            try fileSystem.setMode(file, 0o601)
            return try fileSystem.status(file).mode == 0o601
        }
    }

    /// - Throws: `.unsupported` where there are no hard links.
    func tryLinks() throws(StoreError) {
        try trying { (file, leases, name) throws(StoreError) in
            do throws(StoreError) {
                guard try fileSystem.lock(file, exclusive: true) else { return }
                try fileSystem.link(leases, name, to: leases, name + "2")
            } catch {
                // A writer that is here already, and has tried it, was faster than the lock.
                if error.code == .notFound { return }
                guard error.isLinkRefused else { throw error }
                let told = error.advising(
                    "the file system of \(printable(path)) has no hard links, which the versions of a store consist "
                        + "of; choose a place on another one (df -T lists them)")
                throw StoreError(.unsupported, told.message, cause: error.cause)
            }
        }
    }

    /// A file as of a lease that is being made: the next writer removes what is left of it.
    private func trying<Answer>(
        _ attempt: (_ file: Int32, _ leases: Int32, _ name: String) throws(StoreError) -> Answer
    ) throws(StoreError) -> Answer {
        let (leases, name) = (directories.leases.raw, ".new-\(try randomToken())")
        let file = try fileSystem.open(leases, name, .updating, mode: 0o600)
        // As above.
        defer { for name in [name, name + "2"] { try? fileSystem.removeIfPresent(leases, name) } }
        return try attempt(file.raw, leases, name)
    }
}
