import WebTestSupport

@testable import ServeFromCAS

@Suite("A page's mark")
struct PageMarkTests {
    /// A browser that sends the hints of a page's mark, and a server with versions.
    struct Browser {
        var table = PinTable()
        var now = Duration.zero
        var current: VersionName
        var cookie: PinCookie?
        var name = "browser-number-one"

        /// Goes to a page; its mark.
        mutating func go(_ path: String = "/", isReload: Bool = false) -> PageMark? {
            let request = PinRequest(
                load: .page, isReload: isReload, path: Array(path.utf8), cookie: cookie,
                connection: 1, hints: 7)
            guard case .serve(let version, let cookie, let mark) = ask(request) else { return nil }
            expect(version, equals: current)
            self.cookie = cookie ?? self.cookie
            return mark
        }

        mutating func ask(_ request: PinRequest) -> PinTable.Decision {
            table.decide(
                request, current: current, now: now, newBrowser: name,
                contains: { _, _ in true }) ?? .doubt([])
        }

        /// Goes to a page, and sends no hints.
        mutating func open() {
            let request = PinRequest(load: .page, path: [47], cookie: cookie, connection: 1)
            if case .serve(_, let cookie, _) = ask(request) { self.cookie = cookie ?? self.cookie }
        }

        /// Gets a worker's script, and what that keeps: the page's mark.
        mutating func install() -> PageMark? {
            var script = PinRequest(
                load: .subresource, path: Array("/sw.js".utf8), cookie: cookie, connection: 2)
            script.isWorkerScript = true
            guard case .serve(current, let cookie, _) = ask(script) else { return nil }
            self.cookie = cookie ?? self.cookie
            var page = PinRequest(
                load: .subresource, path: [47], referrer: Array("/sw.js".utf8),
                cookie: self.cookie, connection: 3)
            page.asksForPage = true
            guard case .serve(current, _, nil) = ask(page) else { return nil }
            return self.cookie.flatMap { table.markKept(current, $0.browser, now) }
        }

        /// Asks for a page's file, with the hints that the mark leaves; the version or `doubt`.
        mutating func get(_ mark: PageMark?, load: RequestHead.Load = .subresource) -> String {
            let request = PinRequest(
                load: load, path: Array("/late.js".utf8), referrer: Array("/".utf8),
                cookie: cookie, connection: 1, hints: mark?.hints ?? 0)
            return ask(request).name
        }
    }

    private func browser() throws -> Browser { Browser(current: try VersionName("A")) }

    @Test func `tells two tabs apart, while the newer loads and ever after`() throws {
        var browser = try browser()
        let old = browser.go()
        browser.current = try VersionName("B")
        let new = browser.go()
        expect(old != nil && new != nil && old != new)
        for seconds in [0, 1, 5, 59, 3600] {
            browser.now += .seconds(seconds)
            expect(browser.get(old), equals: "A")
            expect(browser.get(new), equals: "B")
            expect(browser.get(old, load: .frame), equals: "A")
        }
    }

    @Test func `lets a tab continue across a switch without a refusal`() throws {
        var browser = try browser()
        let names = [try VersionName("A"), try VersionName("B")]
        for round in 0..<200 {
            browser.current = names[round % 2]
            let mark = browser.go(round % 3 == 0 ? "/" : "/other")
            browser.now += .seconds(5)
            expect(browser.get(mark), equals: browser.current.description)
        }
    }

    @Test func `is the same for all pages of a version in a browser`() throws {
        var browser = try browser()
        let first = browser.go()
        browser.current = try VersionName("B")
        _ = browser.go()
        browser.current = try VersionName("A")
        expect(browser.go("/other"), equals: first)
    }

    @Test("knows a page that comes back from the history long after, without asking for itself")
    func history() throws {
        var browser = try browser()
        let old = browser.go()
        browser.current = try VersionName("B")
        let new = browser.go()
        browser.now += .seconds(7200)
        browser.table.close(connection: 1, now: .zero)
        browser.table.expire(now: browser.now)
        expect(browser.get(old), equals: "A")
        expect(browser.get(new), equals: "B")
        expect(browser.table.pinned(now: browser.now).map(\.description), equals: ["A", "B"])
    }

    @Test(
        "outlives restarts of the server by the cookie, in all pages that were open",
        arguments: [true, false])
    func restarted(_ isByOlderCastree: Bool) throws {
        var browser = try browser()
        let old = browser.go()
        browser.current = try VersionName("B")
        let new = browser.go()
        // An older castree's cookie has only the newest one's mark: what is not known is refused, never mixed.
        if isByOlderCastree { forgetOthers(&browser.cookie) }
        let known = isByOlderCastree ? "doubt" : "A"
        browser.table = PinTable()
        expect(browser.get(old), equals: known)
        expect(browser.get(new), equals: "B")
        browser.table = PinTable()
        browser.current = try VersionName("C")
        let newest = browser.go()
        expect(Set([old, new, newest]).count, equals: 3)
        expect(browser.get(new), equals: "B")
        expect(browser.get(newest), equals: "C")
        expect(browser.get(old), equals: known)
    }

