import CASStore
import Expectations
import Foundation
import HotPush
import StorageTestSupport
import Testing
import VersionTree

@Suite("A publisher refuses") struct PublishingRefusalTests {
    let place: PublishingPlace

    init() throws { place = try PublishingPlace() }

    private func storePath(_ text: String) throws -> String {
        let digits = try address(of: text).description
        return "\(place.store.path)/objects/\(digits.prefix(2))/\(digits.dropFirst(2))"
    }

    @Test("a version that is not there")
    func noVersion() throws {
        expect(code { try place.publish("9") }, equals: .noVersion)
    }

    @Test("a version that lacks objects, and makes nothing")
    func incomplete() throws {
        let path = try TreePath("f")
        let manifest = try Manifest(
            version: VersionName("3"), ordinal: 3, createdAt: 1,
            entries: [.init(path: path, address: address(of: "not here"), byteCount: 8)])
        try place.versions.register(manifest)
        do {
            _ = try place.publish("3")
            Issue.record("it was published")
        } catch let error as StoreError {
            expect(error.code, equals: .incompleteVersion)
            expect(error.message.contains("lacks 1 object ("), "\(error.message)")
        }
        expect(
            code { try place.publisher().plan("3", of: place.versions) }, equals: .incompleteVersion
        )
        expect(!FileManager.default.fileExists(atPath: place.origin))
    }

