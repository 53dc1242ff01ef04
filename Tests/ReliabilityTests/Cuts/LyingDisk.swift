import CASStore
import Foundation
import StorageTestSupport
import Synchronization

/// A disk that does not do all it is asked for: it makes of a sound engine one that is broken in one way.
struct LyingDisk: FileSystemWrapper {
    let base: any FileSystem
    /// The files and directories, by path, that are not synced.
    var ignoresSync: @Sendable (_ path: String, _ isDirectory: Bool) -> Bool = { _, _ in false }
    /// The calls of syncfs, from 1, that do nothing.
    var ignoresSyncAll: @Sendable (Int) -> Bool = { _ in false }
    /// What is done about a failed sync.
    var afterFailedSync = FailedSync.says
    /// Whether a rename over an existing name removes that first.
    var unlinksFirst = false
    /// Whether `lifecycle.json` is written over in place.
    var writesInPlace = false
    /// Whether only the half of each write is made.
    var writesHalves = false
    private let count = Counter()

    enum FailedSync: Sendable { case says, ignores, triesAgain }

    private final class Counter: Sendable {
        private let value = Atomic<Int>(0)
        func next() -> Int { value.add(1, ordering: .relaxed).newValue }
    }

    init(_ base: any FileSystem) { self.base = base }

    func sync(_ file: Int32) throws(StoreError) {
        let isDirectory = try base.status(file).kind == .directory
        if ignoresSync(POSIXFileSystem().path(of: file), isDirectory) { return }
        do throws(StoreError) { try base.sync(file) } catch {
            switch afterFailedSync {
            case .says: throw error
            case .ignores: return
            case .triesAgain: try base.sync(file)
            }
        }
    }

    func syncAll(_ file: Int32) throws(StoreError) -> Bool {
        if ignoresSyncAll(count.next()) { return true }
        do throws(StoreError) { return try base.syncAll(file) } catch {
            switch afterFailedSync {
            case .says: throw error
            case .ignores: return true
            case .triesAgain: return try base.syncAll(file)
            }
        }
    }

    func write(_ file: Int32, _ bytes: UnsafeRawBufferPointer) throws(StoreError) {
        let isStaged = POSIXFileSystem().path(of: file).contains("/staging/")
        guard writesHalves, isStaged else { return try base.write(file, bytes) }
        try base.write(file, UnsafeRawBufferPointer(rebasing: bytes[..<(bytes.count / 2)]))
    }

    func open(
        _ directory: Int32, _ path: UnsafePointer<CChar>, _ access: Access, mode: UInt32
    ) throws(StoreError) -> Descriptor {
        if writesInPlace, access == .creating, isAside(path) {
            let file = try base.open(directory, StoreLayout.lifecycle, .updating, mode: mode)
            try base.truncate(file.raw, to: 0)
            return file
        }
        return try base.open(directory, path, access, mode: mode)
    }

    private func isAside(_ path: UnsafePointer<CChar>) -> Bool {
        String(cString: path) == ".\(StoreLayout.lifecycle).new"
    }

    func rename(
        _ source: Int32, _ sourcePath: UnsafePointer<CChar>,
        to target: Int32, _ targetPath: UnsafePointer<CChar>
    ) throws(StoreError) {
        if writesInPlace, isAside(sourcePath) { return }
        if unlinksFirst, try base.status(target, targetPath) != nil {
            try base.remove(target, targetPath, directory: false)
        }
        try base.rename(source, sourcePath, to: target, targetPath)
    }
}
