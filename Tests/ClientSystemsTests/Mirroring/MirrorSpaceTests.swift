import BucketTestSupport

@testable import ClientSystems
@testable import HotPush
@testable import Origin

/// docs/clients.md, "From a bucket": what strangers can cause, and what a cache takes on its disk.
@Suite struct MirrorSpaceTests {
    private let place: BucketPlace

    init() throws { place = try BucketPlace() }

    private func has(_ path: String) -> Bool {
        FileManager.default.fileExists(atPath: place.directory.appending("cache/\(path)"))
    }

    @Test
    func `strangers keep no device from what a channel offers that no other system gets`() throws {
        try place.publish("1", ["a": "one"])
        let stable = place.pointer
        try place.publish("2", ["a": "one", "b": "two"], epoch: 3)
        var pointer = place.pointer
        pointer.channel = try ChannelName("beta")
        place.store.set(
            "channels.json", Array("{\"channels\":[\"beta\",\"stable\"]}\n".utf8))
        place.store.set(OriginLayout.pointer(pointer.channel), pointer.serialized(), .pointer)
        place.store.set(BucketPlace.pointerKey, stable.serialized(), .pointer)
        let fates = Fates()
        let (mirror, _) = try place.mirror(place.bucket { fates.meet($0) })
        mirror.watch(pointer.channel)
        let offered = try require(pointer.releases.first?.version)
        for name in [
            OriginKey(.manifest, offered.manifest),
            OriginKey(.places, try require(offered.places)),
        ] { try mirror.bring(.file(PlacedFile(name, in: offered.epoch))) }
        for number in 0..<2 * NegativeCache.strayCountMax {
            let address = try address(of: Array("nobody's \(number)".utf8))
            try? mirror.bring(.file(PlacedFile(OriginKey(.object, address), in: 3)))
        }
        let before = fates.keys.count
        let object = OriginKey(.object, try address(of: Array("two".utf8)))
        // Where it is asked for, strangers say; where it stands, the release does.
        try mirror.bring(.file(PlacedFile(object, in: 9)))
        expect(has(object.path(in: 0)))
        expect(fates.keys.dropFirst(before), equals: [object.path(in: 3)])
        let unknown = try address(of: Array("nobody's".utf8))
        expectRefusal { try mirror.bring(.file(PlacedFile(OriginKey(.object, unknown), in: 3))) }
    }

    @Test func `what was missing is looked for again as soon as a release lists it`() throws {
        try place.publish("1", ["a": "one"])
        let (mirror, _) = try place.mirror(place.bucket())
        let object = OriginKey(.object, try address(of: Array("two".utf8)))
        let asked = try require(ServedFile(object.path(in: 2)))
        try mirror.bring(.file(PlacedFile(object, in: 2)))
        expect(mirror.lack(asked) == nil)
        try place.publish("2", ["a": "two"], epoch: 2)
        mirror.look()
        expect(mirror.lack(asked), equals: .file(PlacedFile(object, in: 2)))
    }

    @Test func `a file of a release that is refused for a moment is not said to be missing`() throws
    {
        try place.publish("1", ["a": "one"])
        let fates = Fates()
        let (mirror, answers) = try place.mirror(place.bucket { fates.meet($0) })
        let name = try require(BucketPlace.archive(answers).files.first?.name)
        let asked = try require(ServedFile(name.path(in: 0)))
        fates.set(.denied, of: name.path(in: 0))
        expectRefusal(.accessDenied) { try mirror.bring(.file(PlacedFile(name, in: 0))) }
        expect(mirror.lack(asked) != nil)
        fates.set(nil, of: name.path(in: 0))
        try mirror.bring(.file(PlacedFile(name, in: 0)))
        expect(has(name.path(in: 0)) && mirror.lack(asked) == nil)
    }

    @Test func `files that change count, and go when nobody asks for them any more`() throws {
        try place.publish("1", ["a": "one"])
        let (mirror, answers) = try place.mirror(place.bucket(), byteCount: 200 << 10)
        let files = try BucketPlace.archive(answers).files
        do { _ = try mirror.bring(files) }
        expect(files.allSatisfy { has($0.name.path(in: 0)) } && has(BucketPlace.historyKey))
        // A configuration of nearly that size.
        var deployments: [String: ChannelName] = ["KEY": .stable]
        for number in 0..<900 {
            deployments["\(number)" + String(repeating: "k", count: 230)] = .stable
        }
        place.take(try place.configure(deployments, baseURL: "https://u.example.org"))
        mirror.look()
        expect(files.allSatisfy { !has($0.name.path(in: 0)) })
        let release = try require(place.pointer.releases.first)
        // What answers depend on stays.
        try expect(has(OriginLayout.path(.facts, require(release.facts).address)))
        try expect(answers.text("/model/KEY/check").contains("1"))
        // The channel is announced to nobody any more: its history goes, and its pointer while the origin lists it
        // stays.
        place.take(try place.configure([:], baseURL: "https://u.example.org"))
        mirror.look()
        expect(!has(BucketPlace.historyKey) && has(BucketPlace.pointerKey))
        try place.publish("2", ["a": "two"])
        mirror.look()
        try expect(mirror.cache.kept(.pointer(of: .stable)), equals: place.pointer.serialized())
        place.store.set("channels.json", Array("{\"channels\":[]}\n".utf8), .pointer)
        mirror.look()
        expect(!has(BucketPlace.pointerKey))
    }

    @Test func `a full disk frees space, and its message speaks of the cache`() throws {
        try place.publish("1", ["a": "one"])
        let disk = FaultyFileSystem()
        let notices = Notices()
        let (mirror, answers) = try place.mirror(place.bucket(), notices: notices, on: disk)
        let files = try BucketPlace.archive(answers).files
        // Once full, it frees space; if that is not enough, it says so.
        try place.publish("2", ["a": "two"], epoch: 2)
        disk.arm(.fail(ENOSPC, at: 4, of: [.write], path: "/.mirror/put-"))
        mirror.look()
        expect(disk.hasFired)
        try expect(answers.text("/model/KEY/check").contains("\"2\", \"1\""))
        disk.arm(.fail(ENOSPC, at: 1, of: [.write], path: "/.mirror/put-"))
        _ = try mirror.bring(files)
        expect(disk.hasFired)
        // However many files find no space, that is one sentence.
        let told = Set(
            ["one", "two"].map { name in
                let error = StoreError(systemCall: "write", errno: ENOSPC, path: "/c/\(name)")
                return MirrorDirectory.advised(error, "/c").message
            })
        expect(told.count == 1 && told.first?.contains("/c/.mirror: ") == true, "\(told)")
        disk.arm(.refuseChanges)
        try place.publish("3", ["a": "three"], epoch: 2)
        mirror.look()
        let error = #expect(throws: StoreError.self) {
            try mirror.bring(BucketPlace.archive(answers).files)
        }
        let said = notices.all.joined() + (error?.message ?? "")
        expect(said.contains("--cache") && !said.contains("reading still works"), "\(said)")
        let full = StoreError(systemCall: "write", errno: ENOSPC, path: "here")
        expect(
            full.advising("do that").message,
            equals: "unable to write here: No space left on device; do that")
        expect(full.advising("do that").code, equals: .outOfSpace)
        expect(StoreError(.mismatch, "as it is").advising("do that").message, equals: "as it is")
    }
}
