import OriginTestSupport

/// The first entry of a log, what it takes over, and what it is not written over: docs/buckets.md.
@Suite struct BucketGenesisTests {
    private func publisher(_ store: ModelStore, takesOver: Bool = false) -> OriginPublisher {
        ModelStorage(store).publisher { $0.takesOver = takesOver }
    }

    /// A bucket with so many channels, all with the release of a directory's origin.
    private func bucket(_ channelCount: Int) throws -> (PublishingPlace, ModelStore) {
        let place = try PublishingPlace(offering: "1")
        try place.forgetLog()
        let store = ModelStore()
        for (path, bytes) in try place.published() { store.set(path, bytes) }
        store.set("channels/stable.json", nil)
        let bytes = try require(place.bytes("channels/stable.json"))
        let pointer = String(decoding: bytes, as: UTF8.self)
        for number in 1...channelCount {
            let own = pointer.replacing("\"stable\"", with: "\"c\(number)\"")
            store.set("channels/c\(number).json", Array(own.utf8))
        }
        return (place, store)
    }

    @Test func `an origin has at most a thousand channels, and stays sound at the next one`() throws
    {
        let (place, store) = try bucket(1_000)
        let old = ReleaseOffer(channel: try ChannelName("c7"))
        _ = try publisher(store, takesOver: true).publish("1", of: place.versions, as: old)
        let new = ReleaseOffer(channel: try ChannelName("one-more"))
        expectRefusal(.tooLarge) { try publisher(store).publish("1", of: place.versions, as: new) }
        try expect(publisher(store).pointers().count, equals: 1_000)
    }

    @Test func `more channels than an origin can have are not taken over`() throws {
        let (place, store) = try bucket(1_001)
        expectRefusal(.tooLarge) {
            try publisher(store, takesOver: true).publish("1", of: place.versions)
        }
        expect(store.files.keys.filter { $0.hasPrefix("log/") }, equals: [])
    }

    @Test func `where a log has lost its first entry no second log is begun`() throws {
        let world = try BucketWorld(offering: "1")
        let store = ModelStore()
        for (key, file) in world.store.files where key != "log/0000000001.json" {
            store.set(key, file.bytes)
        }
        let beta = ReleaseOffer(channel: try ChannelName("beta"))
        for takesOver in [false, true] {
            expectRefusal(.damagedOrigin) {
                try publisher(store, takesOver: takesOver).publish(
                    "2", of: world.versions, as: beta)
            }
            expect(store.files["log/0000000001.json"] == nil)
        }
    }

    @Test(arguments: [["quoted"], ["bare"]])
    func `an answer that is lost while the store is tried does not decide what it can do`(
        spellings: Set<String>
    ) throws {
        var dialect = ModelDialect()
        dialect.tagSpellings = spellings
        let sourceStore = try BucketWorld.SourceStore()
        for number in 1..<20 {
            let world = try BucketWorld(sourceStore, dialect)
            let disturbed = world.publisher("one") { $0.number == number ? .lostAnswer : .answered }
            _ = try? world.publish("1", by: disturbed)
            try world.publish("1", by: world.publisher("two"))
            let first = try require(world.store.files["log/0000000001.json"])
            let text = String(decoding: first.bytes, as: UTF8.self)
            expect(text.contains("\"pointerCondition\":\"\(spellings.first ?? "")\""))
            expect(world.broken, equals: [])
        }
    }

    @Test func `a store whose answers come too late is not taken for one that overwrites`() throws {
        let world = try BucketWorld()
        // As a bucket that repeats its requests sees it: the first try was stored, the second met it.
        var store = LyingStorage(world.bucket())
        store.refusesCreations = true
        expectRefusal(.network) {
            try OriginPublisher(store, pause: { _ in }).publish("1", of: world.versions)
        }
    }
}
