import OriginTestSupport

/// A full disk is when collecting is needed most.
@Suite("Collecting an origin on a full disk") struct FullOriginTests {
    let place: PublishingPlace

    init() throws {
        place = try PublishingPlace()
        for number in 10..<14 {
            try place.store.add("\(number)", ["shared": "same", "own": "content \(number)"])
            try place.publish("\(number)")
        }
    }

    /// A disk without a free block, until a file is removed that frees it.
    private func stuffed(frees: @escaping @Sendable (String) -> Bool) -> FaultyFileSystem {
        let isFull = Mutex(true)
        let disk = FaultyFileSystem { operation in
            let isRefused =
                operation.allocates && operation.access == nil && isFull.withLock { $0 }
            return isRefused ? operation.error(ENOSPC) : nil
        }
        disk.onEach { timing, operation in
            guard timing == .after, operation.verb == .remove, frees(operation.path) else { return }
            isFull.withLock { $0 = false }
        }
        return disk
    }

    private func release(_ version: String) throws {
        let content = try place.read()
        expect(content?.version, equals: version)
        expect(content?.files["shared"], equals: "same")
    }

    @Test
    func `and taking back use the reserve, which the next publisher sets aside again`() throws {
        let reserve = place.origin + "/.publish/reserve"
        let none = OriginRetention(releaseCount: 2, graceSeconds: 3600)
        let verbs: [(Publisher) throws -> Void] = [
            { _ = try $0.withdraw(try VersionName("13")) }, { _ = try $0.collect(none) },
        ]
        for (verb, version) in zip(verbs, ["12", "12"]) {
            expect(FileManager.default.fileExists(atPath: reserve))
            try verb(place.publisher(on: stuffed(frees: { $0.hasSuffix(".publish/reserve") })))
            expect(!FileManager.default.fileExists(atPath: reserve))
            try release(version)
            try place.publish(version)
        }
    }

    @Test func `is what a withdrawal advises that finds no space`() throws {
        let disk = stuffed(frees: { _ in false })
        let error = expectRefusal(.outOfSpace, saying: "castree prune") {
            try place.publisher(on: disk).withdraw(try VersionName("13"))
        }
        expect(error?.message.contains("castree gc"), equals: false)
        try release("13")
    }

    @Test(
        "is what packing advises that finds no space, and collecting itself says that it needs some"
    )
    func advice() throws {
        let verbs: [(Publisher) throws -> Void] = [
            { _ = try $0.pack("13", of: place.versions) },
            { _ = try $0.collect(OriginRetention(releaseCount: 1, graceSeconds: 3600)) },
        ]
        for verb in verbs {
            let disk = stuffed(frees: { _ in false })
            let error = expectRefusal(.outOfSpace) { try verb(place.publisher(on: disk)) }
            expect(error?.message.contains("castree gc"), equals: false, "\(error?.message ?? "")")
            expect(error?.message.contains(place.origin), equals: true, "\(error?.message ?? "")")
        }
        let notices = Notices()
        let disk = FaultyFileSystem()
        disk.arm(.fail(ENOSPC, at: 5, of: [.write]))
        try place.store.add("14", ["own": String(repeating: "content 14", count: 1000)])
        try place.publisher(on: disk, packs: .before) { $0.notice = notices.sink }.publish(
            "14", of: place.versions)
        let said = notices.all.filter { $0.contains("no packs are made") }
        expect(said.count == 1 && !said[0].contains("castree gc"), "\(said)")
    }

    @Test("keeps what a release needs that is offered still, also if its manifest is damaged")
    func damagedTrimmed() throws {
        let first = try require(try DirectoryOrigin(place.origin).pointer(.stable))
        let oldest = try require(first.releases.last?.version)
        let path = place.origin + "/" + OriginLayout.path(.manifest, oldest.manifest)
        try Damage.overwriteOrCreate(path, with: [1])
        let disk = stuffed(frees: { _ in false })
        let none = OriginRetention(releaseCount: 1, graceSeconds: 0)
        expectRefusal(.damagedOrigin) { try place.publisher(on: disk).collect(none) }
        for number in 10..<14 {
            let path = try place.objectPath("content \(number)")
            expect(FileManager.default.fileExists(atPath: path))
        }
    }
}