    @Test(
        "of a page that a worker keeps is its version's, also after restarts of server and browser",
        arguments: [true, false])
    func keptByWorker(_ isScriptFirst: Bool) throws {
        var browser = try browser()
        let first = browser.go()
        let names = try ["A", "B", "C"].map { try VersionName($0) }
        var marks: [PageMark?] = []
        for name in names {
            browser.current = name
            browser.now += .seconds(90)
            marks.append(browser.install())
            expect(browser.get(marks.last ?? nil), equals: name.description)
        }
        expect(marks.first == first && Set(marks).count == 3 && !marks.contains(nil), "\(marks)")
        for _ in 0..<3 {
            browser.table = PinTable(run: "again")
            browser.now += .seconds(30)
            // It shows what it keeps: no navigation comes, only what the page asks for, and that for the script.
            if isScriptFirst { expect(browser.install(), equals: marks[2]) }
            expect(browser.get(marks[2]), equals: "C")
            expect(browser.install(), equals: marks[2])
            expect(browser.cookie?.isLasting == true)
        }
    }

    @Test(
        "and an open page's version outlive a restart whose first request is for a worker's script")
    func workerFirst() throws {
        for isMarked in [true, false] {
            var browser = try browser()
            let mark = isMarked ? browser.go() : nil
            if !isMarked { browser.open() }
            _ = browser.install()
            browser.table = PinTable(run: "1")
            browser.current = try VersionName("B")
            let new = browser.install()
            expect(new != mark || !isMarked)
            browser.now += .seconds(40)
            expect(["A", isMarked ? "A" : "doubt"].contains(browser.get(mark)), "\(isMarked)")
        }
    }

    @Test(
        "is its version's in each of two browsers, also where an earlier run gave it to another version"
    )
    func twoBrowsers() throws {
        for isAskedFirst in [true, false] {
            // Both come back after a restart; the other one continues to newer versions.
            var (own, other) = (try browser(), try browser())
            other.name = "browser-number-two"
            let mark = own.go()
            other.table = own.table
            expect(other.go() == mark)
            var table = PinTable(run: "1")
            if isAskedFirst {
                own.table = table
                expect(own.get(mark), equals: "A")
                table = own.table
            }
            var marks: [PageMark?] = []
            for name in ["B", "C", "D", "E", "F", "G"] {
                other.table = table
                other.current = try VersionName(name)
                marks.append(other.go())
                own.table = other.table
                expect(own.get(mark), equals: "A", "\(name), \(isAskedFirst)")
                table = own.table
            }
            expect(own.table.contradictions, equals: 0)
        }
    }

    @Test(
        "tells further versions apart after a restart if all pages were of one version, however many",
        arguments: [["/"], ["/", "/"], ["/", "/other"], ["/", "/other", "/"]])
    func ofOneVersion(_ paths: [String]) throws {
        var browser = try browser()
        var marks = paths.map { browser.go($0) }.suffix(1)
        browser.table = PinTable(run: "1")
        for (name, seconds) in [("B", 1), ("C", 10), ("D", 1)] {
            browser.now += .seconds(15)
            browser.current = try VersionName(name)
            marks.append(browser.go(isReload: name == "B"))
            browser.now += .seconds(seconds)
            expect(
                marks.map { browser.get($0) },
                equals: Array(["A", "B", "C", "D"].prefix(marks.count)))
        }
        expect(Set(marks).count == 4 && !marks.contains(nil), "\(marks)")
    }

    @Test("is of the newest page for a worker beside it, whatever an older page takes in meanwhile")
    func olderFrames() throws {
        for isFrame in [true, false] {
            var browser = try browser()
            let old = browser.go()
            browser.current = try VersionName("B")
            let new = browser.go()
            for (seconds, expected) in [(2, "B"), (8, "doubt")] {
                browser.now += .seconds(seconds)
                if expected == "B" { expect(browser.get(new), equals: "B") }
                if isFrame {
                    expect(browser.get(old, load: .frame), equals: "A")
                } else {
                    // A document without an address (`srcdoc`).
                    _ = browser.get(old)
                    browser.table.hold(
                        session: "s\(seconds)", connection: 1, word: .version(try VersionName("A")),
                        address: Array("srcdoc".utf8), now: browser.now)
                }
                browser.now += .seconds(1)
                expect(browser.get(nil), equals: expected, "\(isFrame), \(seconds)")
            }
        }
    }

    @Test(
        "is given to no other version while pages of an earlier run may have it", arguments: 1...3)
    func lost(_ restarts: Int) throws {
        var browser = try browser()
        let first = browser.go()
        browser.current = try VersionName("B")
        let second = browser.go()
        // Back to the first: the cookie of an older castree has its mark only.
        browser.current = try VersionName("A")
        expect(browser.go("/other"), equals: first)
        forgetOthers(&browser.cookie)
        browser.current = try VersionName("C")
        for number in 0..<restarts {
            browser.table = PinTable(run: "run\(number)")
            expect(browser.go("/third") == nil)
            expect(browser.get(second), equals: "doubt")
            expect(["doubt", "A"].contains(browser.get(first)))
            browser.now += .seconds(10)
            expect(browser.get(second), equals: "doubt")
        }
    }

