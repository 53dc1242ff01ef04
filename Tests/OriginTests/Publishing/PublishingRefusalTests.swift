import OriginTestSupport

@Suite("A publisher refuses") struct PublishingRefusalTests {
    @Test(arguments: places)
    func `a version that is not there`(_ kind: OriginPlace) throws {
        let place = try PublishingPlace(kind)
        expectRefusal(.noVersion) { try place.publish("9") }
    }

    @Test(arguments: places)
    func `a version that is missing objects, and makes nothing`(_ kind: OriginPlace) throws {
        let place = try PublishingPlace(kind)
        let path = try TreePath("f")
        let manifest = try Manifest(
            version: VersionName("3"), ordinal: 3, createdAt: 1,
            entries: [.init(path: path, address: address(of: "not here"), byteCount: 8)])
        try place.versions.register(manifest)
        expectRefusal(.incompleteVersion, saying: "is missing 1 object (") {
            try place.publish("3")
        }
        expectRefusal(.incompleteVersion) { try place.publisher().plan("3", of: place.versions) }
        try expect(place.published().isEmpty)
    }

    // Fields that castree does not know are kept, so somebody else may leave no space.
    @Test func `to write a pointer that readers refuse for its size`() throws {
        let place = try PublishingPlace(offering: "1")
        let path = place.origin + "/channels/stable.json"
        let text = try String(contentsOfFile: path, encoding: .utf8)
        let member = ",\"x\":\"\"}\n"
        let plain = text.replacing(#/"log":[0-9]+,/#, with: "")
        let space = ChannelPointer.byteCountMax - plain.utf8.count + 2 - member.utf8.count
        let full =
            String(plain.dropLast(2))
            + member.replacing("\"\"}", with: "\"" + String(repeating: "y", count: space) + "\"}")
        expect(full.utf8.count, equals: ChannelPointer.byteCountMax)
        try Data(full.utf8).write(to: URL(filePath: path))
        try place.forgetLog()
        try expect(DirectoryOrigin(place.origin).pointer(.stable) != nil)
        expectRefusal(.tooLarge) { try place.publish("2") }
        try expect(String(contentsOfFile: path, encoding: .utf8), equals: full)
        // What makes it smaller can be done.
        _ = try place.publisher().withdraw(VersionName("1"))
        try expect(DirectoryOrigin(place.origin).pointer(.stable)?.releases.isEmpty == true)
    }

    @Test(arguments: places)
    func `to offer an older release again when it only verifies it, and mends it`(
        _ kind: OriginPlace
    ) throws {
        let place = try PublishingPlace(kind, offering: "1")
        try place.publish("2")
        let verifying = place.publisher { $0.verifiesObjects = true }
        try expect(verifying.plan("1", of: place.versions).writesPointer, equals: false)
        // All is there: nothing changes.
        let before = try place.published()
        try expect(verifying.publish("1", of: place.versions).isUnchanged)
        try expect(place.published(), equals: before)
        let key = try place.objectKey("<h1>one</h1>")
        func existing() throws -> [String: [UInt8]] {
            try place.published().filter { $0.key.hasSuffix(key) }
        }
        for isPruned in [false, true] {
            if isPruned {
                try place.publisher().collect(OriginRetention(releaseCount: 2, graceSeconds: 0))
            }
            let release = try require(place.pointer()?.releases.last)
            let (files, pointer) = try (existing(), place.bytes("channels/stable.json"))
            expect(!files.isEmpty)
            // Of what stands in a bucket only the size is looked at.
            let damage: [UInt8]? = kind == .directory ? Array("<h1>0ne</h1>".utf8) : nil
            for key in files.keys { try place.set(key, damage) }
            try expect(verifying.publish("1", of: place.versions).objects.count >= 1)
            try expect(existing().values.contains(Array("<h1>one</h1>".utf8)))
            try expect(place.offered(), equals: ["2", "1"])
            let mended = try require(place.pointer()?.releases.last)
            expect(mended.sequence == release.sequence && mended.createdAt == release.createdAt)
            try expect(isPruned || place.bytes("channels/stable.json") == pointer)
        }
        // Without it, publishing an older version offers it: that is how one goes back.
        try place.publish("1")
        try expect(place.offered(), equals: ["1", "2"])
    }

    @Test("a version whose manifest somebody has edited, and makes nothing", arguments: places)
    func edited(_ kind: OriginPlace) throws {
        let place = try PublishingPlace(kind)
        let path = place.store.path + "/manifests/1.json"
        let text = String(decoding: try Damage.contents(path), as: UTF8.self)
        let edited = text.replacing("\"index.html\"", with: "\"index.htm\"")
        try require(edited != text)
        try Damage.overwrite(path, with: Array(edited.utf8))
        expectRefusal(.badManifest) { try place.publisher().plan("1", of: place.versions) }
        expectRefusal(.badManifest) { try place.publish("1") }
        try expect(place.published().isEmpty)
        try place.publish("2")
        try expect(place.read()?.version, equals: "2")
    }

    @Test func `to write through a link in the place of a directory of objects`() throws {
        let place = try PublishingPlace(offering: "1")
        let before = try place.published()["channels/stable.json"]
        let shard = URL(filePath: try place.objectPath("<h1>two</h1>")).deletingLastPathComponent()
        let outside = place.store.directory.appending("outside")
        let files = FileManager.default
        try Damage.makeDirectory(outside)
        // Another object may share the directory.
        try? files.removeItem(at: shard)
        try files.createSymbolicLink(atPath: shard.path, withDestinationPath: outside)
        expectRefusal(.io) { try place.publish("2") }
        expect(Damage.names(outside).isEmpty)
        try expect(place.published()["channels/stable.json"], equals: before)
    }

    @Test(arguments: places)
    func `another content under a name that some channel offers`(_ kind: OriginPlace) throws {
        let place = try PublishingPlace(kind)
        try place.publish("1", to: "beta")
        let other = try TemporaryStore(adding: "1", ["index.html": "other"])
        expectRefusal(.versionExists) { try place.publisher().publish("1", of: other.versions) }
        let same = try TemporaryStore(adding: "1", PublishingPlace.first)
        expect(code { try place.publisher().publish("1", of: same.versions) } == nil)
    }

    @Test func `a store, a directory with objects of somebody else's, a file`() throws {
        let place = try PublishingPlace()
        let store = Publisher(place.store.path)
        expectRefusal(.insideStore) { try store.publish("1", of: place.versions) }
        expectRefusal(.insideStore) { try store.plan("1", of: place.versions) }
        expect(!Damage.names(place.store.path).contains { $0.hasPrefix(".publish") })
        try writeTree(place.origin, ["objects/mine": "mine"])
        expectRefusal(.badOrigin) { try place.publish("1") }
        expect(Damage.names(place.origin), equals: ["objects", "objects/mine"])
        let file = place.store.directory.appending("file")
        try Damage.overwriteOrCreate(file, with: [])
        expectRefusal(.io) { try Publisher(file).publish("1", of: place.versions) }
    }

    @Test(
        "to begin a log where a pointer is of a newer format or cannot be read, in any channel",
        arguments: [
            (#"{"castreeChannel":2,"x":1}"#, .unsupportedFormat),
            (#"{"castreeChannel":1,"#, .badPointer),
        ] as [(String, StoreError.Code)], ["stable", "beta"])
    func unreadable(_ pointer: (text: String, code: StoreError.Code), _ channel: String) throws {
        let place = try PublishingPlace()
        try place.publish("1", to: channel)
        try place.forgetLog()
        try place.set("channels/\(channel).json", Array(pointer.text.utf8))
        expect(code { try place.publish("2") }, equals: pointer.code)
        expect(code { try place.publisher().collect() }, equals: pointer.code)
    }

    @Test(
        "an origin of a newer castree, and what is none, and leaves it as it is",
        arguments: places)
    func newerOrigin(_ kind: OriginPlace) throws {
        let place = try PublishingPlace(kind)
        for (marker, wanted) in [
            ("{\"castreeOrigin\":3}\n", StoreError.Code.unsupportedFormat), ("hello", .badOrigin),
        ] {
            try place.restore(["origin.json": Array(marker.utf8)])
            expect(code { try place.publish("1") }, equals: wanted)
            try expect(place.published().keys.sorted(), equals: ["origin.json"])
        }
    }

    // docs/origin-format.md, "Later formats": a newer castree says so in the log.
    @Test(arguments: places)
    func `nothing where copies of what the log says are of a newer format: it mends them`(
        _ kind: OriginPlace
    ) throws {
        let verbs: [(PublishingPlace) throws -> Void] = [
            { try $0.publish("2") },
            { _ = try $0.publisher().withdraw(VersionName("2")) },
            { _ = try $0.publisher().collect() },
            { place in
                let mender = OriginMender([place.versions])
                if kind == .directory {
                    _ = try place.directoryFindings(repairingFrom: mender)
                } else {
                    _ = try OriginAudit(place.storage(), repairingFrom: mender).run()
                }
            },
        ]
        let copies = ["origin.json": "castreeOrigin", "channels/stable.json": "castreeChannel"]
        for changed in [Array(copies.keys), ["origin.json"], ["channels/stable.json"]] {
            let place = try PublishingPlace(kind, offering: "1")
            for verb in verbs {
                let before = try place.published()
                for name in changed {
                    let text = String(decoding: try require(before[name]), as: UTF8.self)
                    try place.set(
                        name,
                        Array(
                            text.replacing(
                                "\(copies[name] ?? "")\":1", with: "\(copies[name] ?? "")\":9"
                            ).utf8))
                }
                try verb(place)
            }
            for name in changed {
                let bytes = try require(place.published()[name])
                expect(!String(decoding: bytes, as: UTF8.self).contains("\":9"), "\(name)")
            }
        }
    }

    @Test func `to begin where the disk has no space, and says how much is needed`() throws {
        let place = try PublishingPlace()
        let disk = FullFileSystem()
        expectRefusal(.outOfSpace, saying: " are needed") {
            try place.publisher(on: disk).publish("2", of: place.versions)
        }
        try expect(DirectoryOrigin(place.origin).pointer(.stable) == nil)
        try expect(place.published().keys.sorted(), equals: ["log/0000000001.json", "origin.json"])
    }

    @Test(arguments: places)
    func `to continue when it is asked to stop; the next one continues`(_ kind: OriginPlace) throws
    {
        let place = try PublishingPlace(kind, offering: "1")
        let stopped = place.publisher { $0.isInterrupted = { true } }
        expectRefusal(.interrupted) { try stopped.publish("2", of: place.versions) }
        try expect(place.read()?.version, equals: "1")
        try place.publish("2")
        try expect(place.read()?.files, equals: PublishingPlace.second)
    }

    @Test(arguments: places)
    func `to continue when its task is cancelled; the next one continues`(
        _ kind: OriginPlace
    ) async throws {
        let place = try PublishingPlace(kind, offering: "1")
        let outcome = await cancelled { () throws(StoreError) in
            _ = try place.publisher().publish("2", of: place.versions)
        }
        #expect { try outcome.get() } throws: { .interrupted ~= $0 }
        try expect(place.read()?.version, equals: "1")
        try place.publish("2")
        try expect(place.read()?.files, equals: PublishingPlace.second)
    }
}
