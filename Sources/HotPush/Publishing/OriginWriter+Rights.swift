import CASStore
import Storage

// Who may read an origin: as its marker says, whatever the umask of who publishes. Files that a web server, or a server
// of another user, cannot read take every device offline.

extension OriginWriter {
    /// Those whom the marker lets read or write.
    static func rights(of marker: FileStatus?) -> UInt32 { (marker?.mode ?? 0) & fileMode }

    /// Gives a file that is to get its name the rights that the umask has taken.
    func share(_ directory: Int32, _ name: UnsafePointer<CChar>) throws(StoreError) {
        if mayLackRights { try fileSystem.share(directory, name, rights) }
    }

    /// Opens a directory of the origin; makes it if need be.
    func makeDirectory(
        _ name: String, in parent: Int32
    ) throws(StoreError) -> Descriptor {
        let directory = try Self.directory(name, in: parent, fileSystem)
        // Also one that was made under another umask: what is in it could not be reached.
        try share(parent, name)
        return directory
    }

    /// Replaces a file of the origin as a whole, as ``OriginPlace/replaceFile(_:_:_:)``.
    func replaceFile(
        _ directory: Int32, _ name: String, with bytes: [UInt8]
    ) throws(StoreError) {
        try originPlace.replaceFile(directory, name) { (file) throws(StoreError) in
            if mayLackRights { try fileSystem.share(file, rights) }
            try fileSystem.write(file, bytes)
        }
    }

    /// Gives everything that readers need the rights that the marker has; what belongs to another user stays, and is told.
    func mendRights() throws(StoreError) {
        var mendedCount = 0
        var left: StoreError?
        func mend(_ directory: Int32, _ name: String) throws(StoreError) {
            do throws(StoreError) {
                if try fileSystem.share(directory, name, rights) { mendedCount += 1 }
            } catch {
                guard [.permission, .notOwner].contains(error.code) else { throw error }
                left = left ?? error
            }
            guard try fileSystem.status(directory, name)?.kind == .directory else { return }
            let below = try fileSystem.open(directory, name, .directory, mode: 0)
            for name in try fileSystem.names(in: below.raw) { try mend(below.raw, name) }
        }
        for name in OriginLayout.readNames where try fileSystem.status(root.raw, name) != nil {
            try mend(root.raw, name)
        }
        if mendedCount > 0 {
            options.notice(
                "of the files and directories of \(printable(path)) \(mendedCount) had fewer rights than \(OriginLayout.marker), and have them now"
            )
        }
        if let left {
            options.notice(
                "not everything can be read by those who read \(OriginLayout.marker): \(left.message)"
            )
        }
    }
}
