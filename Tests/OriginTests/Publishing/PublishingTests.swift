import OriginTestSupport

@Suite("A publisher") struct PublishingTests {
    @Test(
        "makes an origin from which a reader gets each release byte for byte, writes only what is missing, and what it planned",
        arguments: places)
    func wholeRelease(_ kind: OriginPlace) throws {
        let place = try PublishingPlace(kind)
        let (first, second) = (PublishingPlace.first, PublishingPlace.second)
        let new = Array(first.values)
        let next = ["index.html", "large"].compactMap { second[$0] }
        for (version, files, new) in [("1", first, new), ("2", second, next)] {
            let before = try place.published()
            let planned = try place.publisher().plan(version, of: place.versions)
            try expect(place.published(), equals: before)
            let plan = try place.publish(version)
            expect(plan, equals: planned)
            let read = try require(try place.read())
            expect(read.version == version && read.files == files)
            expect(
                Set(plan.objects.map(\.address)), equals: Set(try new.map { try address(of: $0) }))
            expect(plan.byteCount, equals: new.reduce(0) { $0 + Int64($1.utf8.count) })
            expect(plan.reusedObjectCount, equals: version == "1" ? 0 : 2)
            expect(plan.writesManifest && plan.writesPointer)
        }
    }

    @Test(arguments: places)
    func `lays the origin out as docs/origin-format.md says`(_ kind: OriginPlace) throws {
        let place = try PublishingPlace(kind, offering: "1")
        let css = try address(of: "body {}").description
        let bytes = try place.versions.manifest(of: "1").serialized()
        let manifest = try address(of: String(decoding: bytes, as: UTF8.self)).description
        let published = try place.published()
        expect(published["origin.json"], equals: Array("{\"castreeOrigin\":1}\n".utf8))
        expect(
            published["objects/\(css.prefix(2))/\(css.dropFirst(2))"], equals: Array("body {}".utf8)
        )
        expect(published["manifests/\(manifest).json"], equals: bytes)
        expect(published["channels.json"], equals: Array("{\"channels\":[\"stable\"]}\n".utf8))
        expect(published.count, equals: 1 + 5 + 1 + 1 + 1 + 2)
        let content = try place.versions.manifest(of: "1").contentAddress()
        let pointer = String(decoding: published["channels/stable.json"] ?? [], as: UTF8.self)
        expect(
            pointer,
            equals: """
                {"castreeChannel":1,"channel":"stable","createdAt":1760000000,"log":2,"releases":[\
                {"content":"\(content)","createdAt":1760000000,"manifest":"\(manifest)",\
                "manifestBytes":\(bytes.count),"sequence":1760000000,"version":"1"}],\
                "sequence":1760000000}

                """)
    }

    @Test(arguments: places)
    func `writes nothing the second time`(_ kind: OriginPlace) throws {
        let place = try PublishingPlace(kind, offering: "1")
        let before = try place.published()
        place.clock.advance(100)
        let commit = try place.publisher().publish("1", of: place.versions)
        let again = try require(commit.plan)
        expect(commit.isUnchanged && again.objects.isEmpty)
        expect(!again.writesManifest && !again.writesPointer)
        // Of a bucket no more is asked than the log's end, what follows a gap, and the pointer.
        expect(kind == .directory ? again.reusedObjectCount == 5 : commit.figures.requestCount == 4)
        try expect(place.published(), equals: before)
    }

    @Test(
        "numbers each change of a channel one higher, and the older releases stay listed",
        arguments: places)
    func sequence(_ kind: OriginPlace) throws {
        let place = try PublishingPlace(kind)
        let numbers = try ["1", "2", "1"].map { try place.publish($0).pointer.sequence }
        expect(numbers, equals: [numbers[0], numbers[0] + 1, numbers[0] + 2])
        let pointer = try require(place.pointer())
        expect(pointer.releases.map { $0.version?.name.description }, equals: ["1", "2"])
        expect(pointer.releases.map(\.sequence), equals: [numbers[2], numbers[1]])
    }

    @Test(arguments: places)
    func `never falls back behind a pointer that was lost`(_ kind: OriginPlace) throws {
        let place = try PublishingPlace(kind, offering: "1")
        let last = try place.publish("2").pointer.sequence
        try place.restore([:])
        place.clock.advance(60)
        try expect(place.publish("1").pointer.sequence > last)
    }

    @Test(arguments: places)
    func `keeps channels apart, and their objects together`(_ kind: OriginPlace) throws {
        let place = try PublishingPlace(kind, offering: "1")
        let plan = try place.publish("1", to: "beta")
        expect(plan.objects.isEmpty && !plan.writesManifest && plan.writesPointer)
        try place.publish("2", to: "beta")
        try expect(place.read()?.version, equals: "1")
        try expect(place.read("beta")?.version, equals: "2")
        let list = try require(place.bytes("channels.json"))
        try expect(ChannelList.names(parsing: list).map(\.description), equals: ["beta", "stable"])
    }

