import BucketTestSupport

@testable import ClientSystems
@testable import HotPush
@testable import Origin

/// docs/clients.md, "From a bucket": what never changes, and the directory that keeps it.
@Suite struct MirrorFileTests {
    private let place: BucketPlace

    init() throws { place = try BucketPlace() }

    private func file(_ name: OriginKey) -> URL {
        URL(filePath: place.directory.appending("cache/" + name.path(in: 0)))
    }

    @Test func `bytes that are not what their name says, or do not come, are never kept`() throws {
        try place.publish("1", ["a": "one"])
        let address = try address(of: Array("one".utf8))
        let piece: AnswerBody.File = (OriginKey(.object, address), 3)
        let right = Array("one".utf8)
        let faults: [(String, [UInt8]?)] = [
            ("other bytes", Array("two".utf8)), ("cut", Array("on".utf8)), ("none", []),
            ("longer", Array("one and more".utf8)),
            ("endless", Array(repeating: 1, count: 1 << 20)), ("missing", nil),
        ]
        let (mirror, _) = try place.mirror(place.bucket())
        for (fault, bytes) in faults {
            place.store.set(OriginLayout.path(.object, address), bytes)
            expectRefusal(.missingFromBucket, "\(fault)") {
                try mirror.bring([piece])
            }
            expect(!FileManager.default.fileExists(atPath: file(piece.name).path), "\(fault)")
        }
        let coming = Damage.names(place.directory.appending("cache/.mirror"))
        expect(coming.allSatisfy { !$0.hasPrefix("put-") })
        place.store.set(OriginLayout.path(.object, address), right)
        _ = try mirror.bring([piece])
        try expect(Array(Data(contentsOf: file(piece.name))), equals: right)
        // What no release lists is asked for by its path alone, and remembered as missing.
        let stranger = try StorageTestSupport.address(of: Array("nobody's".utf8))
        let asked = try require(ServedFile(OriginLayout.path(.object, stranger)))
        guard case .file(let lacking) = mirror.lack(asked) else { throw StoreError(.mismatch, "") }
        try mirror.bring(.file(lacking))
        expect(mirror.lack(asked) == nil)
        expectRefusal(.missingFromBucket) {
            try mirror.bring([(OriginKey(.object, stranger), 8)])
        }
    }

    @Test func `a directory with the files of a bucket, in several epochs, answers as its mirror`()
        throws
    {
        try place.publish("1", ["a": "one", "b": "same"])
        try place.publish("2", ["a": "two", "b": "same"], epoch: 2)
        try place.publish("3", ["a": "three", "b": "same"], epoch: 10)
        let copy = try ServedPlace()
        for (key, file) in place.store.files { try copy.write(key, file.bytes) }
        // What is not castree's is passed over.
        try copy.write("e/11", [1])
        let origin = try copy.origin()
        let answers = OriginAnswers(OriginReader(origin), feeds: [ModelFeed.self])
        let (_, mirrored) = try place.mirror(place.bucket())
        try expect(BucketPlace.archive(answers).tag, equals: BucketPlace.archive(mirrored).tag)
        try expect(answers.text(ModelFeed.check), equals: mirrored.text(ModelFeed.check))
        for text in ["one", "two", "three", "same"] {
            let key = OriginKey(.object, try address(of: Array(text.utf8)))
            let bytes = try origin.first(of: [key]) { (key) throws(StoreError) in
                try origin.file(key.path, limit: 9)?.bytes
            }
            expect(bytes, equals: Array(text.utf8))
        }
    }

    @Test func `a file or a link that has the name of the epochs is passed over`() throws {
        let copy = try ServedPlace()
        let manifest = try address(of: [1])
        try copy.write("e", [1])
        try expect(copy.origin().manifestBytes(manifest) == nil)
        try copy.remove("e")
        try FileManager.default.createSymbolicLink(
            atPath: copy.directory.appending("e"), withDestinationPath: "channels")
        try expect(copy.origin().manifestBytes(manifest) == nil)
    }

    @Test func `what is larger than the cache, and of no size that is said, is not fetched`() throws
    {
        try place.publish("1", ["a": "one"])
        let (mirror, _) = try place.mirror(place.bucket(), byteCount: 64 << 10)
        for (byteCount, isTaken) in [(64 << 10, true), ((64 << 10) + 1, false)] {
            let bytes = [UInt8](repeating: 7, count: byteCount)
            let name = OriginKey(.object, try address(of: bytes))
            place.store.set(name.path(in: 0), bytes)
            let failure = refusal { try mirror.bringDocuments([PlacedFile(name)]) }
            expect(failure == nil, equals: isTaken)
            expect(failure?.message.contains("--cache-size") ?? isTaken)
        }
    }

