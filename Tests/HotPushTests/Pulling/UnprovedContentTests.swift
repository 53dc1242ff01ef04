import StorageTestSupport

@testable import HotPush

/// Content of which an address alone does not prove all that its release says, in the middle of whatever
/// may happen.
@Suite("Content that its address does not prove") struct UnprovedContentTests {
    let fixture: PullingFixture

    init() throws { fixture = try PullingFixture() }

    private func options(_ files: [ReleaseFile], refusing refused: Set<String> = []) -> PullOptions
    {
        var format = KnownFormat()
        (format.files, format.refused) = (files, refused)
        return PullingFixture.options.with { $0.reader = format }
    }

    @discardableResult
    private func run(_ files: ReleaseFile..., refusing: Set<String> = []) throws -> PullReport {
        try fixture.run(options(files, refusing: refusing), parallel: 1)
    }

    private func failure(
        _ files: ReleaseFile..., refusing: Set<String> = []
    ) throws -> StoreError.Code {
        let options = options(files, refusing: refusing)
        return try #require(throws: StoreError.self) {
            try fixture.run(options, parallel: 1)
        }.code
    }

    private func state(_ version: String) throws -> VersionState? {
        try fixture.device.reopened().versions().first { $0.version == version }?.state
    }

    @Test
    func `has no size that anybody tells, and comes from somewhere else in the meantime`() throws {
        fixture.offer("1", ["/b": Content("run(2)")])
        let files = [try labelled("a", address: "run(1)"), try labelled("b", address: "run(2)")]
        try expect(failure(files[0], files[1]), equals: .notFound)
        try fixture.device.reopened().addText("other", "run(1)")
        try run(files[0], files[1])
        try expect(fixture.tree("1"), equals: ["a": "run(1)", "b": "run(2)"])
        try fixture.expectClean()
    }

    @Test("has no size that anybody tells, and comes from somewhere else while it is fetched")
    func meanwhile() throws {
        fixture.offer("1", ["/a": Content("run(1)"), "/b": Content("run(2)")])
        let path = fixture.device.path
        fixture.origin.before("/b") { _ in
            _ = code {
                try VersionStore.open(path, options: StoreOptions(isDurable: false))
                    .addText("other", "run(1)", "run(2)")
            }
        }
        try run(labelled("b", address: "run(2)"), labelled("a", address: "run(1)"))
        try expect(fixture.tree("1"), equals: ["a": "run(1)", "b": "run(2)"])
        try fixture.expectClean()
    }

    @Test
    func `completes no version by coming from somewhere else while a label is against it`() throws {
        fixture.offer("1", ["/a": Content("run(1)")])
        let wrong = try labelled("a", address: "run(1)", label(.sha1, "run(2)"))
        try expect(failure(wrong), equals: .mismatch)
        try fixture.device.reopened().addText("other", "run(1)")
        try expect(state("1"), equals: .incomplete)
        try expect(failure(wrong), equals: .badRelease)
        // Its publisher corrects it under the same name.
        let right = try labelled("a", address: "run(1)", label(.sha1, "run(1)"))
        try run(right)
        let manifest = try fixture.device.reopened().manifest(of: "1")
        expect(manifest[0].labels, equals: [try label(.sha1, "run(1)")])
        try fixture.expectClean()
    }

    @Test func `is held against a corrected label, and the wrong one is forgotten`() throws {
        fixture.offer("1", ["/a": Content("run(1)")])
        try expect(
            failure(labelled("a", address: "run(1)", label(.sha1, "run(2)"))), equals: .mismatch)
        let right = try labelled("a", address: "run(1)", label(.sha1, "run(1)"))
        try run(right)
        let manifest = try fixture.device.reopened().manifest(of: "1")
        expect(manifest[0].labels, equals: [try label(.sha1, "run(1)")])
        fixture.origin.forgetRequests()
        try expect(run(right).isUnchanged)
        expect(fixture.asked.isEmpty)
    }

    @Test func `is held against its labels also if it comes between plan and download`() throws {
        fixture.offer("1", ["/a": Content("run(1)")])
        let wrong = try labelled("a", address: "run(1)", label(.sha1, "run(2)"))
        let pull = try fixture.pull(options([wrong]), parallel: 1)
        let found = try pull.release(at: fixture.origin.url)
        let plan = try pull.plan(found)
        try fixture.device.reopened().addText("other", "run(1)")
        expectRefusal(.mismatch) { try pull.fetch(plan, of: found) }
        try expect(state("1"), equals: .incomplete)
    }

    @Test(arguments: [true, false])
    func `is looked at by its format, wherever it comes from`(isHere: Bool) throws {
        if isHere { try fixture.device.reopened().addText("other", "run(1)") }
        fixture.offer("1", ["/a": Content("run(1)")])
        var file = try labelled("a", address: "run(1)")
        file.byteCount = 6
        file.needsInspection = true
        try expect(failure(file, refusing: ["run(1)"]), equals: .badRelease)
        try expect([nil, .incomplete].contains(state("1")))
        try run(file)
        try expect(fixture.tree("1"), equals: ["a": "run(1)"])
    }

    @Test func `is another version's of the same name, as its digest says`() throws {
        try fixture.device.reopened().addText("1", "run(1)")
        fixture.offer("1", ["/0": Content("run(2)")])
        try expect(failure(labelled("0", label(.sha256, "run(2)"))), equals: .versionExists)
    }

    @Test("is not taken for a label that only its publisher can compute, on a stranger's word")
    func stranger() throws {
        let name = String(repeating: "ab", count: 20)
        var entry = Manifest.Entry(
            path: try TreePath("x"), address: try address(of: "evil()"), byteCount: 6)
        entry.foreign = [.init(key: "hash", value: .string(name))]
        let versions = try fixture.device.reopened()
        try versions.addText("filling", "evil()")
        var manifest = try Manifest(
            version: VersionName("other"), ordinal: 1, createdAt: 0, entries: [entry],
            foreign: [])
        manifest.received = Manifest.Received(
            format: "castree/1", address: try address(of: "evil()"), byteCount: 6)
        try versions.register(manifest)
        fixture.offer("1", ["/a": Content("run(1)")])
        var file = ReleaseFile(path: try TreePath("a"))
        file.checks = [.meteorLabel(name)]
        try run(file)
        expect(fixture.asked, equals: ["/a"])
        try expect(fixture.tree("1"), equals: ["a": "run(1)"])
    }

    @Test func `is not read where nothing that its release says could prove it`() throws {
        try fixture.device.reopened().addText("other", "run(1)")
        let asked = Mutex(0)
        var file = ReleaseFile(path: try TreePath("a"), byteCount: 6)
        for checks in [[], [ContentCheck.digest(try label(.crc32, "run(1)"))]] {
            file.checks = checks
            let versions = try fixture.device.reopened()
            let digests = StoredDigests(versions.store, for: [file]) {
                asked.withLock { $0 += 1 }
                return false
            }
            var known = try KnownContent(
                versions, for: [file], digests, from: .web("https://o.example"), family: "own")
            try expect(known.address(of: file) == nil)
        }
        expect(asked.withLock { $0 }, equals: 0)
    }

    @Test func `is fetched if what stands in its place cannot be read`() throws {
        try fixture.device.reopened().addText("other", "run(1)")
        let object = fixture.device.path + "/" + (try fixture.path(of: "run(1)").dropFirst())
        try Damage.replace(object, by: .directory)
        fixture.offer("1", ["/a": Content("run(2)")])
        var file = try labelled("a", label(.sha1, "run(2)"))
        file.byteCount = 6
        try run(file)
        try expect(fixture.tree("1"), equals: ["a": "run(2)"])
    }

    @Test func `that is collected before it has a name is asked for where it must be had`() throws {
        try fixture.device.reopened().addText("other", "run(1)")
        fixture.offer("1", ["/good": Content("run(1)")])
        var map = try labelled("app.js.map", address: "run(1)")
        map.byteCount = 6
        map.isOptional = true
        var app = try labelled("app.js", address: "run(1)")
        app.byteCount = 6
        app.sources = [ContentSource("good")]
        let pull = try fixture.pull(options([map, app]), parallel: 1)
        let found = try pull.release(at: fixture.origin.url)
        let plan = try pull.plan(found)
        expect(plan.contents.isEmpty)
        let versions = try fixture.device.reopened()
        try versions.retire("other")
        try versions.collect()
        try expect(pull.fetch(plan, of: found).figures.files, equals: 1)
        expect(fixture.asked, equals: ["/good"])
        try expect(state("1"), equals: .complete)
    }

    @Test
    func `that is lost after it came is asked for again, whatever the server has by now`() throws {
        fixture.offer("1", ["/a": Content("run(1)")])
        let files = try ["a", "b"].map { ReleaseFile(path: try TreePath($0)) }
        try expect(failure(files[0], files[1]), equals: .notFound)
        let object = fixture.device.path + "/" + (try fixture.path(of: "run(1)").dropFirst())
        try Damage.flip(object, at: 0)
        _ = try fixture.device.reopened().check(CheckOptions(isDeep: true), repairing: true)
        fixture.offer("1", ["/a": Content("run(3)"), "/b": Content("run(2)")])
        try run(files[0], files[1])
        try expect(fixture.tree("1"), equals: ["a": "run(3)", "b": "run(2)"])
        try fixture.expectClean()
    }

    @Test func `that another pull has brought keeps its name`() throws {
        fixture.offer("1", ["/a": Content("run(1)")])
        let files = try ["a", "b"].map { ReleaseFile(path: try TreePath($0)) }
        let late = try fixture.pull(options(files), parallel: 1)
        let found = try late.release(at: fixture.origin.url)
        let plan = try late.plan(found)
        try expect(failure(files[0], files[1]), equals: .notFound)
        fixture.offer("1", ["/b": Content("run(2)")])
        expect(code { _ = try late.fetch(plan, of: found) } == nil)
        expect(fixture.asked, equals: ["/b"])
        try fixture.device.reopened().collect()
        try expect(state("1"), equals: .complete)
        try fixture.expectClean()
    }

    @Test
    func `is whole, though servers send less than the rest and nobody tells the size`() throws {
        let long = String(repeating: "0123456789", count: 30_000)
        fixture.origin.replaceAll([
            "/version.txt": Content("1"), "/a": Content(long).tagged("\"one\""),
        ])
        fixture.origin.play(
            [.cut(after: 100_000), .less(thanAsked: 50_000), .less(thanAsked: 70_000)], on: "/a")
        try run(ReleaseFile(path: TreePath("a")))
        try expect(fixture.tree("1"), equals: ["a": long])
        fixture.origin.replaceAll([
            "/version.txt": Content("2"), "/a": Content(long).tagged("\"two\""),
        ])
        fixture.origin.play([.cut(after: 100_000), .total("*")], on: "/a")
        try run(ReleaseFile(path: TreePath("a")))
        try expect(fixture.tree("2"), equals: ["a": long])
    }

    @Test
    func `is fetched to the end by the next pull, at whatever call this one is killed`() throws {
        fixture.offer(
            "1", ["/a": Content("run(1)"), "/b": Content("run(2)"), "/c": Content("run(3)")])
        let files = [
            try labelled("a", address: "run(1)"),
            try labelled("b", address: "run(2)", label(.sha1, "run(2)")),
            try labelled("c", label(.md5, "run(3)")),
        ]
        let directory = TemporaryDirectory()
        let storeOptions = StoreOptions(isDurable: false, reservedByteCount: 1 << 20)
        let count = try TestShare(oneIn: 3).count { position in
            let path = directory.appending("store")
            defer { Damage.remove(path) }
            let disk = FaultyFileSystem()
            let transport = try PullingFixture.transport(parallel: 1)
            let versions = try VersionStore.create(
                at: path, options: storeOptions, fileSystem: disk)
            disk.arm(.stop(after: position))
            _ = code {
                try Pull(into: versions, over: transport, options(files)).run(fixture.origin.url)
            }
            let hasFired = disk.hasFired
            disk.disarm()
            let again = try VersionStore.open(path, options: storeOptions)
            // Content that is here by itself must not be in the way.
            try again.addText("other", "run(1)", "run(2)")
            _ = try Pull(into: again, over: transport, options(files)).run(fixture.origin.url)
            let tree = try readTree(path + "/versions/1")
            expect(tree, equals: ["a": "run(1)", "b": "run(2)", "c": "run(3)"], "\(position)")
            return hasFired
        }
        expect(count > 50)
    }
}

extension VersionStore {
    /// Adds a version of these texts, whose paths are their numbers.
    fileprivate func addText(_ name: String, _ texts: String...) throws {
        let source = TemporaryDirectory()
        var files: [String: String] = [:]
        for (position, text) in texts.enumerated() { files["\(position)"] = text }
        try writeTree(source.appending("files"), files)
        try add(directory: source.appending("files"), version: name)
    }
}