    @Test func `that a version has besides another one outlives a restart, too`() throws {
        var browser = try browser()
        let first = try require(browser.go())
        // Another browser has got it for another version meanwhile.
        browser.table.given[first.hints] = try VersionName("B")
        let second = browser.go()
        expect(second != first)
        for number in 0..<2 {
            browser.table = PinTable(run: "run\(number)")
            expect(browser.get(first), equals: "A")
            expect(browser.get(second), equals: "A")
        }
    }

    /// The cookie as an older castree would have set it.
    private func forgetOthers(_ cookie: inout PinCookie?) {
        guard var older = cookie else { return }
        older.marks = older.marks.filter { $0.value == older.version }
        cookie = older
    }

    @Test func `that was never given is of no version`() throws {
        var browser = try browser()
        let mark = browser.go()
        let other = PageMark.all.first { $0 != mark }
        expect(browser.get(other), equals: "doubt")
    }

    @Test func `is given to a seventh version only when one of the six is gone`() throws {
        var browser = try browser()
        var marks: [PageMark?] = []
        for name in ["A", "B", "C", "D", "E", "F"] {
            browser.current = try VersionName(name)
            marks.append(browser.go())
        }
        expect(Set(marks.compactMap { $0 }).count, equals: 6)
        browser.current = try VersionName("G")
        expect(browser.go() == nil)
        browser.now += .seconds(61)
        browser.table.close(connection: 1, now: .zero)
        browser.current = try VersionName("H")
        expect(browser.go(), equals: marks[0])
        expect(browser.get(marks[0]), equals: "H")
        expect(browser.get(marks[5]), equals: "F")
    }

    @Test func `is not given to browsers that send no hints, nor read from all or none`() throws {
        var browser = try browser()
        for hints: UInt8 in [0, 1, 6] {
            let request = PinRequest(load: .page, path: [47], hints: hints)
            guard case .serve(_, _, let mark) = browser.ask(request) else {
                throw Unexpected("no page")
            }
            expect(mark == nil)
        }
        expect(PageMark.all.count, equals: 6)
    }

    @Test func `is part of the cookie, as those of the other pages are`() throws {
        let seal = PageSeal(key: "0123456789abcdef0123456789abcdef")
        let version = try VersionName("1.2-3")
        let others = try ["a-1", "1.2-3", "b", "c~2"].map { try VersionName($0) }
        for (place, mark) in ([nil] + PageMark.all).enumerated() {
            var cookie = PinCookie(
                browser: "0123456789abcdef", version: version, run: place == 4 ? nil : "1",
                others: place == 4 ? [] : Array(others.prefix(place % 5)), isLasting: place % 2 == 0
            )
            var given = [
                (mark: PageMark.all[place % 6], version: others[3]),
                (mark: PageMark.all[(place + 1) % 6], version: others[0]),
            ]
            // A version may have several.
            let own = mark.map { [$0, PageMark.all[(place + 2) % 6]] } ?? []
            given += own.map { (mark: $0, version: version) }
            cookie.note(given)
            expect(own.allSatisfy(cookie.names))
            let text = String(cookie.setCookie("c", seal).prefix { $0 != ";" })
            let head = try RequestHead(method: "GET", target: "/", fields: [("Cookie", text)])
            expect(
                PinRequest(head, cookieName: "c", seal: seal, connection: 1).cookie, equals: cookie)
        }
        for text in [
            "0123456789abcdef-ww.v", "0123456789abcdef-w1.v", "0123456789abcdef-7.v",
            "0123456789abcdef-.v", "0123456789abcdef-1234561234.v",
            "0123456789abcdef-17.v",
        ] {
            let head = try RequestHead(
                method: "GET", target: "/", fields: [("Cookie", "c=" + seal.sealed(text))])
            expect(PinRequest(head, cookieName: "c", seal: seal, connection: 1).cookie == nil)
        }
    }

    @Test
    func `is read from the hints, and written as a policy that switches the others off`() throws {
        let fields = [
            ("Sec-CH-UA", "\"x\";v=\"1\""), ("Sec-CH-UA-Mobile", "?0"),
            ("Sec-CH-UA-Platform", "\"Linux\""),
        ]
        for hints in 0..<8 {
            let sent = fields.enumerated().filter { hints & 1 << $0.offset != 0 }.map(\.element)
            let head = try RequestHead(method: "GET", target: "/a.js", fields: sent)
            expect(PageMark.hints(of: head), equals: UInt8(hints))
        }
        expect(
            PageMark.policy(PageMark(hints: 2)),
            equals: "ch-ua=(), ch-ua-mobile=*, ch-ua-platform=()")
        expect(PageMark.policy(nil), equals: "ch-ua=*, ch-ua-mobile=*, ch-ua-platform=*")
    }
}
