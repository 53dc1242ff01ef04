import CASStore
import HotPush
import Origin
import Platform
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

/// The files of the releases on offer, and their locations, in one look-up for any number of releases.
///
/// It knows only what the documents in the cache list: manifests, facts, pack indexes.
struct ListedFiles: Sendable {
    private struct Place: Sendable {
        var byteCount: Int64?
        var epoch: Int64
    }

    private(set) var releases: Set<LiveRelease> = []
    /// The documents that were read, whether or not they could be understood.
    private var read: Set<OriginKey> = []
    private var places: [OriginKey.Kind: [ObjectID: Place]] = [:]
    private(set) var failure: StoreError?

    private mutating func add(_ files: [PlacedFile]) {
        for file in files where self.file(file.name) == nil {
            places[file.key.kind, default: [:]][file.key.address] = Place(
                byteCount: file.byteCount, epoch: file.key.epoch)
        }
    }

    mutating func offer(_ pointers: [ChannelPointer]) {
        // Documents that were missing may have come.
        let offered = pointers.flatMap(\.liveReleases)
        if failure != nil || !releases.isSubset(of: offered) { self = ListedFiles() }
        for pointer in pointers { offer(also: pointer) }
    }

    /// Adds the offers of a pointer that is about to be published here.
    mutating func offer(also pointer: ChannelPointer) {
        for release in pointer.liveReleases where releases.insert(release).inserted {
            add(release.documents + release.factsDocuments)
            add(release.deliveryDocument.map { [$0] } ?? [])
        }
    }

    /// `nil` if no document that was read lists the file.
    func file(_ name: OriginKey) -> PlacedFile? {
        guard let place = places[name.kind]?[name.address] else { return nil }
        return PlacedFile(
            OriginKey(name.kind, name.address, in: place.epoch), byteCount: place.byteCount)
    }

    mutating func read(in cache: CachedStorage) {
        for release in releases {
            do throws(StoreError) { try read(release, in: cache) } catch {
                // Continue: the other releases' files are still found.
                failure = failure ?? error
            }
        }
    }

    private mutating func read(
        _ release: LiveRelease, in cache: CachedStorage
    ) throws(StoreError) {
        let files = ReleaseFiles(release, cache, nil)
        if isNew(release.deliveryDocument.map { [$0] } ?? [], in: cache) {
            add(try files.packed())
        }
        if isNew(release.documents, in: cache) { add(try files.contents()) }
        if isNew(release.factsDocuments, in: cache) { add(try files.announced()) }
    }

    /// Whether unread documents are here whose content belongs together.
    private mutating func isNew(_ documents: [PlacedFile], in cache: CachedStorage) -> Bool {
        guard let first = documents.first?.name else { return false }
        return !read.contains(first) && documents.allSatisfy { cache.has($0.name.path) }
            && read.insert(first).inserted
    }
}

struct ChangingFile: Sendable {
    let path: String
    let limit: Int
    /// Its position in the sequence of contents published at its path.
    /// - Throws: why it cannot be understood.
    let order: @Sendable ([UInt8]) throws(StoreError) -> Int64

    static let channelList = ChangingFile(
        path: OriginLayout.channelList, limit: Int(ChannelList.byteCountMax)
    ) { (bytes) throws(StoreError) in
        _ = try ChannelList.names(parsing: bytes)
        return 0
    }

    static func marker(of place: String) -> ChangingFile {
        ChangingFile(path: OriginLayout.marker, limit: Int(OriginMarker.byteCountMax)) {
            (bytes) throws(StoreError) in
            try OriginMarker.check(bytes, of: place)
            return 0
        }
    }

    /// A version of the trust, which readers verify themselves.
    static func trust(_ version: Int64) -> ChangingFile {
        ChangingFile(path: OriginLayout.trust(version), limit: TrustFile.byteCountMax) { _ in 0 }
    }

    static func configuration(of system: ClientSystem) -> ChangingFile {
        ChangingFile(
            path: OriginLayout.clientConfiguration(of: system.rawValue),
            limit: ClientConfiguration.byteCountMax
        ) { (bytes) throws(StoreError) in
            try ClientConfiguration(parsing: bytes, of: system).log ?? 0
        }
    }

    static func history(of channel: ChannelName, _ system: ClientSystem) -> ChangingFile {
        ChangingFile(
            path: OriginLayout.clientHistory(of: channel, system.rawValue),
            limit: ClientHistory.byteCountMax
        ) { (bytes) throws(StoreError) in
            try ClientHistory(parsing: bytes, of: channel, system).log ?? 0
        }
    }

    static func patches(of channel: ChannelName) -> ChangingFile {
        ChangingFile(
            path: ClientPatches.path(of: channel), limit: ClientHistory.byteCountMax
        ) { (bytes) throws(StoreError) in
            try ClientPatches.entry(of: bytes, of: channel)
        }
    }

    static func pointer(of channel: ChannelName) -> ChangingFile {
        ChangingFile(
            path: OriginLayout.pointer(channel), limit: ChannelPointer.byteCountMax
        ) { (bytes) throws(StoreError) in
            let sequence = try ChannelPointer(parsing: bytes, of: channel).sequence
            // A number that cannot have been reached by counting sorts before all others, since the next one is
            // smaller.
            return sequence > secondsNow() + 365 * 86_400 ? 0 : sequence
        }
    }
}

typealias FileChange = (file: ChangingFile, news: DocumentNews)
