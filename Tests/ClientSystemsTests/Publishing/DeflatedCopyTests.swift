import BucketTestSupport
import HotPush
import Origin

@testable import ClientSystems

@Suite("Deflated copies") struct DeflatedCopyTests {
    let place: AnnouncingPlace

    init() throws { place = try AnnouncingPlace() }

    @Test(
        "are kept until no pointer has named their facts for the grace, with the documents that histories name"
    )
    func collecting() throws {
        try place.publish("1")
        try place.enable(.codePush, .expo)
        try place.publish("2")
        try place.publish("3")
        try writeTree(place.origin, ["for/expo/documents/left": "by a killed publisher"])
        let retention = OriginRetention(releaseCount: 1, graceSeconds: 3600)
        let all = try place.published().keys.filter { $0.hasPrefix("deflated/") }.count
        for _ in 0..<3 { _ = try place.publisher().collect(retention) }
        try expect(place.published().keys.filter { $0.hasPrefix("deflated/") }.count, equals: all)
        _ = try place.publisher().collect(OriginRetention(releaseCount: 1, graceSeconds: 0))
        try expect(place.channel(.codePush).live.count, equals: 1)
        try expect(place.channel(.expo).live.count, equals: 1)
        try expect(place.history(.codePush).offers.count, equals: 3)
        let left = try place.published().keys
        expect(left.filter { $0.hasPrefix("deflated/") }.count, equals: 1)
        expect(left.filter { $0.hasPrefix("facts/") }.count, equals: 1)
        let usage = try OriginUsage(ofDirectory: place.origin)
        expect(usage[.deflated].count == 1 && usage[.facts].count == 1)
        // Gone, it is made again when it is wanted.
        try place.publish("2")
        try expect(place.channel(.codePush).live[0].offer.version?.name.description, equals: "2")
    }

    @Test func `and documents are deleted in the origin alone, never where a link leads`() throws {
        try place.publish("1")
        try place.enable(.codePush, .expo)
        let outside = place.store.directory.appending("outside")
        try writeTree(
            outside, ["documents/letter": "precious", "expo/documents/letter": "precious"])
        for (link, target) in [("for/expo", "../../outside"), ("for", "../outside")] {
            try Damage.replace(place.origin + "/" + link, by: .symbolicLink(target))
            guard link == "for" else {
                _ = try place.publisher().collect()
                let notices = place.notices.all
                expect(notices.contains { $0.contains(link) && $0.contains("move it away") })
                continue
            }
            expectRefusal(saying: "the origin's directory for") { try place.publisher().collect() }
        }
        for file in ["/documents/letter", "/expo/documents/letter"] {
            expect(FileManager.default.fileExists(atPath: outside + file))
        }
    }

    @Test
    func `are made again by publish --verify, and by any publish if they are missing`() throws {
        try place.publish("1")
        try place.enable(.codePush)
        try place.publish("2")
        let files = try place.published()
        let deflatedCopies = files.keys.filter { $0.hasPrefix("deflated/") }
        expect(deflatedCopies.count, equals: 2)
        for deflatedCopy in deflatedCopies {
            try Damage.flip(place.origin + "/" + deflatedCopy, at: 3)
        }
        _ = try place.publisher(verifying: true).publish("2", of: place.versions)
        try expect(place.published(), equals: files)
        for path in files.keys where path.hasPrefix("deflated/") || path.hasPrefix("facts/") {
            Damage.remove(place.origin + "/" + path)
        }
        try place.publish("2")
        try place.publish("1")
        _ = try place.channel(.codePush)
        for facts in files.keys.filter({ $0.hasPrefix("facts/") }) {
            try Damage.overwriteOrCreate(place.origin + "/" + facts, with: [1])
        }
        // What cannot be read may name anything: nothing that it could name is deleted, and that is said.
        let existing = Set(try place.published().keys)
        _ = try place.publisher().collect(OriginRetention(releaseCount: 9, graceSeconds: 0))
        try expect(Set(place.published().keys).isSuperset(of: existing))
        expect(place.notices.all.contains { $0.contains("nothing of its kind is deleted") })
    }

