import OriginTestSupport

@testable import HotPush

@Suite("A pull") struct PullTests {
    @Test func `fetches only what no version has`() throws {
        let fixture = try PullingFixture(pulled: "1")
        try fixture.publish("2")
        fixture.origin.forgetRequests()
        let report = try fixture.run()
        let large = try require(PublishingPlace.second["large"])
        try expect(
            Set(fixture.askedObjects),
            equals: [fixture.path(of: "<h1>two</h1>"), fixture.path(of: large)])
        expect(report.reusedObjects, equals: 2)
        try fixture.expectSecond()
    }

    @Test func `fetches nothing for files that moved or exchanged their contents`() throws {
        let fixture = try PullingFixture(pulled: "1")
        var files = PublishingPlace.first
        files["index.html"] = PublishingPlace.first["js/app.js"]
        files["js/app.js"] = PublishingPlace.first["index.html"]
        files["elsewhere/site.css"] = files.removeValue(forKey: "css/site.css")
        try fixture.place.store.add("3", files)
        try fixture.publish("3")
        let report = try fixture.run()
        expect(report.figures.files, equals: 0)
        expect(report.figures.bytes, equals: 0)
        try expect(fixture.tree("3"), equals: files)
    }

    @Test func `does not wait for another pull that is writing the same manifest`() throws {
        let fixture = try PullingFixture(offering: "1")
        let origin = try DirectoryOrigin(fixture.place.origin)
        let published = try require(try origin.pointer(.stable)?.releases.first?.version)
        let other = try fixture.device.reopened().store
        var item = try IncomingContents(other).begin(published.manifest, byteCount: nil)
        // Too much to be in memory: it stands in staging, and is locked.
        try item.append([UInt8](repeating: 32, count: 300_000).span.bytes)
        try expect(fixture.run().version, equals: "1")
        try expect(fixture.tree("1"), equals: PublishingPlace.first)
        try item.discard()
        try fixture.expectClean()
    }

    @Test func `says what it would cost before a byte of content is fetched`() throws {
        let fixture = try PullingFixture(pulled: "1")
        try fixture.publish("2")
        fixture.origin.forgetRequests()
        let pull = try fixture.pull()
        let found = try pull.release(at: fixture.origin.url)
        let plan = try pull.plan(found)
        expect(fixture.origin.requests.count, equals: 2)
        let report = try pull.fetch(plan, of: found)
        expect(plan.byteCount, equals: report.figures.bytes)
        expect(plan.contents.count, equals: report.figures.files)
        expect(plan.reusedObjects, equals: report.reusedObjects)
    }

    @Test(arguments: ["", "ftp://example.org/", "http://", "no such directory"])
    func `says what is wrong with the URL`(_ url: String) throws {
        let fixture = try PullingFixture()
        #expect(throws: StoreError.self) { try fixture.pull().run(url) }
        try expect(fixture.device.reopened().versions().isEmpty)
    }

    @Test("says so when nothing at the URL describes a release; a page may be a captive portal's")
    func noRelease() throws {
        let fixture = try PullingFixture()
        expectRefusal(.notFound) { try fixture.run() }
        fixture.origin.always(.page)
        expectRefusal(.network) { try fixture.run() }
    }
}

@Suite("A pull does not believe everything") struct PullDoubtTests {
    @Test func `an older copy of the pointer is no news, unless somebody insists`() throws {
        let fixture = try PullingFixture(offering: "1")
        let older = try fixture.place.published()
        try fixture.run()
        try fixture.publish("2")
        try fixture.run()
        for (path, bytes) in older where path.hasPrefix("channels/") {
            fixture.put(bytes, at: "/" + path)
        }
        let pull = try fixture.pull()
        let reply = try pull.inquire(fixture.origin.url)
        try expect(pull.obey(reply) == nil)
        expect(reply.reasons.count, equals: 1)
        try expect(fixture.device.reopened().lifecycle().pending, equals: "2")
        try expect(fixture.run { $0.isForced = true }.version, equals: "1")
        try fixture.expectClean()
    }

