import BucketTestSupport
import CASStore
import Expectations
import Foundation
import Platform
import Storage
import StorageTestSupport
import Synchronization
import Testing
import VersionTree

@testable import ClientSystems
@testable import HotPush

/// docs/clients.md, "From a bucket": what strangers can cause, and what a cache takes on its disk.
@Suite struct MirrorRoomTests {
    private let place: BucketPlace

    init() throws { place = try BucketPlace() }

    private func has(_ path: String) -> Bool {
        FileManager.default.fileExists(atPath: place.directory.appending("cache/\(path)"))
    }

    @Test func `what no release lists is asked for only so often, and what one lists always`()
        throws
    {
        try place.publish("1", ["a": "one", "b": "two"], epoch: 1)
        try place.publish("2", ["a": "three", "b": "two"], epoch: 3)
        let gets = Mutex<[String]>([])
        let (mirror, answers) = try place.mirror(
            place.bucket { request in
                gets.withLock { $0.append(request.key) }
                return .answered
            })
        let files = try BucketPlace.archive(answers).files
        gets.withLock { $0 = [] }
        var refused = 0
        for number in 0..<200 {
            let address = try ServedPlace.address(of: Array("nobody's \(number)".utf8))
            let asked = PlacedFile(PlacedFile.Name(.object, address), in: Int64(number % 5))
            do throws(StoreError) { try mirror.bringNow(asked) } catch {
                expect(error.code, equals: .tooLarge)
                refused += 1
            }
        }
        expect(gets.withLock { $0.count }, equals: MirrorAbsences.strayCountMax)
        expect(refused, equals: 200 - MirrorAbsences.strayCountMax)
        // Devices get what is offered, wherever they think that it stands.
        for file in files { try mirror.bringNow(PlacedFile(file.name, in: 0)) }
        expect(files.allSatisfy { has($0.name.path(in: 0)) })
        let manifest = try needed(place.pointer.releases.last?.version).manifest
        try mirror.drop(PlacedFile.Name(.manifest, manifest))
        try mirror.bringNow(PlacedFile(PlacedFile.Name(.manifest, manifest), in: 0))
        expect(has(OriginLayout.manifest(manifest)))
    }

