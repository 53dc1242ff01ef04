import BucketTestSupport

@testable import ClientSystems
@testable import HotPush
@testable import Origin

/// docs/clients.md, "From a bucket": what is believed of a bucket, and for how long.
@Suite struct MirrorTruthTests {

    private let place: BucketPlace

    init() throws { place = try BucketPlace() }

    @Test func `a channel that never came is unknown, and one that is not there is none`() throws {
        let fates = Fates()
        let bucket = place.bucket { fates.meet($0) }
        // Nothing was ever published.
        let (none, nobody) = try place.mirror(bucket, at: "none")
        try expect(nobody.text(ModelFeed.check), equals: "404")
        do { _ = try place.mirror(bucket, at: "warm") }
        try place.publish("1", ["a": "one"])
        let release = try require(place.pointer.releases.first)
        let facts = OriginLayout.path(.facts, try require(release.facts).address)
        for (name, key, fate) in [
            ("cold", facts, RequestFate.turned), ("other", facts, .denied),
            ("warm", BucketPlace.pointerKey, .lostAnswer),
        ] {
            fates.set(fate, of: key)
            let notices = Notices()
            let (mirror, answers) = try place.mirror(bucket, at: name, notices: notices)
            // A device that asks for the pointer lets no others see it without what their answers depend on.
            mirror.watch(.stable)
            expectRefusal(.unseenChannel, "\(name)") { try answers.text(ModelFeed.check) }
            expect(!notices.all.isEmpty, "\(key)")
            // Who knew that there was none continues saying so.
            none.look()
            try expect(nobody.text(ModelFeed.check), equals: "404")
            fates.set(nil, of: key)
            mirror.look()
            try expect(answers.text(ModelFeed.check), equals: ModelFeed.told("1", of: 1))
            expect(mirror.whyUnseen(.stable) == nil)
        }
        // A restart without the bucket knows no more than the cache.
        fates.set(.denied, of: BucketPlace.pointerKey)
        place.store.set(BucketPlace.pointerKey, nil)
        do { _ = try place.mirror(bucket, at: "again") }
        for key in ["origin.json", "channels.json"] { fates.set(.dropped, of: key) }
        let (kept, again) = try place.mirror(bucket, at: "again")
        #expect(throws: StoreError.self) { try again.text(ModelFeed.check) }
        withExtendedLifetime(kept) {}
    }

    @Test func `a pointer that only devices ask for is unknown until it has come`() throws {
        try place.publish("1", ["a": "one"])
        let beta = try ChannelName("beta")
        let key = OriginLayout.pointer(beta)
        place.store.set("channels.json", Array("{\"channels\":[\"beta\",\"stable\"]}\n".utf8))
        var pointer = place.pointer
        pointer.channel = beta
        place.store.set(key, pointer.serialized(), .pointer)
        let fates = Fates()
        let (mirror, _) = try place.mirror(place.bucket { fates.meet($0) })
        for lost in [key, OriginLayout.marker, OriginLayout.channelList] {
            fates.set(.lostAnswer, of: lost)
        }
        let asked = try require(ServedFile(key))
        expect(mirror.whyUnseen(beta) == nil && mirror.lack(asked) == .pointer(beta))
        mirror.watch(beta)
        expect(mirror.whyUnseen(beta)?.code, equals: .unseenChannel)
        let count = fates.keys.count
        // A bucket that has just not answered is not asked again for each request.
        mirror.watch(beta)
        expect(fates.keys.count == count && mirror.lack(asked) == .pointer(beta))
        fates.set(nil, of: OriginLayout.marker)
        mirror.look()
        mirror.watch(beta)
        expect(mirror.whyUnseen(beta)?.code, equals: .unseenChannel)
        fates.set(nil, of: key)
        mirror.look()
        expect(mirror.whyUnseen(beta) == nil && mirror.lack(asked) == nil)
    }

