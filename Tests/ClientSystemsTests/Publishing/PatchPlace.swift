import Bsdiff
import BucketTestSupport
import HotPush
import Origin
import Platform
import StorageTestSupport

@testable import ClientSystems

/// An origin for Expo's and hot-updater's clients, in a directory or a bucket, and versions with scripts of some size.
final class PatchPlace {
    enum Home { case directory, bucket }

    let store: TemporaryStore
    var bucket = ModelStore()
    /// What happens to the requests of the next publishers.
    var schedule: RequestSchedule = { _ in .answered }
    let clock = ServerClock(1_760_000_000)
    let notices = Notices()
    let isInBucket: Bool
    private let mirrored = TemporaryDirectory()

    var origin: String { store.directory.appending("origin") }

    init(_ home: Home = .directory, versions count: Int = 9) throws {
        store = try TemporaryStore()
        isInBucket = home == .bucket
        for number in 1...count { try store.add("\(number)", Self.files(number)) }
    }

    static func files(_ number: Int) -> [String: String] {
        var files = ExpoTree.files(script(number))
        files["index.ios.bundle"] = script(number)
        files["small.txt"] = "\(number)"
        return files
    }

    static func script(_ number: Int) -> String {
        var random = SeededRandom(seed: 5)
        var text = ""
        for line in 0..<600 {
            text += "call(\(line % 50 + number), \"\(Hex.string(random.bytes(24)))\")\n"
        }
        return text
    }

    func announcing(_ patches: PatchAnnouncing? = PatchAnnouncing()) -> ClientAnnouncing {
        var announcing = ClientAnnouncing()
        announcing.patches = patches
        return announcing
    }

    func publisher(
        _ patches: PatchAnnouncing? = PatchAnnouncing(),
        on fileSystem: any FileSystem = POSIXFileSystem(),
        _ change: (inout PublisherOptions) -> Void = { _ in }
    ) throws -> OriginPublisher {
        var options = PublisherOptions()
        options.isDurable = false
        options.packs.timing = .never
        options.announcing = announcing(patches)
        options.notice = notices.sink
        change(&options)
        let clock = clock
        guard isInBucket else {
            return try Publisher(
                origin, options: options, fileSystem: fileSystem, now: { clock.now }
            ).engine(isCreating: true)
        }
        return OriginPublisher(
            ModelStorage(bucket, actor: "one", rights: .all, schedule: schedule),
            options: options, now: { clock.now }, pause: { _ in })
    }

    @discardableResult
    func publish(
        _ version: String, _ publisher: OriginPublisher? = nil
    ) throws -> OriginCommit {
        clock.advance(10)
        return try (publisher ?? self.publisher()).publish(
            version, of: store.versions)
    }

    func enable(_ systems: ClientSystem...) throws {
        for system in systems {
            _ = try announcing(nil).enable(
                configuration(system), by: publisher(nil), with: store.versions)
        }
    }

    func configuration(_ system: ClientSystem) throws -> ClientConfiguration {
        system == .expo
            ? try ExpoTree.configuration()
            : ClientConfiguration(
                system, baseURL: ExpoTree.baseURL, deployments: ["ios/production": .stable])
    }

    func patches() throws -> ClientPatches {
        try publisher(nil).clients().patches(of: .stable)
    }

    func history(_ system: ClientSystem) throws -> ClientHistory {
        try publisher(nil).clients().history(of: .stable, system)
    }

    /// The id by which Expo's clients know a version.
    func id(of version: String, on platform: String = "ios") throws -> String {
        let offer = try history(.expo).offers.last { $0.version?.name.description == version }
        return try require(offer?.documents.first { $0.platform == platform }).id
    }

    func bundleID(of version: String) throws -> String {
        try require(
            try history(.hotUpdater).offers.last { $0.version?.name.description == version }?.id)
    }

    /// The files of patches, by their paths.
    func patchFiles() throws -> [String: [UInt8]] {
        let files =
            isInBucket
            ? bucket.files.mapValues(\.bytes) : try Damage.files(below: origin, without: ".publish")
        return files.filter { $0.key.contains("for/patches/documents/") }
    }

    /// Whether each patch that the bucket's file names is there, and makes what it says.
    func checkPatches(_ when: String) throws {
        guard let bytes = bucket.files[ClientPatches.path(of: .stable)]?.bytes else { return }
        for patch in try ClientPatches(parsing: bytes, of: .stable).releases.flatMap(\.patches) {
            let bytes = try require(bucket.files[patch.key.path]?.bytes, "\(when)")
            try expect(ObjectID(of: bytes) == patch.address, "\(when)")
            let old = try object(patch.base)
            let new = try old.span.bytes.withUnsafeBytes { (old) throws(StoreError) in
                try BsdiffPatch.apply(bytes, to: old, limit: 1 << 24)
            }
            try expect(ObjectID(of: new), equals: patch.object, "\(when)")
        }
    }

    var versions: VersionStore { store.versions }

    func object(_ address: ObjectID) throws -> [UInt8] {
        guard let file = try versions.store.objects.open(address) else { return [] }
        let count = try versions.store.fileSystem.status(file.raw).byteCount
        return try versions.store.fileSystem.read(file.raw, at: 0, count: Int(count))
    }

    /// Writes over a file of the origin; `nil` deletes it.
    func write(_ path: String, _ bytes: [UInt8]?) throws {
        if isInBucket { return bucket.set(path, bytes, .pointer) }
        let file = URL(filePath: origin + "/" + path)
        guard let bytes else { return try FileManager.default.removeItem(at: file) }
        if FileManager.default.fileExists(atPath: file.path) {
            try FileManager.default.removeItem(at: file)
        }
        try Data(bytes).write(to: file)
    }

    func answers(_ told: Notices = Notices()) throws -> OriginAnswers {
        OriginAnswers(
            OriginReader(try DirectoryOrigin(origin), tell: { told.sink($0.message) }))
    }

    /// What a mirror of the bucket answers that has looked once.
    func mirrored(_ name: String) throws -> OriginAnswers {
        let mirror = try OriginMirror(
            ModelStorage(bucket, rights: [.get, .list]), at: mirrored.appending(name),
            CachedStorage.Options())
        return OriginAnswers(OriginReader(try mirror.begin()))
    }
}