    // Fields that castree does not know are kept, so somebody else may leave no room.
    @Test("to write a pointer that readers refuse for its size")
    func fullPointer() throws {
        try place.publish("1")
        let path = place.origin + "/channels/stable.json"
        let text = try String(contentsOfFile: path, encoding: .utf8)
        let member = ",\"x\":\"\"}\n"
        let plain = text.replacing(#/"log":[0-9]+,/#, with: "")
        let room = ChannelPointer.byteCountMax - plain.utf8.count + 2 - member.utf8.count
        let full =
            String(plain.dropLast(2))
            + member.replacing("\"\"}", with: "\"" + String(repeating: "y", count: room) + "\"}")
        expect(full.utf8.count, equals: ChannelPointer.byteCountMax)
        try Data(full.utf8).write(to: URL(filePath: path))
        try place.forgetLog()
        try expect(DirectoryOrigin(place.origin).pointer(.stable) != nil)
        expect(code { try place.publish("2") }, equals: .tooLarge)
        try expect(String(contentsOfFile: path, encoding: .utf8), equals: full)
        // What makes it smaller can be done.
        _ = try place.publisher().withdraw(VersionName("1"))
        try expect(DirectoryOrigin(place.origin).pointer(.stable)?.releases.isEmpty == true)
    }

    @Test("to offer an older release again when it only verifies it, and mends it")
    func verifiedOlder() throws {
        try place.publish("1")
        try place.publish("2")
        let before = try place.published()["channels/stable.json"]
        let path = try place.objectPath("<h1>one</h1>")
        try Damage.overwrite(path, with: Array("<h1>0ne</h1>".utf8))
        var options = PublisherOptions()
        options.isDurable = false
        options.verifiesObjects = true
        let publisher = place.publisher(options)
        try expect(publisher.plan("1", of: place.versions).writesPointer, equals: false)
        try publisher.publish("1", of: place.versions)
        try expect(place.published()["channels/stable.json"], equals: before)
        try expect(place.read()?.version, equals: "2")
        try expect(Damage.contents(path), equals: Array("<h1>one</h1>".utf8))
        // Without it, publishing an older version offers it: that is how one goes back.
        try place.publish("1")
        try expect(place.read()?.version, equals: "1")
    }

    @Test("a version whose manifest somebody has edited, and makes nothing")
    func edited() throws {
        let path = place.store.path + "/manifests/1.json"
        let text = String(decoding: try Damage.contents(path), as: UTF8.self)
        let edited = text.replacing("\"index.html\"", with: "\"index.htm\"")
        try require(edited != text)
        try Damage.overwrite(path, with: Array(edited.utf8))
        expect(code { try place.publisher().plan("1", of: place.versions) }, equals: .badManifest)
        expect(code { try place.publish("1") }, equals: .badManifest)
        expect(!FileManager.default.fileExists(atPath: place.origin))
        try place.publish("2")
        try expect(place.read()?.version, equals: "2")
    }

    @Test("to write through a link in the place of a directory of objects")
    func linkedShard() throws {
        try place.publish("1")
        let before = try place.published()["channels/stable.json"]
        let shard = URL(filePath: try place.objectPath("<h1>two</h1>")).deletingLastPathComponent()
        let outside = place.store.directory.appending("outside")
        let files = FileManager.default
        try files.createDirectory(atPath: outside, withIntermediateDirectories: true)
        // Another object may share the directory.
        try? files.removeItem(at: shard)
        try files.createSymbolicLink(atPath: shard.path, withDestinationPath: outside)
        expect(code { try place.publish("2") }, equals: .io)
        expect(Damage.names(outside).isEmpty)
        try expect(place.published()["channels/stable.json"], equals: before)
    }

    @Test("damaged bytes, and the channel offers what it did before")
    func damaged() throws {
        try place.publish("1")
        let before = try place.published()["channels/stable.json"]
        try Damage.flip(try storePath("<h1>two</h1>"), at: 3)
        expect(code { try place.publish("2") }, equals: .damagedObject)
        try expect(place.published()["channels/stable.json"], equals: before)
        try expect(place.read()?.files, equals: PublishingPlace.first)
        let path = try place.objectPath("<h1>two</h1>")
        expect(!FileManager.default.fileExists(atPath: path))
    }

    @Test("an object that vanished from the store")
    func vanished() throws {
        Damage.remove(try storePath("<h1>one</h1>"))
        expect(code { try place.publish("1") }, equals: .missingObject)
        try expect(DirectoryOrigin(place.origin).pointer(.stable) == nil)
    }

    @Test("another content under a name that some channel offers")
    func nameTaken() throws {
        try place.publish("1", to: "beta")
        let other = try TemporaryStore()
        try other.add("1", ["index.html": "other"])
        expect(
            code { try place.publisher().publish("1", of: other.versions) }, equals: .versionExists)
        let same = try TemporaryStore()
        try same.add("1", PublishingPlace.first)
        expect(code { try place.publisher().publish("1", of: same.versions) } == nil)
    }

    @Test("a store, a directory with objects of somebody else's, a file")
    func wrongDirectories() throws {
        let store = Publisher(place.store.path)
        expect(code { try store.publish("1", of: place.versions) }, equals: .insideStore)
        expect(code { try store.plan("1", of: place.versions) }, equals: .insideStore)
        expect(!Damage.names(place.store.path).contains { $0.hasPrefix(".publish") })
        try writeTree(place.origin, ["objects/mine": "mine"])
        expect(code { try place.publish("1") }, equals: .badOrigin)
        expect(Damage.names(place.origin), equals: ["objects", "objects/mine"])
        let file = place.store.directory.appending("file")
        try Damage.overwriteOrCreate(file, with: [])
        expect(code { try Publisher(file).publish("1", of: place.versions) }, equals: .io)
    }

    @Test("an origin or a pointer of a newer format, and leaves it as it is")
    func newerFormats() throws {
        try place.publish("1")
        try place.forgetLog()
        let pointer = place.origin + "/channels/stable.json"
        try Damage.overwrite(pointer, with: Array(#"{"castreeChannel":2,"x":1}"#.utf8))
        expect(code { try place.publish("2") }, equals: .unsupportedFormat)
        expect(code { try place.publisher().collect() }, equals: .unsupportedFormat)
        try Damage.overwrite(
            place.origin + "/origin.json", with: Array(#"{"castreeOrigin":3}"#.utf8))
        let before = try place.published()
        expect(code { try place.publish("2") }, equals: .unsupportedFormat)
        expect(code { try DirectoryOrigin(place.origin) }, equals: .unsupportedFormat)
        try expect(place.published(), equals: before)
    }

    @Test("to begin a log where a pointer cannot be read, in any channel")
    func brokenPointer() throws {
        try place.publish("1", to: "beta")
        try place.forgetLog()
        try Damage.truncate(place.origin + "/channels/beta.json", to: 40)
        expect(code { try place.publish("2") }, equals: .badPointer)
        expect(code { try place.publisher().collect() }, equals: .badPointer)
    }

    @Test("to begin where the disk has no room, and says how much is needed")
    func noRoom() throws {
        let disk = FullFileSystem()
        let error = #expect(throws: StoreError.self) {
            try place.publisher(on: disk).publish("2", of: place.versions)
        }
        expect(error?.code, equals: .outOfSpace)
        expect(error?.message.contains(" are needed"), equals: true)
        try expect(DirectoryOrigin(place.origin).pointer(.stable) == nil)
        try expect(place.published().keys.sorted(), equals: ["log/0000000001.json", "origin.json"])
    }

    @Test("to go on when it is asked to stop; the next one goes on")
    func interrupted() throws {
        try place.publish("1")
        var options = PublisherOptions()
        options.isDurable = false
        options.isInterrupted = { true }
        let stopped = place.publisher(on: POSIXFileSystem(), options)
        expect(code { try stopped.publish("2", of: place.versions) }, equals: .interrupted)
        try expect(place.read()?.version, equals: "1")
        try place.publish("2")
        try expect(place.read()?.files, equals: PublishingPlace.second)
    }
}
