import BucketTestSupport

@testable import ClientSystems
@testable import HotPush
@testable import Origin

/// docs/clients.md, "From a bucket"; docs/origin-format.md, "In buckets".
@Suite struct MirrorLookTests {
    private let place: BucketPlace

    init() throws {
        place = try BucketPlace()
        try place.publish("1", ["a": "one", "b": "same"])
    }

    @Test func `what a bucket offers is answered, in whatever epochs its files stand`() throws {
        try place.publish("2", ["a": "two", "b": "same"], epoch: 3)
        let (mirror, answers) = try place.mirror(place.bucket())
        try expect(answers.text(ModelFeed.check), equals: ModelFeed.told("2", "1", of: 2))
        // An object of epoch 3 and one of epoch 0, which places tell apart.
        let body = try BucketPlace.archive(answers)
        expect(mirror.hold(body) == nil)
        let hold = try mirror.bring(body.files)
        expect(mirror.hold(body) != nil)
        let origin = try DirectoryOrigin(mirror.path)
        for file in body.files {
            let kept = try origin.file(file.name.path(in: 0), limit: 1 << 20)
            try expect(
                kept.map { try address(of: $0.bytes) }, equals: file.name.address)
        }
        withExtendedLifetime(hold) {}
        // Nothing new costs no bytes.
        try place.publish("3", ["a": "three"], epoch: 4)
        mirror.look()
        try expect(answers.text(ModelFeed.check), equals: ModelFeed.told("3", "2", "1", of: 3))
    }

    @Test(arguments: ["publish", "withdraw", "prune"])
    func `whatever a publisher does between two requests of a look, answers are all old or all new`(
        _ verb: String
    ) throws {
        try place.publish("2", ["a": "two"], epoch: 2)
        let before = ModelStore(copying: place.store)
        let steps: [BucketPlace.Step]
        let new: String
        switch verb {
        case "publish":
            steps = try place.begin("3", ["a": "three"], epoch: 2)
            new = ModelFeed.told("3", "2", "1", of: 3)
        case "withdraw":
            steps = try place.withdraw()
            new = ModelFeed.told("1", of: 2)
        default:
            steps = try place.withdraw(isPruned: true)
            new = ModelFeed.told("2", of: 2)
        }
        // Files that never change come before all steps.
        for (key, file) in place.store.files where before.files[key] == nil {
            before.set(key, file.bytes)
        }
        let old = ModelFeed.told("2", "1", of: 2)
        // The requests of a look that finds all of it, from that for the pointer on: those before know nothing of it.
        let due = Due()
        let whole = ModelStore(copying: before)
        let seen = try place.mirror(place.bucket(on: whole) { due.meet($0) }, at: "seen")
        due.plan { _ in }
        for step in steps { place.take(step, in: whole) }
        seen.mirror.look()
        try expect(seen.answers.text(ModelFeed.check), equals: new)
        let keys = due.keys
        let places = try require(keys.firstIndex(of: BucketPlace.pointerKey))...keys.count
        // The first step is taken just before one of them, the others just before the same or a later one.
        for first in places {
            for last in places where last >= first {
                let store = ModelStore(copying: before)
                let due = Due()
                let (mirror, answers) = try place.mirror(
                    place.bucket(on: store) { due.meet($0) }, at: "\(first)-\(last)")
                due.plan { number in
                    // What is answered between two requests counts as well.
                    if let text = try? answers.text(ModelFeed.check), ![old, new].contains(text) {
                        Issue.record("\(first) \(last) before \(number): \(text)")
                    }
                    if number == first { place.take(steps[0], in: store) }
                    guard number == last else { return }
                    for step in steps.dropFirst() { place.take(step, in: store) }
                }
                mirror.look()
                let text = try answers.text(ModelFeed.check)
                expect([old, new].contains(text), "\(first) \(last): \(text)")
                due.plan { _ in }
                for step in steps { place.take(step, in: store) }
                mirror.look()
                try expect(answers.text(ModelFeed.check), equals: new, "\(first) \(last)")
            }
        }
    }

    @Test func `an older copy of a pointer or a history is ignored, and said once`() throws {
        let (oldPointer, oldHistory) = (place.pointer.serialized(), place.history.serialized())
        try place.publish("2", ["a": "two"], epoch: 2)
        let notices = Notices()
        let (mirror, answers) = try place.mirror(place.bucket(), notices: notices)
        let new = ModelFeed.told("2", "1", of: 2)
        for (key, old) in [
            (BucketPlace.pointerKey, oldPointer), (BucketPlace.historyKey, oldHistory),
        ] {
            let right = place.store.files[key]?.bytes
            place.store.set(key, old, .pointer)
            for _ in 0..<2 { mirror.look() }
            try expect(answers.text(ModelFeed.check), equals: new)
            expect(
                notices.all.filter { $0.contains("older copy") }.count, equals: 1, "\(notices.all)")
            place.store.set(key, right, .pointer)
            mirror.look()
            notices.clear()
        }
    }