    @Test func `a file that many ask for at once is fetched once`() throws {
        try place.publish("1", ["a": "one", "b": "two", "c": "three"], epoch: 2)
        let fates = Fates()
        let (mirror, answers) = try place.mirror(place.bucket { fates.meet($0) })
        let files = try BucketPlace.archive(answers).files
        expect(files.count, equals: 3)
        let names = files.map(\.name)
        let sizes = Dictionary(uniqueKeysWithValues: files.map { ($0.name, $0.byteCount) })
        try Parallel.run(workers: 8, count: 64, chunk: 1) { (work) throws(StoreError) in
            while let chunk = work.nextChunk() {
                for _ in chunk { _ = try mirror.bring(names.map { ($0, sizes[$0] ?? 0) }) }
            }
        }
        let asked = fates.keys
        expect(names.map { name in asked.count { $0 == name.path(in: 2) } }, equals: [1, 1, 1])
    }

    @Test func `an archive that is being sent is whole however small the cache is`() throws {
        try place.publish("1", ["a": "one", "b": "two"])
        let (mirror, answers) = try place.mirror(place.bucket(), byteCount: 4096)
        let first = try BucketPlace.archive(answers)
        var hold: CacheHold? = try mirror.bring(first.files)
        try place.publish("2", ["a": "three", "b": "four"], epoch: 2)
        mirror.look()
        let second = try BucketPlace.archive(answers)
        _ = try mirror.bring(second.files)
        expect(
            first.files.allSatisfy { FileManager.default.fileExists(atPath: file($0.name).path) })
        expect(mirror.hold(first) != nil)
        hold = nil
        expect(hold == nil)
        _ = try mirror.bring(second.files)
        try place.publish("3", ["a": "five"], epoch: 2)
        mirror.look()
        _ = try mirror.bring(BucketPlace.archive(answers).files)
        expect(mirror.hold(first) == nil)
        // What answers depend on stays.
        try expect(answers.text("/model/KEY/check").contains("\"3\", \"2\", \"1\""))
    }

    @Test
    func `an archive sent again is not looked through again, until one of its files goes`() throws {
        try place.publish("1", ["a": "one", "b": "two"])
        let (mirror, answers) = try place.mirror(place.bucket())
        let body = try BucketPlace.archive(answers)
        _ = try mirror.bring(body.files)
        weak let idle = mirror.hold(body)
        expect(idle != nil && mirror.hold(body) === idle)
        // What comes may need the space: nobody sends this archive.
        try place.publish("2", ["a": "three"], epoch: 2)
        mirror.look()
        _ = try mirror.bring(BucketPlace.archive(answers).files)
        expect(idle == nil)
        // A damaged file is missed at once, also while others send the archive.
        let sent = try require(mirror.hold(body))
        try mirror.drop(body.files[0].name)
        expect(mirror.hold(body) == nil)
        _ = try mirror.bring(body.files)
        let anew = try require(mirror.hold(body))
        expect(anew !== sent)
    }

    @Test
    func `a warm cache asks at the start for nothing but what may have changed, and gets no bytes`()
        throws
    {
        try place.publish("1", ["a": "one"], epoch: 1)
        let files: [AnswerBody.File]
        do {
            let (mirror, answers) = try place.mirror(place.bucket())
            files = try BucketPlace.archive(answers).files
            _ = try mirror.bring(files)
        }
        // As a kill between writing and naming leaves it.
        let torn = place.directory.appending("cache/.mirror/put-0123456789abcdef")
        try Data("half".utf8).write(to: URL(filePath: torn))
        let fates = Fates()
        let bucket = place.bucket { fates.meet($0) }
        let (mirror, answers) = try place.mirror(bucket)
        let body = try BucketPlace.archive(answers)
        expect(!FileManager.default.fileExists(atPath: torn))
        let mutable = Set(
            ["origin.json", "channels.json", BucketPlace.pointerKey, BucketPlace.historyKey]
                + ClientSystem.allCases.map { OriginLayout.clientConfiguration(of: $0.rawValue) })
        expect(fates.keys.sorted(), equals: mutable.sorted())
        expect(bucket.figures.receivedByteCount, equals: 0)
        // Nobody has compared the pieces yet: who asks for them first does.
        expect(mirror.hold(body) == nil && files.allSatisfy { !mirror.cache.has($0.name.path) })
        _ = try mirror.bring(files)
        expect(mirror.hold(body) != nil)
        expect(fates.keys.count, equals: mutable.count)
    }

