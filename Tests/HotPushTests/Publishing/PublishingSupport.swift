import CASStore
import Expectations
import HotPush
import StorageTestSupport
import Synchronization
import Testing
import VersionTree

/// A store with releases, and a directory beside it to publish to.
struct PublishingPlace {
    let store: TemporaryStore
    let clock = Clock()
    private var originName = "origin"

    static let first = [
        "index.html": "<h1>one</h1>", "css/site.css": "body {}", "js/app.js": "run(1)",
        "tools/serve": "#! /bin/sh\n", "empty": "",
    ]
    static let second = [
        "index.html": "<h1>two</h1>", "css/site.css": "body {}", "js/app.js": "run(1)",
        "large": String(repeating: "0123456789abcdef", count: 40_000),
    ]

    init() throws {
        store = try TemporaryStore()
        try store.add("1", Self.first)
        try store.add("2", Self.second)
    }

    var origin: String { store.directory.appending(originName) }

    /// The same store, and another directory to publish to.
    func withOrigin(_ name: String) -> PublishingPlace {
        var place = self
        place.originName = name
        return place
    }

    var versions: VersionStore { store.versions }

    /// A publisher on a clock that stands still until it is moved.
    /// - Parameter packs: when it makes packs; unless a test is about them, never.
    func publisher(
        on fileSystem: any FileSystem = POSIXFileSystem(), _ options: PublisherOptions? = nil,
        packs: PackOptions.Moment = .never
    ) -> Publisher {
        var chosen = options ?? PublisherOptions()
        if options == nil { chosen.isDurable = false }
        chosen.packs.moment = packs
        let clock = clock
        return Publisher(origin, options: chosen, fileSystem: fileSystem, now: { clock.now })
    }

    @discardableResult
    func publish(_ version: String, to channel: String = "stable") throws -> PublishPlan {
        try require(
            publisher().publish(
                version, of: versions, as: ReleaseOffer(channel: try ChannelName(channel))
            ).plan)
    }

    /// What a reader of the channel gets: the version's name and its files, each byte held against
    /// its address; `nil` if nothing is offered.
    func read(_ channel: ChannelName = .stable) throws -> (
        version: String, files: [String: String]
    )? {
        let reader = try DirectoryOrigin(origin)
        guard let release = try reader.pointer(channel)?.releases.first,
            let version = release.version
        else { return nil }
        return (version.name.description, try files(of: version, in: reader))
    }

    func files(of version: PublishedVersion, in reader: DirectoryOrigin) throws -> [String: String]
    {
        let manifest = try Manifest(parsing: require(try reader.manifestBytes(version.manifest)))
        expect(manifest.version, equals: version.name)
        try expect(manifest.contentAddress(), equals: version.content)
        var files: [String: String] = [:]
        for entry in manifest.entries {
            let bytes = try Damage.contents(
                "\(reader.path)/\(OriginLayout.object(entry.address))")
            expect(Int64(bytes.count), equals: entry.byteCount)
            var hasher = try ObjectHasher()
            expect(bytes.withUnsafeBytes { hasher.hash($0).address }, equals: entry.address)
            files[entry.path.description] = String(decoding: bytes, as: UTF8.self)
        }
        return files
    }

    /// The files of the origin that readers see: path to bytes.
    func published() throws -> [String: [UInt8]] {
        try Damage.files(below: origin, without: ".publish")
    }

    /// Makes the origin as an older castree left it, which wrote no log.
    func forgetLog() throws { try HotPushTests.forgetLog(at: origin) }

    func objectPath(_ text: String) throws -> String {
        origin + "/" + OriginLayout.object(try address(of: text))
    }
}

/// Makes an origin as an older castree left it, which wrote no log.
func forgetLog(at origin: String) throws {
    Damage.remove(origin + "/log")
    for name in Damage.names(origin)
    where name.hasSuffix(".json") && (name.hasPrefix("channels/") || name.hasPrefix("for/")) {
        let path = "\(origin)/\(name)"
        let text = String(decoding: try Damage.contents(path), as: UTF8.self)
        let plain = text.replacing(#/"log":[0-9]+,/#, with: "")
        if plain != text { try Damage.overwriteOrCreate(path, with: Array(plain.utf8)) }
    }
}

/// A clock that tests move.
final class Clock: Sendable {
    private let seconds = Mutex<Int64>(1_760_000_000)
    var now: Int64 { seconds.withLock { $0 } }
    func advance(by count: Int64) { seconds.withLock { $0 += count } }
}

/// SHA-256 of a text.
func address(of text: String) throws -> ObjectID {
    var hasher = try ObjectHasher()
    return Array(text.utf8).withUnsafeBytes { hasher.hash($0).address }
}

/// The code of the `StoreError` that `body` throws; `nil` if it throws none.
func code<R>(_ body: () throws -> R) -> StoreError.Code? {
    do {
        _ = try body()
        return nil
    } catch let error as StoreError {
        return error.code
    } catch {
        Issue.record("\(error)")
        return nil
    }
}
