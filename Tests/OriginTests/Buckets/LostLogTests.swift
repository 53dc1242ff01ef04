import OriginTestSupport

@testable import Origin

/// An origin whose log is gone, and one that was copied and never had one: docs/buckets.md, *If the log is gone*.
@Suite struct LostLogTests {
    enum Left: CaseIterable, Sendable {
        /// Pointers that name entries, and files of several epochs.
        case pruned
        /// Pointers that name entries; all files stand in the first epoch.
        case published
        /// Pointers that name none: those of entry 1, or of a directory.
        case copied
        /// Files of a later epoch, and no pointer at all.
        case filesOnly

        /// Whether all stands where a new log begins.
        var mayBeTakenOver: Bool { self == .published || self == .copied }

        /// - Returns: the bucket, and a store with its versions.
        func make() throws -> (store: ModelStore, versions: VersionStore, sourceStore: Any) {
            if self == .copied {
                let place = try PublishingPlace(offering: "1")
                try Damage.forgetLog(of: place.origin)
                let store = ModelStore()
                for (path, bytes) in try place.published() { store.set(path, bytes) }
                return (store, place.versions, place)
            }
            let world: BucketWorld
            if self == .published {
                world = try BucketWorld(offering: "1", "2")
                try world.publish("3", to: "beta")
            } else {
                world = try AuditedWorld().world
            }
            let store = ModelStore()
            for (key, file) in world.store.files where !key.hasPrefix("log/") {
                if self == .filesOnly, key.hasPrefix("channels") { continue }
                store.set(key, file.bytes)
            }
            return (store, world.versions, world)
        }
    }

    private func publisher(
        _ store: ModelStore, takesOver: Bool = false, notes: Notices = Notices()
    ) -> OriginPublisher {
        ModelStorage(store).publisher { ($0.takesOver, $0.notice) = (takesOver, { notes.add($0) }) }
    }

    @Test(arguments: Left.allCases)
    func `no verb begins a log there unasked, and each says what is the matter`(
        _ left: Left
    ) throws {
        let (store, versions, sourceStore) = try left.make()
        defer { withExtendedLifetime(sourceStore) {} }
        let before = store.files
        let publisher = publisher(store)
        let verbs: [(String, () throws -> Void)] = [
            ("publish", { _ = try publisher.publish("1", of: versions) }),
            ("publish --dry-run", { _ = try publisher.plan("1", of: versions) }),
            ("withdraw", { _ = try publisher.withdraw(VersionName("1")) }),
            ("pack", { _ = try publisher.pack("1", of: versions) }),
            ("prune", { _ = try OriginPruner(publisher).prune(keeping: 1, grace: 0) }),
            ("du", { _ = try OriginUsage(of: ModelStorage(store)) }),
        ]
        for (name, run) in verbs {
            let error = expectRefusal(.damagedOrigin, "\(name)") { try run() }
            let message = error?.message ?? ""
            expect(
                message.contains("castree publish --take-over"), equals: left.mayBeTakenOver,
                "\(name): \(message)")
            expect(message.contains("restore log/"), "\(name): \(message)")
            expect(message.contains(left == .copied ? "and no log" : "is gone"), "\(name)")
        }
        let audit = try OriginAudit(ModelStorage(store)).run()
        expect(audit.findings.map(\.kind), equals: [.missingEntry])
        if left == .filesOnly {
            expectRefusal(.damagedOrigin) { try OriginChannels(ModelStorage(store)).offered() }
        } else {
            // They are what devices see.
            let offered = try OriginChannels(ModelStorage(store)).offered()
            expect(offered.reason?.contains("restore log/"), equals: true)
        }
        expect(store.files, equals: before)
    }

    @Test(arguments: Left.allCases.filter { !$0.mayBeTakenOver })
    func `what stands in a later epoch is not taken over`(_ left: Left) throws {
        let (store, versions, sourceStore) = try left.make()
        defer { withExtendedLifetime(sourceStore) {} }
        let before = store.files
        let publisher = publisher(store, takesOver: true)
        expectRefusal(.damagedOrigin) { try publisher.publish("1", of: versions) }
        expect(store.files, equals: before)
        guard left == .pruned else { return }
        // Nor where only the pointers tell of it: whether a listing does not show the files, or they have gone.
        let honest = ModelStorage(store)
        var hiding = LyingStorage(honest)
        hiding.listing = { request in
            guard var page = try? honest.list(request) else { return nil }
            page.files.removeAll { $0.key.hasPrefix("e/") }
            return page
        }
        let blind = hiding.publisher { $0.takesOver = true }
        expectRefusal(saying: "stand in epoch") { try blind.publish("1", of: versions) }
        expect(!store.files.keys.contains { $0.hasPrefix("log/") })
    }