    @Test(arguments: [500, 503, 429])
    func `a failing origin is not taken for a missing one`(_ status: Int) throws {
        let fixture = try PullingFixture(offering: "1")
        fixture.origin.always(.status(status))
        expectRefusal(.network) { try fixture.run() }
        expect(fixture.origin.requests.allSatisfy { $0.path == "/channels/stable.json" })
    }

    /// RFC 9110: 206 is for who asked for a part, 401 and 407 want credentials.
    @Test func `a missing origin is told from one that answers, or asks who is there`() throws {
        let cases: [(status: Int, wanted: StoreError.Code, says: String)] = [
            (401, .credentials, "CASTREE_ORIGIN_TOKEN"), (407, .credentials, "proxy"),
            (206, .network, "206"), (404, .notFound, "publish the version again"),
        ]
        for (status, wanted, says) in cases {
            let fixture = try PullingFixture(offering: "1")
            let pointer = try require(try DirectoryOrigin(fixture.place.origin).pointer(.stable))
            let manifest = try require(pointer.releases[0].version?.manifest)
            fixture.origin.always(.status(status), on: "/" + OriginLayout.path(.manifest, manifest))
            let error = expectRefusal(wanted, saying: says) { try fixture.run() }
            guard wanted == .credentials else { continue }
            expect(error?.message.contains("\(status)"), equals: true)
            fixture.origin.always(.status(status))
            expectRefusal(.credentials) { try fixture.run() }
            fixture.origin.always(nil)
            fixture.origin.always(nil, on: "/" + OriginLayout.path(.manifest, manifest))
            for object in try fixture.place.versions.registeredManifest(of: "1").references {
                let path = "/" + OriginLayout.path(.object, object.address)
                fixture.origin.always(.status(status), on: path)
            }
            expectRefusal(.credentials) { try fixture.run() }
        }
    }

    @Test func `the same content under a new name was not here before`() throws {
        let fixture = try PullingFixture(pulled: "1")
        var files = PublishingPlace.first
        files["renamed.js"] = files.removeValue(forKey: "js/app.js")
        try fixture.place.store.add("3", files)
        try fixture.publish("3")
        let report = try fixture.run()
        expect(!report.isUnchanged)
        expect(report.figures.files, equals: 0)
    }

    @Test("that a server knows no ranges is said once, and not where the file has changed there")
    func noRanges() throws {
        // The second time the file has changed at the server before it begins anew.
        for (first, second, had) in [("a", "a", 300_000), ("a", "b", 400_000)] {
            let fixture = try PullingFixture(offering: "2")
            let path = try fixture.path(of: PullFaultTests.large)
            func head(_ tag: String) -> String {
                "HTTP/1.1 200 OK\r\nETag: \"\(tag)\"\r\nContent-Length: \(PullFaultTests.byteCount)\r\n\r\n"
            }
            fixture.origin.play(
                [
                    .raw(head(first) + PullFaultTests.large.prefix(300_000)),
                    .raw(head(second) + PullFaultTests.large.prefix(400_000)),
                    .raw(head(second) + PullFaultTests.large),
                ], on: path)
            let notices = Notices()
            try expect(fixture.run { $0.notice = notices.sink }.version, equals: "2")
            let said = notices.all.filter { $0.contains("no parts") }
            expect(said.count == 1 && said[0].contains("\(sizeText(had)) were here"), "\(said)")
        }
    }

    @Test func `a server that cuts every answer and knows no ranges is given up`() throws {
        let fixture = try PullingFixture(offering: "2")
        let path = try fixture.path(of: PullFaultTests.large)
        let head = "HTTP/1.1 200 OK\r\nContent-Length: \(PullFaultTests.byteCount)\r\n\r\n"
        for _ in 0..<40 {
            for count in [300_000, 200_000] {
                let part = PullFaultTests.large.prefix(count)
                fixture.origin.play([.raw(head + part)], on: path)
            }
        }
        expectRefusal(.network) { try fixture.run() }
        expect(fixture.origin.requests(for: path).count < 20)
    }
}
