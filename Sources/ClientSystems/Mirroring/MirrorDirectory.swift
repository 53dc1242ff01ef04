import CASStore
import HotPush
import StrictJSON

/// The directory of a mirror: laid out as an origin in a directory, with the mirror's own files in `.mirror/`.
///
/// ```
/// CACHE/
///   .mirror/cache.json    {"castreeMirror":1,"of":"s3://BUCKET/PREFIX at ENDPOINT"}
///   .mirror/lock          held by the one process that uses it (flock(2))
///   .mirror/tags.json     the tags and digests of the files that change
///   .mirror/new/          what is coming; emptied at each start
///   log/0000000001.json   empty: whoever would publish here is told that the origin is in a bucket
///   origin.json channels/ for/ manifests/ facts/ objects/ …   as in any origin, without epochs
/// ```
/// Nothing is synced: what a power cut tears is found by its digest, and fetched anew. Several threads may use it at
/// once.
final class MirrorDirectory: Sendable {
    static let work = ".mirror"
    private static let description = "cache.json"
    private static let lock = "lock"
    private static let tags = "tags.json"
    private static let new = "new"
    private static let formatVersion: Int64 = 1
    private static let fileMode: UInt32 = 0o644
    private static let directoryMode: UInt32 = 0o755

    /// The directory, as the user named it.
    let path: String
    let fileSystem: any FileSystem
    private let root: Descriptor
    private let lock: Descriptor
    private let arriving: Descriptor

    /// Opens the directory, makes it if need be, and keeps other processes out.
    ///
    /// - Parameter place: of which origin it is a mirror.
    /// - Throws: `.foreignCache`; `.busy` if another process uses it; what making it throws.
    init(
        _ path: String, of place: String, fileSystem: any FileSystem = POSIXFileSystem()
    ) throws(StoreError) {
        let here = POSIXFileSystem.workingDirectory
        do throws(StoreError) {
            try fileSystem.makeDirectoryIfAbsent(here, path, mode: Self.directoryMode)
        } catch {
            // A link to a directory is one for this purpose; anything else fails below.
            guard error.code == .notFound else { throw error }
            throw fileSystem.naming(directoryMissingAbove: path, error)
        }
        let root = try fileSystem.open(here, path, .directoryFollowingLinks, mode: 0)
        if try fileSystem.status(root.raw, Self.work) == nil {
            guard try Self.others(root.raw, fileSystem).isEmpty else { throw Self.foreign(path) }
            try fileSystem.makeDirectoryIfAbsent(root.raw, Self.work, mode: 0o700)
        }
        let work = try fileSystem.open(root.raw, Self.work, .directory, mode: 0)
        let lock = try fileSystem.open(work.raw, Self.lock, .updating, mode: 0o600)
        guard try fileSystem.lock(lock.raw, exclusive: true) else {
            throw StoreError(
                .busy,
                "\(printable(path)) is the cache of another process that runs; give each its own (--cache)"
            )
        }
        try Self.identify(work.raw, root.raw, path, place, fileSystem)
        try fileSystem.makeDirectoryIfAbsent(work.raw, Self.new, mode: 0o700)
        let arriving = try fileSystem.open(work.raw, Self.new, .directory, mode: 0)
        for name in try fileSystem.names(in: arriving.raw) {
            try fileSystem.removeIfPresent(arriving.raw, name)
        }
        self.path = path
        self.fileSystem = fileSystem
        self.root = root
        self.lock = lock
        self.arriving = arriving
    }

    /// What a full disk, or one that may only be read, means for a cache.
    static func advised(_ error: StoreError) -> StoreError {
        if error.isDiskFull {
            return error.advising("make room there for the cache, or give it less (--cache-size)")
        }
        return error.code == .readOnly
            ? error.advising("a cache is written to: name another directory with --cache") : error
    }

    private static func advised<Value: ~Copyable>(
        _ work: () throws(StoreError) -> Value
    ) throws(StoreError) -> Value {
        do throws(StoreError) { return try work() } catch { throw advised(error) }
    }

    private static func foreign(_ path: String) -> StoreError {
        StoreError(
            .foreignCache,
            "\(printable(path)) is not empty and no cache of castree origin serve; name another directory with --cache"
        )
    }

    /// What stands in a directory and is not a mirror's; a disk of its own may have what fsck(8) found.
    private static func others(
        _ root: Int32, _ fileSystem: any FileSystem
    ) throws(StoreError) -> [String] {
        try fileSystem.names(in: root) { name, _ in ![work, "lost+found"].contains(name) }
    }

    /// Compares what the directory says of itself with what it is wanted for; says it where nothing does yet.
    private static func identify(
        _ work: Int32, _ root: Int32, _ path: String, _ place: String,
        _ fileSystem: any FileSystem
    ) throws(StoreError) {
        let known = try fileSystem.ifPresent { () throws(StoreError) in
            try fileSystem.contents(work, description, limit: 1 << 16)
        }
        guard let known else {
            guard try others(root, fileSystem).isEmpty else { throw foreign(path) }
            let text = JSONWriter.document { writer in
                writer.member("castreeMirror", formatVersion)
                writer.member("of", place)
            }
            return try fileSystem.replaceFile(
                work, description, with: text + [10], token: "new", durably: false)
        }
        // What is no JSON says nothing; the message is the same.
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
        guard other == place else {
            throw StoreError(
                .foreignCache,
                "\(printable(path)) is the cache of \(printable(other)), not of \(printable(place)); name another directory "
                    + "with --cache, or delete it")
        }
    }

    // MARK: Files that change