    @Test func `what is damaged in the cache is fetched anew`() throws {
        try place.publish("1", ["a": "one"], epoch: 1)
        let version = try require(place.pointer.releases.first?.version)
        let object = OriginKey(.object, try address(of: Array("one".utf8)))
        do { _ = try place.mirror(place.bucket()).mirror.bring([(object, 3)]) }
        let manifest = OriginKey(.manifest, version.manifest)
        let pointer = URL(filePath: place.directory.appending("cache/" + BucketPlace.pointerKey))
        for damaged in [file(manifest), pointer, file(object)] {
            for bytes in [Data(), Data("{".utf8), Data("{\"a\":1}".utf8)] {
                try bytes.write(to: damaged)
                let (mirror, answers) = try place.mirror(place.bucket())
                try expect(answers.text(ModelFeed.check), equals: ModelFeed.told("1", of: 1))
                _ = try mirror.bring(BucketPlace.archive(answers).files)
                try expect(Array(Data(contentsOf: file(object))), equals: Array("one".utf8))
            }
        }
    }

    @Test
    func `a server that ends at any moment leaves only files that are right, or not believed`()
        throws
    {
        try place.publish("1", ["a": "one", "b": "two"], epoch: 1)
        let pieces = try ["one", "two"].map { text -> AnswerBody.File in
            let bytes = Array(text.utf8)
            return (OriginKey(.object, try address(of: bytes)), 3)
        }
        var number = 0
        var isOver = false
        while !isOver {
            number += 1
            let disk = FaultyFileSystem()
            disk.arm(.stop(after: number))
            do {
                let (mirror, _) = try place.mirror(place.bucket(), at: "\(number)", on: disk)
                _ = try mirror.bring(pieces)
            } catch { expect(disk.hasFired, "\(number): \(error)") }
            isOver = !disk.hasFired
            let (mirror, answers) = try place.mirror(place.bucket(), at: "\(number)")
            try expect(answers.text(ModelFeed.check), equals: ModelFeed.told("1", of: 1))
            _ = try mirror.bring(BucketPlace.archive(answers).files)
            for (path, bytes) in try Damage.files(
                below: place.directory.appending("\(number)"), without: ".mirror/")
            {
                guard let name = OriginKey(path: path)?.name else { continue }
                try expect(address(of: bytes), equals: name.address, "\(number) \(path)")
            }
            let left = Damage.names(place.directory.appending("\(number)/.mirror"))
            expect(left.allSatisfy { !$0.hasPrefix("put-") }, "\(number): \(left)")
        }
        expect(number > 40)
    }

    @Test func `a directory that is no cache of this origin, or in use, is refused`() throws {
        try place.publish("1", ["a": "one"])
        let (mirror, _) = try place.mirror(place.bucket())
        func refusal(_ name: String) -> StoreError.Code? {
            let path = place.directory.appending(name)
            return code { try OriginMirror(place.bucket(), at: path, CachedStorage.Options()) }
        }
        expect(refusal("cache"), equals: .busy)
        withExtendedLifetime(mirror) {}
        try writeTree(
            place.directory.path,
            [
                "full/mine": "x", "file/x": "x",
                "other/.mirror/cache.json": #"{"castreeMirror":1,"of":"s3://other/one"}"#,
                "newer/.mirror/cache.json": #"{"castreeMirror":2,"of":"s3://model/origin"}"#,
            ])
        expect(refusal("full"), equals: .foreignCache)
        expect(Damage.names(place.directory.appending("full")), equals: ["mine"])
        expect(refusal("other"), equals: .foreignCache)
        expect(refusal("newer"), equals: .unsupportedFormat)
        expect(refusal("file/x") != nil)
        expect(refusal("no/such/parent"), equals: .notFound)
        // What stands in place of a folder is not followed, and the message says what to do.
        do { _ = try place.mirror(place.bucket(), at: "linked") }
        let objects = place.directory.appending("linked/objects")
        try Damage.replace(objects, by: .symbolicLink("/"))
        expectRefusal(saying: "delete") { try place.mirror(place.bucket(), at: "linked") }
        // A disk of its own is empty but for this.
        try Damage.makeDirectory(place.directory.appending("disk/lost+found"))
        #expect(throws: Never.self) { try place.mirror(place.bucket(), at: "disk") }
        // Nobody publishes into a cache.
        let publisher = Publisher(place.directory.appending("disk"))
        expectRefusal(.offeredElsewhere) { try publisher.withdraw(VersionName("1")) }
    }
}