    @Test func `what is gone from the bucket counts while the log has it`() throws {
        try place.publish("1", ["a": "one"])
        place.take(try place.configure(["KEY": .stable], baseURL: "https://u.example.org"))
        let notices = Notices()
        let (mirror, answers) = try place.mirror(place.bucket(), notices: notices)
        for key in [BucketPlace.configurationKey, BucketPlace.pointerKey, BucketPlace.historyKey] {
            let bytes = try require(place.store.files[key]?.bytes)
            place.store.set(key, nil)
            mirror.look()
            try expect(answers.text(ModelFeed.check), equals: ModelFeed.told("1", of: 1), "\(key)")
            expect(notices.all.contains { $0.contains("\(key) in") && $0.contains("is gone") })
            place.store.set(key, bytes, .pointer)
            mirror.look()
            try expect(answers.text(ModelFeed.check), equals: ModelFeed.told("1", of: 1), "\(key)")
        }
    }

    @Test
    func
        `a copy that names a later entry than the log has stays no longer than the log can be read`()
        throws
    {
        try place.publish("1", ["a": "one"])
        try place.publish("2", ["a": "two"], epoch: 2)
        let right = ModelFeed.told("2", "1", of: 2)
        let configured = try place.configure(
            ["KEY": .stable], baseURL: "https://u.example.org")
        place.take(configured)
        let (history, setting) = (
            place.history.serialized(),
            try require(place.store.files[BucketPlace.configurationKey]?.bytes)
        )
        // An entry that is there, and does not say it; and one that is not.
        for log in [place.log + 1, ChannelPointer.logMax] {
            if log == place.log + 1 {
                for step in try place.begin("3", ["a": "three"], epoch: 2) where step.bytes == nil {
                    place.take(step)
                }
            }
            var falseHistory = ClientHistory(ModelFeed.system, .stable)
            falseHistory.log = log
            var falseSetting = try ClientConfiguration(parsing: setting, of: ModelFeed.system)
            falseSetting.baseURL = "https://wrong.example.org"
            falseSetting.log = log
            for (key, wrong, bytes) in [
                (BucketPlace.historyKey, falseHistory.serialized(), history),
                (BucketPlace.configurationKey, falseSetting.serialized(), setting),
            ] {
                let fates = Fates()
                let notices = Notices()
                let (mirror, answers) = try place.mirror(
                    place.bucket { fates.meet($0) }, at: "\(log)-\(key.count)", notices: notices)
                try expect(answers.text(ModelFeed.check), equals: right)
                place.store.set(key, wrong, .pointer)
                mirror.look()
                let told = try answers.text(ModelFeed.check)
                expect(told != right)
                place.store.set(key, bytes, .pointer)
                // Who may not read the log believes what came first, and says so once.
                fates.set(.denied, of: OriginLayout.logEntry(log))
                for _ in 0..<2 { mirror.look() }
                try expect(answers.text(ModelFeed.check), equals: told)
                expect(
                    notices.all.filter { $0.contains("log/") }.count, equals: 1, "\(notices.all)")
                fates.set(nil, of: OriginLayout.logEntry(log))
                mirror.look()
                try expect(answers.text(ModelFeed.check), equals: right, "\(key) \(log)")
            }
        }
    }

    @Test
    func `a pointer that the log does not say goes as soon as the right one stands there`() throws {
        try place.publish("1", ["a": "one"])
        let right = place.pointer.serialized()
        var wrong = place.pointer
        wrong.sequence += 1_000_000
        let notices = Notices()
        let (mirror, answers) = try place.mirror(place.bucket(), notices: notices)
        for (bytes, counts) in [(wrong.serialized(), wrong.serialized()), (right, right)] {
            place.store.set(BucketPlace.pointerKey, bytes, .pointer)
            mirror.look()
            let here = try mirror.cache.kept(
                BucketPlace.pointerKey, limit: ChannelPointer.byteCountMax)
            expect(here == counts && notices.all.isEmpty, "\(notices.all)")
        }
        try place.publish("2", ["a": "two"], epoch: 2)
        mirror.look()
        try expect(answers.text(ModelFeed.check), equals: ModelFeed.told("2", "1", of: 2))
    }