    /// The bytes of a file; `nil` if there is none.
    func contents(_ path: String, limit: Int) throws(StoreError) -> [UInt8]? {
        let (parent, name) = Self.split(path)
        guard let directory = try directory(parent, isMade: false) else { return nil }
        return try fileSystem.ifPresent { () throws(StoreError) in
            try fileSystem.contents(directory.raw, name, limit: limit)
        }
    }

    /// Replaces a file in one step.
    func replace(_ path: String, with bytes: [UInt8]) throws(StoreError) {
        try Self.advised { () throws(StoreError) in
            let (parent, name) = Self.split(path)
            guard let directory = try directory(parent, isMade: true) else { return }
            try fileSystem.replaceFile(
                directory.raw, name, with: bytes, mode: Self.fileMode, token: "new", durably: false)
        }
    }

    /// Removes a file, if it is there.
    func remove(_ path: String) throws(StoreError) {
        try Self.advised { () throws(StoreError) in
            let (parent, name) = Self.split(path)
            guard let directory = try directory(parent, isMade: false) else { return }
            try fileSystem.removeIfPresent(directory.raw, name)
        }
    }

    /// Calls `body` with the names in a directory and the sizes of the regular files among them.
    func forEachEntry(
        of path: String, _ body: (String, FileStatus) throws(StoreError) -> Void
    ) throws(StoreError) {
        guard let directory = try directory(path, isMade: false) else { return }
        for name in try fileSystem.names(in: directory.raw) {
            if let status = try fileSystem.status(directory.raw, name) { try body(name, status) }
        }
    }

    private func directory(_ path: String, isMade: Bool) throws(StoreError) -> Descriptor? {
        do throws(StoreError) {
            return try openDirectory(path, isMade: isMade)
        } catch {
            guard error.isNotDirectory else { throw error }
            throw error.advising(
                "what stands there is not the cache's; stop the server and delete \(printable(self.path)): all of it comes "
                    + "anew")
        }
    }

    private func openDirectory(_ path: String, isMade: Bool) throws(StoreError) -> Descriptor? {
        var directory = try fileSystem.open(root.raw, ".", .directory, mode: 0)
        for part in path.split(separator: "/") {
            if isMade {
                try fileSystem.makeDirectoryIfAbsent(
                    directory.raw, String(part), mode: Self.directoryMode)
            }
            guard let next = try fileSystem.openIfPresent(directory.raw, String(part), .directory)
            else { return nil }
            directory = next
        }
        return directory
    }

    private static func split(_ path: String) -> (parent: String, name: String) {
        guard let slash = path.lastIndex(of: "/") else { return ("", path) }
        return (String(path[..<slash]), String(path[path.index(after: slash)...]))
    }

    // MARK: Files that come

    /// Whatever name was drawn for what comes, a full disk is one sentence: it is said once.
    private func staging<Value: ~Copyable>(
        _ work: () throws(StoreError) -> Value
    ) throws(StoreError) -> Value {
        do throws(StoreError) { return try work() } catch {
            guard error.isDiskFull, case .systemCall(let name, let number, _) = error.cause else {
                throw Self.advised(error)
            }
            let place = "\(path)/\(Self.work)/\(Self.new)"
            throw Self.advised(StoreError(systemCall: name, errno: number, path: place))
        }
    }

    /// Begins a file that has no name yet.
    func stage(_ token: String) throws(StoreError) -> Descriptor {
        try staging { () throws(StoreError) in
            try fileSystem.open(arriving.raw, token, .creating, mode: Self.fileMode)
        }
    }

    /// Adds bytes to a staged file.
    func write(_ staged: borrowing Descriptor, _ bytes: UnsafeRawBufferPointer) throws(StoreError) {
        try staging { () throws(StoreError) in try fileSystem.write(staged.raw, bytes) }
    }

    /// Gives a staged file its name, in place of what stands there.
    func settle(_ token: String, as path: String) throws(StoreError) {
        try Self.advised { () throws(StoreError) in
            let (parent, name) = Self.split(path)
            guard let directory = try directory(parent, isMade: true) else { return }
            try fileSystem.rename(arriving.raw, token, to: directory.raw, name)
        }
    }

    /// Forgets a staged file.
    func unstage(_ token: String) {
        // What cannot be removed now goes at the next start.
        try? fileSystem.removeIfPresent(arriving.raw, token)
    }

    // MARK: Tags

    /// What was noted of the files that change, by their paths; nothing if that cannot be read.
    func notedTags() -> [String: MirroredTag] {
        // Derived: without it all is fetched once more.
        let bytes = try? contents("\(Self.work)/\(Self.tags)", limit: 16 << 20)
        let document = bytes.flatMap { try? JSONValue.parse($0) }
        var tags: [String: MirroredTag] = [:]
        for member in document?["files"]?.asObject ?? [] {
            guard let tag = member.value["tag"]?.asString,
                let digest = member.value["sha256"]?.asString.flatMap({ ObjectID($0) })
            else { continue }
            tags[member.key] = MirroredTag(tag: tag, digest: digest)
        }
        return tags
    }

    /// Notes the tags for the next start.
    func note(_ tags: [String: MirroredTag]) throws(StoreError) {
        let text = JSONWriter.document { writer in
            writer.member("castreeTags", Self.formatVersion)
            writer.member("files") { writer in
                for (path, tag) in tags.sorted(by: { $0.key < $1.key }) {
                    writer.member(path) { writer in
                        writer.member("tag", tag.tag)
                        writer.member("sha256", tag.digest.description)
                    }
                }
            }
        }
        try replace("\(Self.work)/\(Self.tags)", with: text + [10])
    }
}

/// What is known of a file that changes: the bucket's tag, and the SHA-256 of the bytes that have it.
struct MirroredTag: Sendable, Hashable {
    var tag: String
    var digest: ObjectID
}
