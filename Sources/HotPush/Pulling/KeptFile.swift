import CASStore
import VersionTree

/// A small file of a store that says what an origin has answered, for the next time: `pointers/<64 digits>`, by the
/// SHA-256 of a key.
///
/// Derived, and not synced: whatever is wrong with one, the origin is asked again.
struct KeptFile {
    /// The most files: one more, and all are forgotten.
    static let countMax = 64

    private let versions: VersionStore
    private let name: String

    init(_ versions: VersionStore, _ key: String) throws(StoreError) {
        self.versions = versions
        name = try ObjectID(of: Array(key.utf8)).description
    }

    private var path: String { "\(StoreLayout.pointers)/\(name)" }
    private var root: Int32 { versions.directories.root.raw }

    /// Its bytes; nil if there is none, or it cannot be read.
    /// - Throws: `.interrupted`.
    func read(limit: Int) throws(StoreError) -> [UInt8]? {
        do throws(StoreError) {
            return try versions.fileSystem.ifPresent { () throws(StoreError) in
                try versions.fileSystem.contents(root, path, limit: limit)
            }
        } catch {
            guard error.code != .interrupted else { throw error }
            return nil
        }
    }

    /// Keeps bytes.
    func write(_ bytes: [UInt8]) {
        // Without them the next answer costs more: neither a full disk nor a read-only one may stop a pull.
        try? replace(with: bytes)
    }

    /// Forgets what was kept.
    func remove() {
        // As above: what stays is tried, found wrong and forgotten the next time.
        try? versions.fileSystem.removeIfPresent(root, path)
    }

    private func replace(with bytes: [UInt8]) throws(StoreError) {
        let fileSystem = versions.fileSystem
        try fileSystem.makeDirectoryIfAbsent(root, StoreLayout.pointers)
        let directory = try fileSystem.open(root, StoreLayout.pointers, .directory, mode: 0)
        let names = try fileSystem.names(in: directory.raw)
        if names.count >= Self.countMax, !names.contains(name) {
            for old in names { try fileSystem.removeIfPresent(directory.raw, old) }
        }
        try fileSystem.replaceFile(
            directory.raw, name, with: bytes, mode: 0o600, token: try randomToken(),
            durably: false)
    }
}