    @Test func `an older copy that the log does not speak for is asked about once`() throws {
        try place.publish("1", ["a": "one"])
        let first = try place.configure(["KEY": .stable], baseURL: "https://old.example.org")
        let second = try place.configure(["KEY": .stable], baseURL: "https://u.example.org")
        place.take(second)
        let fates = Fates()
        let notices = Notices()
        let (mirror, answers) = try place.mirror(
            place.bucket { fates.meet($0) }, notices: notices)
        place.take(first)
        for _ in 0..<3 { mirror.look() }
        try expect(answers.text(ModelFeed.check), equals: ModelFeed.told("1", of: 1))
        expect(fates.keys.filter { $0.hasPrefix("log/") }.count, equals: 1)
        expect(notices.all.filter { $0.contains("older copy") }.count, equals: 1)
    }

    @Test(arguments: [RequestFate.denied, .dropped])
    func `a known file that cannot be read any more stays as it was, and the others do not`(
        fate: RequestFate
    ) throws {
        for key in [
            "origin.json", "channels.json", BucketPlace.configurationKey, BucketPlace.historyKey,
            BucketPlace.pointerKey,
        ] {
            let place = try BucketPlace()
            try place.publish("1", ["a": "one"])
            let fates = Fates()
            let notices = Notices()
            let (mirror, answers) = try place.mirror(
                place.bucket { fates.meet($0) }, notices: notices)
            try place.publish("2", ["a": "two"], epoch: 2)
            fates.set(fate, of: key)
            for _ in 0..<2 { mirror.look() }
            let isOld = [BucketPlace.historyKey, BucketPlace.pointerKey].contains(key)
            try expect(
                answers.text(ModelFeed.check),
                equals: isOld ? ModelFeed.told("1", of: 1) : ModelFeed.told("2", "1", of: 2),
                "\(key)")
            expect(notices.all.count == 1 && notices.all[0].contains(key), "\(notices.all)")
            fates.set(nil, of: key)
            mirror.look()
            try expect(
                answers.text(ModelFeed.check), equals: ModelFeed.told("2", "1", of: 2), "\(key)")
        }
    }

    @Test func `a version of the trust is looked at again as long as a pointer names it`() throws {
        try place.publish("1", ["a": "one"])
        let key = try SigningKey.generate()
        func sign(_ version: Int64) throws {
            var pointer = place.pointer
            pointer.sequence += version
            pointer.origin = String(repeating: "0f", count: 16)
            pointer.trustVersion = version
            pointer.signatures = [
                PointerSignature(
                    key: key.verificationKey.id, signature: try key.sign(pointer.signedBytes))
            ]
            place.store.set(BucketPlace.pointerKey, pointer.serialized(), .pointer)
        }
        func kept(_ version: Int64) -> String? {
            let path = place.directory.appending("cache/\(OriginLayout.trust(version))")
            return (try? Data(contentsOf: URL(filePath: path))).map {
                String(decoding: $0, as: UTF8.self)
            }
        }
        try sign(3)
        let fates = Fates()
        let (mirror, _) = try place.mirror(place.bucket { fates.meet($0) })
        // One that is missing at first comes later, and a wrong one is replaced; what proves itself stays.
        for (second, third, expected) in [
            (nil, nil, (nil, nil)), ("wrong", nil, ("wrong", nil)),
            ("right", "three", ("right", "three")), ("right", nil, ("right", "three")),
        ] as [(String?, String?, (String?, String?))] {
            place.store.set("trust/2.json", second.map { Array($0.utf8) })
            place.store.set("trust/3.json", third.map { Array($0.utf8) })
            mirror.look()
            expect(kept(2) == expected.0 && kept(3) == expected.1, "\(second ?? "")")
        }
        expect(!fates.keys.contains("trust/1.json"))
        // A pointer cannot have all numbers asked for.
        try sign(1_000_000)
        let count = fates.keys.count
        mirror.look()
        expect(fates.keys.count - count < 20)
    }
}