    @Test(arguments: Left.allCases.filter(\.mayBeTakenOver))
    func `who is told to takes over what stands there`(_ left: Left) throws {
        let (store, versions, sourceStore) = try left.make()
        defer { withExtendedLifetime(sourceStore) {} }
        let notes = Notices()
        let offeredBefore = try OriginChannels(ModelStorage(store)).offered().pointers
        let commit = try publisher(store, takesOver: true, notes: notes).publish(
            "1", of: versions, as: ReleaseOffer(channel: ChannelName("new")))
        expect(commit.entry == 2 && commit.pointerProblem == nil)
        // What stands there is not sent again.
        expect(commit.objects.count, equals: 0)
        expect(notes.all.count { $0.contains("s3://model/origin") }, equals: 1)
        let pointers = try publisher(store).pointers()
        for old in offeredBefore {
            expect(pointers[old.channel]?.sequence, equals: old.sequence)
            expect(pointers[old.channel]?.releases, equals: old.releases)
        }
        expect(pointers.count, equals: offeredBefore.count + 1)
        // Devices see what the log says, and all files are there, also after prunes.
        for _ in 0..<2 {
            _ = try OriginPruner(publisher(store)).prune(keeping: 10, grace: 0)
            let audit = OriginAudit(ModelStorage(store), .hasty(isDeep: true))
            try expect(audit.run().findings, equals: [])
        }
    }

    @Test func `a pointer of the old log that could not be written is mended by a check`() throws {
        let (store, versions, sourceStore) = try Left.published.make()
        defer { withExtendedLifetime(sourceStore) {} }
        let notes = Notices()
        let bucket = ModelStorage(
            store,
            schedule: { $0.verb == .putIf && $0.key == "channels/beta.json" ? .dropped : .answered }
        )
        let publisher = bucket.publisher { ($0.takesOver, $0.notice) = (true, { notes.add($0) }) }
        _ = try publisher.publish("5", of: versions)
        expect(notes.all.contains { $0.contains("channels/beta.json could not be written") })
        let world = try require(sourceStore as? BucketWorld)
        let mended = try OriginAudit(
            ModelStorage(store), repairingFrom: OriginMender([world.versions])
        ).run()
        expect(mended.findings.map(\.kind) == [.wrongPointer] && mended.findings[0].isRepaired)
        try expect(OriginAudit(ModelStorage(store)).run().findings, equals: [])
    }

    @Test(arguments: [false, true])
    func `a take-over that is killed before the pointers is finished by whatever comes next`(
        isSigned: Bool
    ) throws {
        let people = try SignedPlace(.bucket)
        let signing = try isSigned ? people.signing(people.alice) : PointerSigning()
        for channel in ["beta", "stable"] { try people.publish("1", signing, to: channel) }
        try people.cutLog(after: 0)
        let taking = people.place.publisher(
            { ($0.signing, $0.takesOver) = (signing, true) },
            schedule: { request in
                let isPointer = request.verb == .putIf && request.key.hasPrefix("channels/")
                return isPointer ? .end(isApplied: false) : .answered
            })
        _ = refusal { try taking.publish("2", of: people.place.versions) }
        try expect(people.place.bytes(OriginLayout.logEntry(1)) != nil)
        try expect(people.pointer("beta").log != nil)
        try people.publish("2", signing)
        try people.publish("2", signing, to: "beta")
        try expect(OriginAudit(people.place.storage()).run().findings, equals: [])
        // A pointer that is newer than what was taken over shows that entries are lost.
        try people.cutLog(after: 1)
        expectRefusal(.damagedOrigin) { try people.publish("1", signing) }
    }

    @Test(arguments: [1_000, 3])
    func `the newest epoch is found in an origin of any size`(pageCountMax: Int) throws {
        let (store, _, sourceStore) = try Left.pruned.make()
        defer { withExtendedLifetime(sourceStore) {} }
        store.dialect.pageCountMax = pageCountMax
        let object = try address(of: "late")
        for epoch in [9, 10, 11] as [Int64] {
            store.set(OriginLayout.path(.object, object, in: epoch), Array("late".utf8))
        }
        let traces = try OriginTraces(of: ModelStorage(store))
        expect(traces.epochMax == 11 && traces.hasMarker && traces.laterEntry == nil)
        expect(traces.channels.map(\.description).sorted(), equals: ["beta", "stable"])
        store.set("log/0000000007.json", [])
        try expect(OriginTraces(of: ModelStorage(store)).laterEntry, equals: "log/0000000007.json")
    }

    @Test func `an origin that is made while it is looked for is found`() throws {
        let world = try BucketWorld()
        let once = Once(where: { $0.verb == .list }) { _ = try? world.publish("1") }
        let late = ModelStorage(world.store, actor: "late", schedule: { once($0) }).publisher()
        try expect(late.withdraw(VersionName("1")).pointer.releases.isEmpty)
    }

    @Test func `a new origin is told once, and one that was not finished is made`() throws {
        let world = try BucketWorld()
        let notes = Notices()
        let store = ModelStore()
        store.set("origin.json", OriginMarker.serialized())
        let publisher = publisher(store, notes: notes)
        expectRefusal(.noOrigin) { try publisher.withdraw(VersionName("1")) }
        _ = try publisher.plan("1", of: world.versions)
        expect(notes.all, equals: ["would begin the log of an origin at s3://model/origin"])
        for version in ["1", "2"] { _ = try publisher.publish(version, of: world.versions) }
        expect(notes.all.dropFirst(), equals: ["made a new origin at s3://model/origin"])
    }
}
