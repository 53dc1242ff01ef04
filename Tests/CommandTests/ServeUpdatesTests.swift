import ProgramTestSupport

/// `castree serve --updates`: an app that keeps itself up to date, with real programs and an origin over http.
@Suite(.timeLimit(.minutes(60))) struct ServeUpdatesTests {
    let place: Workplace

    init() throws { place = try .offeringFirst() }

    private func kiosk(_ origin: WebOrigin, _ arguments: String...) throws -> Kiosk {
        try Kiosk(showingFirst: place, origin.url, arguments)
    }

    @Test
    func `an empty store is filled, an update is shown, and the versions before it are cleaned up`()
        throws
    {
        let origin = try place.origin()
        let kiosk = try kiosk(origin, "--keep-good", "1")
        expect(kiosk.lines.contains { $0.contains("version 1 is current now") })
        expect(kiosk.lines.contains { $0.contains("version 1 has started") })
        try place.publish("2")
        let page = try kiosk.askingPage()
        let ready = try page.hear("ready")
        expect(ready.detail["version"] as? String == "2")
        expect(ready.detail["mandatory"] as? Bool == false)
        expect(page.names.contains("checking"))
        try expect(kiosk.visit(), equals: "<h1>two</h1>")
        try expect(kiosk.confirm(), equals: 204)
        try kiosk.hear("version 2 is confirmed")
        // The page before it is gone, but counts as open for a while; not after a restart.
        try expect(kiosk.served.end().status, equals: 0)
        let next = try Kiosk(place, origin.url, ["--keep-good", "1"])
        try next.hear("retired 1", "freed")
        let after = try place.deviceLifecycle()
        expect(after.current == "2" && after.knownGood == ["2"])
        try expect(next.served.end().status, equals: 0)
    }

    @Test func `each moment to switch is kept`() throws {
        let origin = try place.origin()
        let kiosk = try kiosk(origin, "--switch", "next-start")
        try place.publish("2")
        let page = try kiosk.askingPage()
        try expect(page.hear("ready").detail["waitsFor"] as? String == "the next start of the app")
        // As often as somebody goes to another page.
        for _ in 0..<3 { try expect(kiosk.visit(), equals: "<h1>one</h1>") }
        try expect(place.deviceLifecycle().pending, equals: "2")
        try expect(kiosk.served.end().status, equals: 0)
        let next = try Kiosk(
            place, origin.url, ["--switch", "next-start", "--confirm-within", "10m"])
        try expect(next.visit(), equals: "<h1>two</h1>")
        try expect(next.confirm(), equals: 204)
    }

    @Test func `pages are told to load themselves again where it is shown at once`() throws {
        let origin = try place.origin()
        let kiosk = try kiosk(origin, "--switch", "now")
        try place.publish("2")
        let page = try kiosk.askingPage()
        let told = try page.hear("version-ready")
        expect(told.detail["version"] as? String == "2")
        expect(told.detail["reload"] as? Bool == true)
        try kiosk.hear("version 2 is downloaded", "open pages load it now")
        try expect(kiosk.visit(), equals: "<h1>two</h1>")
    }

    @Test func `in the background it is shown once no page was visible for long enough`() throws {
        let origin = try place.origin()
        let kiosk = try kiosk(origin, "--switch", "background:1s")
        try place.publish("2")
        let page = try kiosk.askingPage()
        try expect(
            page.hear("ready").detail["waitsFor"] as? String
                == "1 s of the app in the background")
        try expect(page.post("hidden").status, equals: 204)
        try expect(page.hear("version-ready").detail["reload"] as? Bool == true)
        try expect(kiosk.visit(), equals: "<h1>two</h1>")
    }

    @Test func `a mandatory release does not wait, not even for a confirmation`() throws {
        let origin = try place.origin()
        let kiosk = try Kiosk(
            place, origin.url, ["--confirm-within", "10m", "--switch", "next-start"])
        try kiosk.hear("version 1 is downloaded")
        // Version 1 has started, and nobody confirms it.
        try expect(kiosk.visit(), equals: "<h1>one</h1>")
        try place.publish("2", "--mandatory")
        let page = try kiosk.askingPage()
        // That it is here, and that it is shown: which is told first is not promised.
        let news = try [page.hear("ready", "version-ready"), page.hear("ready", "version-ready")]
        expect(Set(news.map(\.name)), equals: ["ready", "version-ready"])
        expect(news.contains { $0.detail["mandatory"] as? Bool == true })
        expect(news.contains { $0.detail["reload"] as? Bool == true })
        try kiosk.hear("version 2 is downloaded", "mandatory")
        try expect(kiosk.visit(), equals: "<h1>two</h1>")
        try expect(kiosk.confirm(), equals: 204)
        let after = try place.deviceLifecycle()
        expect(after.knownGood == ["2"] && after.bad.isEmpty)
    }

    @Test func `a version that nothing confirms is left, and banned the second time`() throws {
        let origin = try place.origin()
        let kiosk = try Kiosk(place, origin.url, ["--confirm-within", "1s"])
        try kiosk.hear("version 1 is downloaded")
        while try kiosk.confirm() != 204 { try kiosk.visit() }
        try place.publish("2")
        let page = try kiosk.askingPage()
        _ = try page.hear("ready")
        try expect(kiosk.visit(), equals: "<h1>two</h1>")
        let left = try kiosk.page()
        try kiosk.hear("version 2 was rolled back", "not confirmed within 1 s")
        let told = try left.hear("rolled-back")
        expect(told.detail["version"] as? String == "2")
        expect(told.detail["own"] as? Bool == true)
        try expect(kiosk.visit(), equals: "<h1>one</h1>")
        // It waits for another process; another check does not hurry it.
        let after = try kiosk.askingPage()
        let waits = try after.hear("ready").detail["waitsFor"] as? String
        expect(waits, equals: "the next start of the app")
        try expect(kiosk.visit(), equals: "<h1>one</h1>")
        try expect(kiosk.served.end().status, equals: 0)
        try expect(place.device("status").text.contains("next start  2, 1 start failed"))
        let next = try Kiosk(place, origin.url, ["--confirm-within", "1s"])
        try expect(next.visit(), equals: "<h1>two</h1>")
        try next.hear("version 2 was rolled back")
        try expect(next.visit(), equals: "<h1>one</h1>")
        try expect(place.deviceLifecycle().bad.map(\.version), equals: ["2"])
        // What is banned is offered on, and left alone.
        let last = try next.page()
        try expect(last.post("update").status, equals: 202)
        let reasons = try last.hear("up-to-date").detail["reasons"]
        expect("\(reasons ?? "")".contains("banned"))
    }

    @Test func `a version that fails is not left for a withdrawn one`() throws {
        let origin = try place.origin()
        let first = try kiosk(origin)
        for (version, words) in [("3", "<h1>three</h1>"), ("4", "<h1>four</h1>")] {
            try place.add(version, ["index.html": words])
        }
        for version in ["2", "3"] {
            try place.publish(version)
            _ = try first.askingPage().hear("ready")
            try first.visit()
            try expect(first.confirm(), equals: 204)
        }
        try expect(first.served.end().status, equals: 0)
        try place.publish("4")
        try place.withdraw("3")
        let second = try Kiosk(
            place, origin.url, ["--confirm-within", "1s", "--keep-good", "2"])
        try second.hear("version 4 is downloaded")
        try expect(second.visit(), equals: "<h1>four</h1>")
        try second.hear("version 4 was rolled back")
        try expect(second.visit(), equals: "<h1>two</h1>")
        let after = try place.deviceLifecycle()
        expect(after.current == "2" && after.knownGood.first == "2", "\(after)")
        try expect(second.served.end().status, equals: 0)
        try expect(place.device("show", "2").status == 0)
    }

    @Test(
        arguments: [
            ("--app", "foo=1"), ("--app", "version"), ("--app", "nativeInterface=x"),
            ("--group", ""),
        ])
    func `what no pull could take is refused at the start`(option: String, value: String) throws {
        try place.ended(
            2, "--store", "device", "serve", "--updates", "http://127.0.0.1:9", option, value,
            saying: option + " takes")
    }

    @Test(
        "a store that was moved away gets no other in its place, and is there again when it is back"
    )
    func movedStore() throws {
        let origin = try place.origin()
        let kiosk = try kiosk(origin)
        let (here, aside) = (place.url("device"), place.url("aside"))
        try FileManager.default.moveItem(at: here, to: aside)
        let page = try kiosk.askingPage()
        let failed = try page.hear("update-failed")
        expect("\(failed.detail["message"] ?? "")".contains("the store is no longer at device"))
        let status = try place.castree("--store", "aside", "status", "--json")
        expect(status.status, equals: 1)
        try expect(status.document(.status).problems.map(\.code.text), equals: ["noStore"])
        expect(!FileManager.default.fileExists(atPath: here.path))
        try expect(kiosk.visit(), equals: "<h1>one</h1>")
        try FileManager.default.moveItem(at: aside, to: here)
        try expect(kiosk.askingPage().hear("up-to-date").name, equals: "up-to-date")
        try expect(place.deviceLifecycle().knownGood, equals: ["1"])
        try expect(place.device("status").status, equals: 0)
    }

    @Test func `an origin that is away stops nothing, is told once, and is asked again`() throws {
        let origin = try place.origin()
        let kiosk = try kiosk(origin, "--pull-option", "--retries=0")
        origin.stop()
        let page = try kiosk.page()
        for _ in 0..<2 {
            try expect(page.post("update").status, equals: 202)
            let failed = try page.hear("update-failed")
            expect("\(failed.detail["message"] ?? "")".contains("unable to update"))
        }
        try expect(kiosk.visit(), equals: "<h1>one</h1>")
        try expect(kiosk.served.end().status, equals: 0)
        kiosk.hearAll()
        // The connection may be broken the first time and refused the second: two sentences, each once.
        let told = kiosk.lines.filter { $0.contains("unable to update") }
        expect(!told.isEmpty && Set(told).count == told.count, "\(told)")
    }

    @Test func `a warning is told once, however often the origin is asked`() throws {
        let origin = try place.origin()
        let open = place.path("netrc")
        try place.write(["netrc": "machine example.org login a password b\n"], to: "")
        expect(chmod(open, 0o644) == 0)
        let kiosk = try kiosk(origin, "--pull-option", "--netrc-file=\(open)")
        let page = try kiosk.page()
        for _ in 0..<3 {
            try expect(page.post("check").status, equals: 202)
            _ = try page.hear("up-to-date")
        }
        try expect(kiosk.served.end().status, equals: 0)
        kiosk.hearAll()
        expect(kiosk.lines.count { $0.contains("everybody on this machine can read") }, equals: 1)
    }

    @Test func `a page asks what there is, and nothing is fetched`() throws {
        let origin = try place.origin()
        let kiosk = try kiosk(origin)
        let page = try kiosk.page()
        try expect(page.post("check").status, equals: 202)
        try expect(page.hear("up-to-date", "available").name, equals: "up-to-date")
        try place.publish("2")
        try expect(page.post("check").status, equals: 202)
        let offered = try page.hear("available", "ready")
        expect(offered.name, equals: "available")
        expect(offered.detail["version"] as? String == "2")
        try expect(place.deviceLifecycle().pending.isNull)
        try expect(kiosk.served.post("/_castree/check").status, equals: 403)
        let elsewhere = try Served(place)
        let session = try elsewhere.beginSession()
        let answer = try elsewhere.post("/_castree/update?session=\(session)")
        expect(answer.status == 404 && answer.body.contains("--updates"))
    }

    @Test func `what was never shown goes when the next release has come`() throws {
        let origin = try place.origin()
        let kiosk = try kiosk(origin, "--switch", "next-start")
        let page = try kiosk.page()
        for version in ["3", "4"] { try place.add(version, ["index.html": version]) }
        for version in ["2", "3", "4"] {
            try place.publish(version)
            try expect(page.post("update").status, equals: 202)
            try kiosk.hear("version \(version) is downloaded")
            if version > "2" { try kiosk.hear("retired", "freed") }
        }
        let text = try place.device("versions", "--json").text.filter { !$0.isWhitespace }
        for (version, isKept) in [("1", true), ("2", false), ("3", false), ("4", true)] {
            expect(text.contains(#""version":"\#(version)""#) == isKept, "\(text)")
        }
    }

    @Test func `pages are told once that a version waits, unless they ask`() throws {
        let origin = try place.origin()
        let kiosk = try kiosk(origin, "--switch", "next-start", "--every", "1s")
        try place.publish("2")
        let page = try kiosk.page()
        _ = try page.hear("ready")
        for _ in 0..<4 { _ = try page.hear("checking") }
        expect(page.names.count { $0 == "ready" }, equals: 1)
        try expect(page.post("update").status, equals: 202)
        _ = try page.hear("ready")
    }

    @Test func `what an emptied channel takes back does not wait any longer`() throws {
        let origin = try place.origin()
        let kiosk = try kiosk(origin, "--switch", "next-start")
        try place.publish("2")
        let page = try kiosk.askingPage()
        _ = try page.hear("ready")
        for version in ["2", "1"] { try place.withdraw(version) }
        try expect(page.post("update").status, equals: 202)
        expect("\(try page.hear("up-to-date").detail["reasons"] ?? "")".contains("taken back"))
        let after = try place.deviceLifecycle()
        expect(after.current == "1" && after.pending.isNull)
    }

    @Test(arguments: [SIGTERM, SIGKILL])
    func `a download ends with the server, and what has come is kept`(_ signal: Int32) throws {
        try place.add("3", ["index.html": "three", "large": PullTests.large])
        try place.publish("3", "--no-packs")
        let origin = try place.origin()
        let kiosk = try Kiosk(place, origin.url, ["--pull-option", "--limit-rate=100K"])
        // Until some of it has come.
        func fetched() throws -> Bool {
            let status = try place.device("status", "--json").document(.status)
            return status.downloads.contains { $0.fetched.isTrue && $0.stagedBytes.number > 0 }
        }
        while try !fetched() {}
        try expect(kiosk.served.end(signal).status, equals: (signal == SIGTERM ? 0 : -SIGKILL))
        let pulled = try place.device("pull", origin.url, "--json").document(.pulled)
        expect(pulled.resumedBytes.number > 0, "\(pulled)")
    }

    @Test func `without libcurl it is refused at the start`() throws {
        let refused = try place.ended(
            1, "serve", "--store", "device", "--updates", "http://127.0.0.1:9", "--json",
            saying: "\"code\":\"transport\"", environment: place.lacking(["libcurl.so.4"]))
        expect(refused.errors.contains("apt install libcurl4"))
        expect(!place.exists("device"))
    }

    @Test func `a server that cannot be leaves no store behind`() throws {
        let origin = try place.origin()
        let port = try require(origin.url.split(separator: ":").last)
        for (arguments, words) in [
            (["--host", "a/b"], "--host"), (["--certificate", "a.pem"], "--key"),
            (["--header", "x"], "--header"), (["--proxy", "/a"], "--proxy"),
            (["--access-log", "missing/log"], "missing"), (["--shell", "9"], "9"),
            (["--certificate", "a.pem", "--key", "a.pem"], "a.pem"),
            (["--port", String(port)], String(port)),
        ] {
            let refused = try place.run(
                .castree, ["--store", "device", "serve", "--updates", origin.url] + arguments)
            expect(refused.status != 0 && refused.errors.contains(words), "\(refused)")
            expect(!place.exists("device"), "\(arguments)")
        }
        // Without an origin there is nothing to fill a store.
        try expect(place.device("serve", "--access-log", "log").status, equals: 3)
        expect(!place.exists("log"))
        expect(!place.exists("device"))
    }

    @Test func `two servers over one store are of one mind`() throws {
        let origin = try place.origin()
        let first = try kiosk(origin)
        let second = try Kiosk(place, origin.url, ["--confirm-within", "10m"])
        try expect(second.visit(), equals: "<h1>one</h1>")
        try place.publish("2")
        let pages = [try first.page(), try second.page()]
        for page in pages { try expect(page.post("update").status, equals: 202) }
        for page in pages { _ = try page.hear("ready", "up-to-date") }
        try expect(first.visit(), equals: "<h1>two</h1>")
        try expect(second.visit(), equals: "<h1>two</h1>")
        try expect(second.confirm(), equals: 204)
        try first.hear("version 2 is confirmed")
        try second.hear("version 2 is confirmed")
        try expect(place.deviceLifecycle().knownGood.first, equals: "2")
        try expect(first.served.end().status, equals: 0)
        try expect(second.served.end().status, equals: 0)
    }

    // docs/serving.md, "Automatic updates": each would take away what the other brings.
    @Test func `a second server that asks elsewhere is refused while the first one runs`() throws {
        let origin = try place.origin()
        let first = try kiosk(origin)
        for (place, channel) in [(origin.url, "beta"), ("elsewhere", "stable")] {
            let refused = try self.place.run(
                .castree,
                ["serve", "--store", "device", "--app-id", Served.newApp()]
                    + ["--updates", place, "--channel", channel])
            expect(refused.status != 0, "\(refused)")
            expect(
                refused.errors.contains(
                    "serve) keeps this store up to date from another origin or channel"),
                "\(refused)")
        }
        try expect(first.served.end().status, equals: 0)
        let next = try Kiosk(place, origin.url, ["--channel", "beta"])
        try expect(next.served.end().status, equals: 0)
    }

    @Test(arguments: [
        ["--every", "0s"], ["--switch", "later"], ["--switch", "background:"],
        ["--keep-good", "0"],
        ["--channel", "a b"], ["--pull-option", "--activate"], ["--pull-option", "--nonsense=1"],
        ["--pull-option", "--device=a"], ["--pull-option", "cacert"],
        ["--pull-option", "--cacert="], ["--pull-option", "--cacert=/nowhere/ca.pem"],
        ["--pull-option", "--limit-rate=fast"], ["--pull-option", "--timeout=0"],
        ["--pull-option", "--retries=-1"], ["--pull-option", "--proxy=gopher://a"],
        ["--pull-option", "--anonymous"],
    ])
    func `what makes no sense is refused`(_ arguments: [String]) throws {
        try place.ended(2, "serve", "--updates", "http://127.0.0.1:9", words: arguments)
    }

    @Test(arguments: [["--every", "1h"], ["--switch", "now"], ["--group", "a"]])
    func `what is for updates is refused without them`(_ arguments: [String]) throws {
        try place.ended(2, "serve", words: arguments, saying: "--updates")
    }
}