    @Test(
        "offers with a roll-out, requirements and force, and widens a roll-out in place",
        arguments: places)
    func offers(_ kind: OriginPlace) throws {
        let place = try PublishingPlace(kind)
        var offer = ReleaseOffer(
            rollout: Rollout(perMille: 100, salt: "2"),
            requirements: [
                Requirement(kind: "minimumAppVersion", value: "2.1"),
                Requirement(kind: "compatibility", value: "ios-3"),
            ], isMandatory: true)
        try place.publish("1")
        try place.publisher().publish("2", of: place.versions, as: offer)
        var releases = try require(place.pointer()).releases
        expect(releases.map { $0.version?.name.description }, equals: ["2", "1"])
        expect(releases[0].rollout, equals: Rollout(perMille: 100, salt: "2"))
        expect(
            releases[0].requirements.map(\.kind), equals: ["compatibility", "minimumAppVersion"])
        expect(releases[0].isMandatory && !releases[1].isMandatory)
        offer.rollout = Rollout(perMille: 500, salt: "2")
        let wider = try place.publisher().publish("2", of: place.versions, as: offer)
        expect(wider.objects.isEmpty && !wider.isUnchanged)
        releases = wider.pointer.releases
        expect(releases.map { $0.rollout?.perMille }, equals: [500, nil])
        offer.rollout = Rollout(perMille: 1000, salt: "2")
        let all = try place.publisher().publish("2", of: place.versions, as: offer)
        expect(all.pointer.releases[0].rollout == nil)
    }

    @Test(arguments: places)
    func `refuses offers that no pointer may hold`(_ kind: OriginPlace) throws {
        let place = try PublishingPlace(kind)
        for offer in [
            ReleaseOffer(rollout: Rollout(perMille: 1001, salt: "x")),
            ReleaseOffer(rollout: Rollout(perMille: 5, salt: String(repeating: "x", count: 129))),
            ReleaseOffer(requirements: [Requirement(kind: "", value: "1")]),
            ReleaseOffer(requirements: [Requirement(kind: "a b", value: "1")]),
            ReleaseOffer(
                requirements: [
                    Requirement(kind: "a", value: "1"), Requirement(kind: "a", value: "2"),
                ]),
        ] {
            expectRefusal(.badPointer, "\(offer)") {
                try place.publisher().publish("1", of: place.versions, as: offer)
            }
        }
        try expect(place.published().isEmpty)
    }

    @Test func `writes files and directories as the umask says, readable by a web server`() throws {
        let place = try PublishingPlace()
        let mask = umask(0o022)
        defer { umask(mask) }
        try place.publish("1")
        let object = try place.objectPath("body {}")
        try expect(Damage.mode(object), equals: 0o644)
        try expect(Damage.mode(place.origin + "/channels/stable.json"), equals: 0o644)
        try expect(Damage.mode((object as NSString).deletingLastPathComponent), equals: 0o755)
        for name in ["", "/origin.json", "/objects", "/manifests", "/channels"] {
            try expect(Damage.mode(place.origin + name) & 0o444, equals: 0o444, "\(name)")
        }
    }

    @Test func `trusts an object of the right size, and reads it when asked to verify`() throws {
        let place = try PublishingPlace(offering: "1")
        let object = try place.objectPath("body {}")
        try Damage.overwrite(object, with: Array("hacked!".utf8))
        // It shares no inode with the store.
        try expect(place.store.reopened().check(CheckOptions(isDeep: true)).findings.isEmpty)
        try expect(place.publish("1").objects.isEmpty)
        let plan = try place.publisher { $0.verifiesObjects = true }.publish(
            "1", of: place.versions)
        expect(plan.objects.map(\.address), equals: [try address(of: "body {}")])
        try expect(place.read()?.files, equals: PublishingPlace.first)
    }

    @Test(arguments: [
        Damage.Stranger.emptyFile, .symbolicLink("/etc/passwd"), .fifo, .socket, .nothing,
    ])
    func `replaces what has the wrong size or is no file`(_ stranger: Damage.Stranger) throws {
        let place = try PublishingPlace(offering: "1")
        try Damage.replace(try place.objectPath("run(1)"), by: stranger)
        try expect(place.publish("1").objects.count, equals: 1)
        try expect(place.read()?.files, equals: PublishingPlace.first)
    }

    @Test func `mends a manifest that was cut or changed`() throws {
        let place = try PublishingPlace()
        let plan = try place.publish("1")
        let path = place.origin + "/" + OriginLayout.path(.manifest, plan.version.manifest)
        try Damage.flip(path, at: 40)
        expectRefusal(.damagedOrigin) { try place.read() }
        try expect(place.publish("1").writesManifest)
        try expect(place.read()?.files, equals: PublishingPlace.first)
    }
}
