// A whole program: castree under another client's storage layer. The client stays as it is; two of its calls lead here.
import CASStore
import Foundation
import VersionTree

/// What a client calls to keep and remove bundles; hot-updater's is named `FileSystemService`.
protocol BundleStorage {
    /// A bundle is complete at `staged`: from now on it stands at `bundle`.
    func moveItem(at staged: URL, to bundle: URL) throws
    /// Nobody needs the bundle any more.
    func removeItem(at bundle: URL) throws
}

/// Bundles as versions of a store: equal files once on the disk, and each bundle whole or not there, whatever happens.
struct VersionedStorage: BundleStorage {
    let directory: URL
    let versions: VersionStore

    init(_ directory: URL) throws {
        self.directory = directory
        versions = try VersionStore.create(at: directory.path).versions
    }

    func moveItem(at staged: URL, to bundle: URL) throws {
        let version = bundle.lastPathComponent
        try versions.add(directory: staged.path, version: version)
        // As the client's own move: what an earlier try has left there goes.
        try removeLink(bundle)
        try FileManager.default.createSymbolicLink(
            at: bundle, withDestinationURL: directory.appending(path: "versions/\(version)"))
        try FileManager.default.removeItem(at: staged)
    }

    func removeItem(at bundle: URL) throws {
        // The version first: after a kill in between, the client still sees the bundle and removes it again.
        do {
            try versions.retire(bundle.lastPathComponent)
        } catch {
            guard error.code == .noVersion else { throw error }
        }
        try removeLink(bundle)
        try versions.store.collect()
    }

    private func removeLink(_ bundle: URL) throws {
        do { try FileManager.default.removeItem(at: bundle) } catch CocoaError.fileNoSuchFile {}
    }
}

// The client's own directory, where it looks for bundles; what it has downloaded and unpacked is the argument.
guard CommandLine.arguments.count == 2 else { fatalError("usage: StorageLayer DIRECTORY") }
let staged = URL(filePath: CommandLine.arguments[1])
let bundles = URL(filePath: "bundle-store")
try FileManager.default.createDirectory(at: bundles, withIntermediateDirectories: true)
let storage = try VersionedStorage(URL(filePath: "store"))
let bundle = bundles.appending(path: staged.lastPathComponent)
try storage.moveItem(at: staged, to: bundle)
print(try FileManager.default.contentsOfDirectory(atPath: bundle.path + "/").sorted())
try storage.removeItem(at: bundle)