    @Test(
        "wait for the pointers where facts that lead to some are damaged, and no prune is stopped")
    func damagedOnTheirWayOut() throws {
        try place.publish("1")
        let before = try place.published().keys
        try place.enable(.codePush)
        let old = Set(try place.published().keys).subtracting(before)
        try place.publish("3")
        let facts = try require(old.first { $0.hasPrefix("facts/") })
        let deflatedCopy = try require(old.first { $0.hasPrefix("deflated/") })
        let right = try Damage.contents(place.origin + "/" + facts)
        let damages = [[], [1], Array(right.dropLast()), right.map { $0 ^ 1 }]
        for (number, wrong) in damages.enumerated() {
            let place = place.withOrigin("copy \(number)")
            try FileManager.default.copyItem(atPath: self.place.origin, toPath: place.origin)
            try Damage.overwriteOrCreate(place.origin + "/" + facts, with: wrong)
            let retention = OriginRetention(releaseCount: 1, graceSeconds: 0)
            // Whoever reads the pointer that could not be replaced finds all that it leads to.
            let disk = FaultyFileSystem()
            disk.arm(.fail(EIO, at: 1, of: [.rename], path: "channels/"))
            expect(code { try place.publisher(on: disk).collect(retention) } != nil)
            expect(disk.hasFired)
            let kept = Set(try place.published().keys)
            expect(kept.isSuperset(of: [facts, deflatedCopy]))
            _ = try place.publisher().collect(retention)
            let left = Set(try place.published().keys)
            expect(left.isDisjoint(with: [facts, deflatedCopy]))
            // The release that stays has its own, whole.
            try expect(place.channel(.codePush).live.count, equals: 1)
        }
    }

    @Test
    func `are there when they are offered, also where somebody prunes in the middle`() throws {
        try place.publish("1")
        try place.enable(.codePush)
        try place.publish("2")
        _ = try place.publisher().withdraw(VersionName("2"))
        let disk = FaultyFileSystem()
        var other = place.publisher()
        other.options.waitLimit = .zero
        let pruner = other
        let refusal = Mutex<StoreError.Code?>(nil)
        disk.on(.before, .link, path: "/log/") {
            let found = code {
                try pruner.collect(OriginRetention(releaseCount: 9, graceSeconds: 0))
            }
            refusal.withLock { $0 = found }
        }
        try place.publisher(on: disk).publish("2", of: place.versions)
        // Nothing is deleted while somebody sends what is to be offered.
        expect(refusal.withLock { $0 }, equals: .busy)
        try expect(place.channel(.codePush).live.count, equals: 2)
    }

    @Test("are given up at once when somebody interrupts, and nothing is told or left of them")
    func interruption() throws {
        try place.publish("1")
        try place.enable(.codePush)
        let files = try place.announced()
        var publisher = place.publisher()
        let steps = Mutex<[PublishProgress]>([])
        publisher.options.progress = { step in steps.withLock { $0.append(step) } }
        publisher.options.isInterrupted = {
            steps.withLock { $0.contains { $0.step == .deflating } }
        }
        expect(code { try publisher.publish("2", of: place.versions) }, equals: .interrupted)
        try expect(place.announced(), equals: files)
        expect(!Damage.names(place.origin).contains { $0.hasPrefix(".publish/work-") })
        publisher.options.isInterrupted = { false }
        try publisher.publish("2", of: place.versions)
        let last = steps.withLock { $0.last { $0.step == .deflating } }
        expect(last.map { $0.bytes == $0.bytesTotal && $0.bytes > 0 }, equals: true)
    }

    @Test func `are made beside packs, and keep nobody from cleaning up after these`() throws {
        try place.publish("1")
        try place.enable(.codePush)
        var publisher = place.publisher()
        publisher.options.packs.timing = .before
        publisher.options.packs.keptReleaseCount = 1
        let frames = { () -> Set<String> in
            Set(Damage.names(place.origin).filter { $0.hasPrefix(".publish/frames/") })
        }
        try publisher.publish("2", of: place.versions)
        let before = frames()
        place.clock.advance(10)
        try publisher.publish("3", of: place.versions)
        expect(!before.isEmpty && !frames().isSuperset(of: before))
        let live = try place.channel(.codePush).live
        expect(
            live.count == 3 && live[0].release.delivery != nil && live[1].release.delivery == nil)
        expect(!Damage.names(place.origin).contains { $0.hasPrefix(".publish/work-") })
    }

    @Test func `of text take at most 0.35 of its bytes`() throws {
        var root = URL(filePath: #filePath)
        for _ in 0..<4 { root.deleteLastPathComponent() }
        let folder = root.appending(path: "Sources/Platform/FileSystem").path
        var files: [String: String] = [:]
        for name in try FileManager.default.contentsOfDirectory(atPath: folder) {
            files[name] = try String(contentsOfFile: folder + "/" + name, encoding: .utf8)
        }
        try place.store.add("text", files)
        try place.publish("1")
        try place.enable(.codePush)
        let plan = try place.publish("text")
        let raw = files.values.reduce(0) { $0 + $1.utf8.count }
        let deflatedCopies = try require(plan.facts).deflatedCopies
        expect(raw > 50_000 && Double(deflatedCopies.byteCount) <= 0.35 * Double(raw))
        expect(deflatedCopies.count, equals: files.count)
    }
}