    @Test
    func `what cannot be understood changes nothing, and what is missing is waited for`() throws {
        let (mirror, answers) = try place.mirror(place.bucket())
        let old = ModelFeed.told("1", of: 1)
        let steps = try place.begin("2", ["a": "two"], epoch: 2)
        let version = try require(place.pointer.releases.first?.version)
        let manifest = OriginLayout.path(.manifest, version.manifest, in: 2)
        for step in steps { place.take(step) }
        // Each is broken in turn; the others say what they should.
        for key in [
            BucketPlace.pointerKey, BucketPlace.historyKey, BucketPlace.configurationKey,
            "channels.json", "origin.json", manifest,
        ] {
            let right = try require(place.store.files[key]?.bytes)
            let bad: [[UInt8]?] = [
                Array("{".utf8), Array("<html>".utf8), [], Array(right.dropLast(3)),
            ]
            for (number, bytes) in (bad + (key == manifest ? [nil] : [])).enumerated() {
                let own = try place.mirror(place.bucket(), at: "own-\(number)-\(key.hashValue)")
                place.store.set(key, bytes, .pointer)
                mirror.look()
                own.mirror.look()
                let text = try answers.text(ModelFeed.check)
                expect([old, ModelFeed.told("2", "1", of: 2)].contains(text), "\(key) \(number)")
                place.store.set(key, right, .pointer)
                // Who knew the new one keeps it.
                try expect(
                    own.answers.text(ModelFeed.check), equals: ModelFeed.told("2", "1", of: 2))
            }
        }
        mirror.look()
        try expect(answers.text(ModelFeed.check), equals: ModelFeed.told("2", "1", of: 2))
    }

    @Test func `a part that is far too large keeps nobody from what else is new`() throws {
        let notices = Notices()
        let (mirror, answers) = try place.mirror(place.bucket(), notices: notices)
        let large = Array(repeating: UInt8(ascii: " "), count: 17 << 20)
        let keys =
            ["channels.json"]
            + ClientSystem.allCases.map { OriginLayout.clientConfiguration(of: $0.rawValue) }
        for key in keys { place.store.set(key, large, .pointer) }
        try place.publish("2", ["a": "two"], epoch: 2)
        for _ in 0..<2 { mirror.look() }
        try expect(answers.text(ModelFeed.check), equals: ModelFeed.told("2", "1", of: 2))
        for key in keys {
            expect(notices.all.filter { $0.contains(key) }.count, equals: 1, "\(notices.all)")
        }
    }

    @Test func `a system that is ended in the bucket is answered no more`() throws {
        let (mirror, answers) = try place.mirror(place.bucket())
        let key = BucketPlace.configurationKey
        let bytes = try require(place.store.files[key]?.bytes)
        var configuration = try ClientConfiguration(parsing: bytes, of: ModelFeed.system)
        configuration.isEnabled = false
        configuration.log = 5
        place.store.set(key, configuration.serialized(), .pointer)
        mirror.look()
        try expect(answers.text(ModelFeed.check) == "nothing" && answers.systems { _ in }.isEmpty)
    }

    @Test func `a bucket that is not reached is said once, and once when it is again`() throws {
        let isDown = Atomic(false)
        let notices = Notices()
        let bucket = place.bucket { _ in isDown.load(ordering: .relaxed) ? .dropped : .answered }
        let answers: OriginAnswers
        do {
            let (mirror, warm) = try place.mirror(bucket, notices: notices)
            answers = warm
            isDown.store(true, ordering: .relaxed)
            for _ in 0..<3 { mirror.look() }
            try expect(answers.text(ModelFeed.check), equals: ModelFeed.told("1", of: 1))
            expect(notices.all.count == 1 && notices.all[0].contains("cannot be reached"))
            isDown.store(false, ordering: .relaxed)
            for _ in 0..<3 { mirror.look() }
            expect(notices.all.count == 2 && notices.all[1].contains("reached again"))
        }
        isDown.store(true, ordering: .relaxed)
        // A warm cache serves; a cold one has nothing to serve.
        let (_, again) = try place.mirror(bucket)
        try expect(again.text(ModelFeed.check), equals: ModelFeed.told("1", of: 1))
        expectRefusal(.network) { try place.mirror(bucket, at: "cold") }
        // An empty bucket has no origin, however warm the cache is.
        isDown.store(false, ordering: .relaxed)
        place.store.set("origin.json", nil)
        expectRefusal(.noOrigin) { try place.mirror(bucket, at: "none") }
    }
}

/// Things to be done just before requests, by their number since the plan was made.
final class Due: Sendable {
    private let state = Mutex<(keys: [String], plan: @Sendable (Int) -> Void)>(([], { _ in }))

    /// What was asked for since the plan was made.
    var keys: [String] { state.withLock { $0.keys } }

    func plan(_ plan: @escaping @Sendable (Int) -> Void) {
        state.withLock { $0 = ([], plan) }
    }

    func meet(_ request: ModelRequest) -> RequestFate {
        let (number, plan) = state.withLock { state in
            state.keys.append(request.key)
            return (state.keys.count - 1, state.plan)
        }
        plan(number)
        return .answered
    }
}