    @Test func `strangers keep no device from what a channel offers that no other system gets`()
        throws
    {
        try place.publish("1", ["a": "one"])
        let stable = place.pointer
        try place.publish("2", ["a": "one", "b": "two"], epoch: 3)
        var pointer = place.pointer
        pointer.channel = try ChannelName("beta")
        place.store.set(
            "channels.json", Array("{\"channels\":[\"beta\",\"stable\"]}\n".utf8))
        place.store.set(OriginLayout.pointer(pointer.channel), pointer.serialized(), .pointer)
        place.store.set(BucketPlace.pointerKey, stable.serialized(), .pointer)
        let gets = Mutex<[String]>([])
        let (mirror, _) = try place.mirror(
            place.bucket { request in
                gets.withLock { $0.append(request.key) }
                return .answered
            })
        mirror.watch(pointer.channel)
        let offered = try needed(pointer.releases.first?.version)
        for name in [
            PlacedFile.Name(.manifest, offered.manifest),
            PlacedFile.Name(.places, try needed(offered.places)),
        ] { try mirror.bringNow(PlacedFile(name, in: offered.epoch)) }
        for number in 0..<2 * MirrorAbsences.strayCountMax {
            let address = try ServedPlace.address(of: Array("nobody's \(number)".utf8))
            try? mirror.bringNow(PlacedFile(PlacedFile.Name(.object, address), in: 3))
        }
        gets.withLock { $0 = [] }
        let object = PlacedFile.Name(.object, try ServedPlace.address(of: Array("two".utf8)))
        // Where it is asked for, strangers say; where it stands, the release does.
        try mirror.bringNow(PlacedFile(object, in: 9))
        expect(has(object.path(in: 0)))
        expect(gets.withLock { $0 }, equals: [object.path(in: 3)])
        let unknown = try ServedPlace.address(of: Array("nobody's".utf8))
        #expect(throws: StoreError.self) {
            try mirror.bringNow(PlacedFile(PlacedFile.Name(.object, unknown), in: 3))
        }
    }

    @Test func `who asks for a file where it stands shares no failure of who asks elsewhere`()
        throws
    {
        let name = PlacedFile.Name(.object, try ServedPlace.address(of: Array("one".utf8)))
        let gate = ThreadBell()
        let fetching = MirrorFetching(threadMax: 1) { (file, _) in
            guard file.epoch == 9 else { return nil }
            gate.wait()
            return StoreError(.missingFromBucket, "it is not there")
        }
        let failures = Mutex<[Int64: Bool]>([:])
        let bells = [Int64(9), 3].map { epoch in
            let bell = ThreadBell()
            let errand = MirrorErrand(1) { failure in
                failures.withLock { $0[epoch] = failure != nil }
                bell.ring()
            }
            expect(fetching.add([PlacedFile(name, in: epoch)], areListed: false, for: errand))
            return bell
        }
        gate.ring()
        for bell in bells { bell.wait() }
        expect(failures.withLock { $0 }, equals: [9: true, 3: false])
    }

    @Test func `vain requests are forgotten after a minute`() {
        let time = Atomic<Int64>(1_000)
        let absences = MirrorAbsences { time.load(ordering: .relaxed) }
        for number in 0..<MirrorAbsences.strayCountMax {
            expect(!absences.areTooMany)
            absences.countStray()
            absences.note("\(number)")
        }
        expect(absences.areTooMany && absences.has("0") && !absences.has("none"))
        absences.forgetKeys()
        expect(absences.areTooMany && !absences.has("0"))
        absences.note("1")
        time.add(MirrorAbsences.lifetime - 1, ordering: .relaxed)
        expect(absences.areTooMany && absences.has("1"))
        time.add(1, ordering: .relaxed)
        expect(!absences.areTooMany && !absences.has("1"))
    }

    @Test func `places of many releases are one table`() throws {
        let names = try (0..<6).map { number in try ServedPlace.address(of: [UInt8(number)]) }
        func release(_ members: [Int], _ epoch: Int64) throws -> (ListedRelease, ContentFacts) {
            let facts = ContentFacts(
                members.map {
                    ObjectFacts(
                        address: names[$0], byteCount: Int64($0), crc32: 0,
                        md5: String(repeating: "0", count: 32), twin: nil)
                })
            let version = PublishedVersion(
                name: try VersionName("\(epoch)"), manifest: names[0], manifestByteCount: 1,
                content: names[0], epoch: epoch)
            let offered = OfferedRelease(
                .version(version), sequence: 1, createdAt: 1, facts: names[1])
            return (try needed(ListedRelease(offered)), facts)
        }
        var table = PlaceTable()
        func add(_ members: [Int], _ epoch: Int64) throws {
            let (release, facts) = try release(members, epoch)
            table.add(release) { () throws(StoreError) in
                facts
            } _: {
                (address) throws(StoreError) in
                throw StoreError(.mismatch, "no places: \(address)")
            }
        }
        try add([1, 3, 4], 7)
        try add([0, 3, 5], 9)
        try add([], 11)
        let epochs = names.map { table.file(PlacedFile.Name(.object, $0))?.epoch }
        expect(epochs, equals: [9, 7, nil, 7, 7, 9])
        expect(table.file(PlacedFile.Name(.object, names[5]))?.byteCount, equals: 5)
        expect(table.file(PlacedFile.Name(.twin, names[5])) == nil && table.failure == nil)
        // One release whose facts are broken hides none of the others'.
        let (broken, _) = try release([2], 12)
        table.add(broken) { () throws(StoreError) in
            throw StoreError(.damagedOrigin, "broken")
        } _: {
            (_) throws(StoreError) in
            []
        }
        expect(table.failure?.code, equals: .damagedOrigin)
        expect(table.file(PlacedFile.Name(.object, names[5]))?.epoch, equals: 9)
    }

    @Test func `what the table of places has no room for is answered all the same`() throws {
        try place.publish("1", ["a": "one", "b": "two"], epoch: 1)
        let (_, first) = try place.mirror(place.bucket(), at: "first")
        let files = try BucketPlace.archive(first).files
        try place.publish("2", ["a": "three", "c": "four"], epoch: 3)
        let (mirror, answers) = try place.mirror(place.bucket(), tableCountMax: 1)
        // Newest first: the table has those of one release.
        _ = try mirror.bringNow(BucketPlace.archive(answers).files)
        _ = try mirror.bringNow(files)
        expect(files.allSatisfy { has($0.name.path(in: 0)) })
        let facts = OriginLayout.facts(try needed(place.pointer.releases.last?.facts))
        try mirror.drop(try needed(files.first?.name))
        try FileManager.default.removeItem(
            atPath: place.directory.appending("cache/\(facts)"))
        let error = #expect(throws: StoreError.self) { try mirror.bringNow(files) }
        expect(error?.message.contains("facts/") == true, "\(error?.message ?? "")")
    }

    @Test func `a file of a release that is refused for a moment is not said to be missing`() throws
    {
        try place.publish("1", ["a": "one"])
        let isRefused = Atomic(false)
        let (mirror, answers) = try place.mirror(
            place.bucket { request in
                isRefused.load(ordering: .relaxed) && request.key.hasPrefix("objects/")
                    ? .denied : .answered
            })
        let name = try needed(BucketPlace.archive(answers).files.first?.name)
        let asked = try needed(ServedFile(name.path(in: 0)))
        isRefused.store(true, ordering: .relaxed)
        let error = #expect(throws: StoreError.self) {
            try mirror.bringNow(PlacedFile(name, in: 0))
        }
        expect(error?.code == .accessDenied && mirror.lack(asked) != nil)
        isRefused.store(false, ordering: .relaxed)
        try mirror.bringNow(PlacedFile(name, in: 0))
        expect(has(name.path(in: 0)) && mirror.lack(asked) == nil)
    }

    @Test func `files that change count, and go when nobody asks for them any more`() throws {
        try place.publish("1", ["a": "one"])
        let (mirror, answers) = try place.mirror(place.bucket(), byteCount: 200 << 10)
        let files = try BucketPlace.archive(answers).files
        do { _ = try mirror.bringNow(files) }
        expect(files.allSatisfy { has($0.name.path(in: 0)) } && has(BucketPlace.historyKey))
        // A configuration of nearly that size.
        var deployments: [String: ChannelName] = ["KEY": .stable]
        for number in 0..<900 {
            deployments["\(number)" + String(repeating: "k", count: 230)] = .stable
        }
        place.take(try place.configure(deployments, baseURL: "https://u.example.org"))
        mirror.look()
        expect(files.allSatisfy { !has($0.name.path(in: 0)) })
        let release = try needed(place.pointer.releases.first)
        // What answers depend on stays.
        try expect(has(OriginLayout.facts(needed(release.facts))))
        try expect(answers.text("/model/KEY/check").contains("1"))
        // The channel is told to nobody any more: its history goes, and its pointer while the origin lists it stays.
        place.take(try place.configure([:], baseURL: "https://u.example.org"))
        mirror.look()
        expect(!has(BucketPlace.historyKey) && has(BucketPlace.pointerKey))
        place.store.set("channels.json", Array("{\"channels\":[]}\n".utf8), .pointer)
        mirror.look()
        expect(!has(BucketPlace.pointerKey))
    }

    @Test func `a full disk makes room, and its message speaks of the cache`() throws {
        try place.publish("1", ["a": "one"])
        let disk = FaultyFileSystem()
        let notices = MirrorNotices()
        let (mirror, answers) = try place.mirror(place.bucket(), notices: notices, on: disk)
        let files = try BucketPlace.archive(answers).files
        // Once full, it makes room; if that is not enough, it says so.
        try place.publish("2", ["a": "two"], epoch: 2)
        disk.arm(.fail(ENOSPC, at: 1, of: [.write], path: "stable.json"))
        mirror.look()
        expect(disk.hasFired)
        try expect(answers.text("/model/KEY/check").contains("\"2\", \"1\""))
        disk.arm(.fail(ENOSPC, at: 1, of: [.write], path: "/.mirror/new/"))
        _ = try mirror.bringNow(files)
        expect(disk.hasFired)
        // However many files find no room, that is one sentence.
        var told: Set<String> = []
        for token in ["one", "two"] {
            let staged = try mirror.directory.stage(token)
            let bytes = UnsafeMutableRawBufferPointer.allocate(byteCount: 9, alignment: 1)
            defer { bytes.deallocate() }
            disk.arm(.fail(ENOSPC, at: 1, of: [.write], path: "/.mirror/new/"))
            do throws(StoreError) {
                try mirror.directory.write(staged, UnsafeRawBufferPointer(bytes))
            } catch {
                told.insert(error.message)
            }
            mirror.directory.unstage(token)
        }
        expect(told.count == 1 && told.first?.contains("/.mirror/new: ") == true, "\(told)")
        disk.arm(.refuseChanges)
        try place.publish("3", ["a": "three"], epoch: 2)
        mirror.look()
        let error = #expect(throws: StoreError.self) {
            try mirror.bringNow(BucketPlace.archive(answers).files)
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
