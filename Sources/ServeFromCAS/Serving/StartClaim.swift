import CASStore
import VersionTree

/// The right to start versions and to watch them start: one server of a store has it at a time.
///
/// It is the file `leases/.start`, locked by the process (flock(2)), so it ends with the process,
/// however that ends. In the file stands the token of the start that is watched: whoever has the claim
/// next can tell a start whose server has died from one that is none of a server's.
final class StartClaim: Sendable {
    private static let fileName = ".start"
    private static let tokenLimit = 256

    private let versions: VersionStore
    private let file: Descriptor

    private init(_ versions: VersionStore, _ file: consuming Descriptor) {
        self.versions = versions
        self.file = file
    }

    /// Takes the claim; `nil` while another server has it.
    /// - Throws: `.readOnly`, `.permission`, `.outOfSpace` where nothing can be started either.
    static func take(_ versions: VersionStore) throws(StoreError) -> StartClaim? {
        let file = try versions.store.openLock(fileName)
        guard try versions.fileSystem.lock(file.raw, exclusive: true, waiting: false) else {
            return nil
        }
        return StartClaim(versions, file)
    }

    /// The token of the start that was watched last and is not settled; empty if there is none.
    func token() throws(StoreError) -> String {
        let bytes = try versions.fileSystem.read(file.raw, at: 0, count: Self.tokenLimit)
        return String(decoding: bytes, as: UTF8.self)
    }

    /// Notes which start is watched from now on.
    func note(_ token: String) throws(StoreError) {
        try versions.fileSystem.truncate(file.raw, to: 0)
        let end = try versions.fileSystem.open(
            versions.directories.leases.raw, Self.fileName, .appending, mode: 0)
        try versions.fileSystem.write(end.raw, Array(token.utf8))
    }

    /// Notes that the start is settled.
    func settle() {
        // A token that stays is one of a start that no longer runs, and is not found again.
        try? versions.fileSystem.truncate(file.raw, to: 0)
    }
}
