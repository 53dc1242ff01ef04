import CASStore
import Storage
import StrictJSON

/// The directory of a mirror: laid out as an origin in a directory, with the mirror's own files in `.mirror/`.
///
/// ```
/// CACHE/
///   .mirror/cache.json    {"castreeMirror":1,"of":"s3://BUCKET/PREFIX at ENDPOINT"}
///   .mirror/lock          held by the one process that uses it (flock(2))
///   .mirror/tags          the digests and tags of the files that change
///   .mirror/put-…         what is incoming; removed at each start
///   log/0000000001.json   empty: tells publishers that the origin is in a bucket
///   origin.json channels/ for/ manifests/ facts/ objects/ …   as in any origin, without epochs
/// ```
final class MirrorDirectory: Sendable {
    private static let work = ".mirror"
    private static let description = "cache.json"
    private static let formatVersion: Int64 = 1

    let copies: DirectoryStorage
    private let lock: FileLock
    let fileSystem: any FileSystem

    /// Opens the directory, creating it if necessary, and locks out other processes.
    /// - Parameter base: identifies the origin that is mirrored.
    /// - Throws: `.foreignCache`; `.busy` if another process uses it; what creating it throws.
    init(_ path: String, of base: String, _ fileSystem: any FileSystem) throws(StoreError) {
        _ = try fileSystem.makeTypedDirectory(path)
        let copies = try DirectoryStorage(
            path, scratch: Self.work, isDurable: false, fileSystem: fileSystem)
        let root = copies.directory
        let known = "\(Self.work)/\(Self.description)"
        if try fileSystem.status(root, known) == nil, try !Self.others(root, fileSystem).isEmpty {
            throw Self.foreign(path)
        }
        try fileSystem.makeDirectoryIfAbsent(root, Self.work, mode: 0o700)
        let work = try fileSystem.open(root, Self.work, .directory, mode: 0)
        let lock = FileLock(
            try fileSystem.open(work.raw, "lock", .updating, mode: 0o600), fileSystem)
        guard try lock.take() else {
            throw StoreError(
                .busy,
                "\(printable(path)) is the cache of another process that runs; give each its own (--cache)"
            )
        }
        try Self.identify(work.raw, path, base, fileSystem)
        // `tags.json` is the format of older castrees.
        for name in try fileSystem.names(in: work.raw)
        where name.hasPrefix("put-") || name == "tags.json" {
            try fileSystem.removeIfPresent(work.raw, name)
        }
        self.copies = copies
        self.lock = lock
        self.fileSystem = fileSystem
    }

    /// The entries that do not belong to a cache, except what fsck(8) leaves in the root of a file system.
    private static func others(
        _ root: Int32, _ fileSystem: any FileSystem
    ) throws(StoreError) -> [String] {
        try fileSystem.names(in: root) { name, _ in ![work, FileStatus.foundFiles].contains(name) }
    }

    /// The mirror's files, as earlier processes have left them; some may appear twice.
    func files() throws(StoreError) -> [Storage.ListedFile] {
        var files: [Storage.ListedFile] = []
        for name in try Self.others(copies.directory, fileSystem) {
            // Never read through a link.
            if try fileSystem.status(copies.directory, name)?.kind != .regular {
                _ = try fileSystem.open(copies.directory, name, .directory, mode: 0)
            }
            files += try copies.list(ListRequest(prefix: name, countMax: .max - 1)).files
        }
        return files
    }

    /// Compares the directory's identity with the wanted one; writes it if there is none.
    private static func identify(
        _ work: Int32, _ path: String, _ base: String, _ fileSystem: any FileSystem
    ) throws(StoreError) {
        let known = try fileSystem.ifPresent { () throws(StoreError) in
            try fileSystem.contents(work, description, limit: 1 << 16)
        }
        guard let known else {
            let text = JSONValue.members([
                "castreeMirror": .integer(formatVersion), "of": .string(base),
            ])
            return try fileSystem.replaceFile(
                work, description, with: text.fileBytes, token: "new", durably: false)
        }
        // A file that is not JSON gets the same message.
        let document = try? JSONValue.parse(known)
        guard let format = document?["castreeMirror"]?.asInt64,
            let other = document?["of"]?.asString
        else { throw foreign(path) }
        guard format <= formatVersion else {
            throw StoreError(
                .unsupportedFormat,
                "the cache \(printable(path)) has format \(format); this castree knows up to \(formatVersion): use a newer "
                    + "one, or delete the cache")
        }
        guard other == base else {
            throw StoreError(
                .foreignCache,
                "\(printable(path)) is the cache of \(printable(other)), not of \(printable(base)); name another directory "
                    + "with --cache, or delete it")
        }
    }

    private static func foreign(_ path: String) -> StoreError {
        StoreError(
            .foreignCache,
            "\(printable(path)) is not empty and no cache of castree origin serve; name another directory with --cache"
        )
    }

    static func advised(_ error: StoreError, _ path: String) -> StoreError {
        guard case .systemCall(let name, let number, _) = error.cause else { return error }
        if error.isDiskFull {
            // Leave out the random temporary name, so that a full disk is one message, reported once.
            return StoreError(systemCall: name, errno: number, path: "\(path)/\(work)")
                .advising("free space there for the cache, or give it less (--cache-size)")
        }
        if error.code == .readOnly {
            return error.advising("a cache is written to: name another directory with --cache")
        }
        guard error.isNotDirectory else { return error }
        return error.advising(
            "what stands there is not the cache's; stop the server and delete \(printable(path)): all of it comes anew"
        )
    }
}
