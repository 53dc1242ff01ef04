import StorageTestSupport

@testable import ServeFromCAS

// A logout, a web view's settings, an extension, too many cookies: the browser has none any more, and its pages are open.
@Suite("A page whose browser has lost its cookie")
struct LostCookieTests {
    /// One browser whose cookies are cleared now and then.
    struct Jar {
        var table = PinTable()
        var now = Duration.zero
        var current: VersionName
        var cookie: PinCookie?
        var count = 0

        init() throws { current = try VersionName("1") }

        mutating func ask(_ request: PinRequest) -> PinTable.Decision {
            count += 1
            return table.decide(
                request, current: current, now: now, newBrowser: "browser-number-\(count)",
                contains: { _, _ in true }) ?? .doubt([])
        }

        /// Goes to a page in a tab of its own; its mark.
        mutating func go(_ version: Int, hints: UInt8 = 7) throws -> PageMark? {
            current = try VersionName("\(version)")
            let request = PinRequest(
                load: .page, path: Array("/\(version)".utf8), cookie: cookie,
                connection: UInt64(version), hints: hints)
            guard case .serve(let version, let cookie, let mark) = ask(request) else { return nil }
            expect(version, equals: current)
            self.cookie = cookie ?? self.cookie
            return mark
        }

        /// What a page of a version gets: the version, or `doubt`.
        mutating func get(_ version: Int, _ mark: PageMark?, load: RequestHead.Load = .subresource)
            -> String
        {
            let request = PinRequest(
                load: load, path: Array("/data.json".utf8), referrer: Array("/\(version)".utf8),
                cookie: cookie, connection: UInt64(version), hints: mark?.hints ?? 7, sender: .page)
            return ask(request).name
        }
    }

    /// What became of the older page before its requests come.
    enum Fate: CaseIterable { case open, quiet, inHistory }

    struct Story: CustomStringConvertible {
        /// How many versions the browser has had pages of before the first time that its cookie is lost.
        var before: Int
        /// How often that happens, each time before a page of another version is loaded.
        var losses: Int
        var fate: Fate
        /// Whether the first page of the new cookie's is of a version that was shown before.
        var isBack: Bool
        var description: String {
            "\(before) versions, lost \(losses) times, \(fate)\(isBack ? ", back" : "")"
        }

        /// As many versions as there are marks.
        static let all: [Story] = (1...5).flatMap { before in
            (1...3).flatMap { losses in
                Fate.allCases.flatMap { fate in
                    [false, true].map {
                        Story(before: before, losses: losses, fate: fate, isBack: $0)
                    }
                }
            }
        }.filter { $0.before + $0.losses - ($0.isBack ? 1 : 0) <= PageMark.all.count }
    }

    @Test(
        "gets its own version's files, or a refusal; the newer pages get theirs",
        arguments: Story.all)
    func keeps(_ story: Story) throws {
        var jar = try Jar()
        var pages: [(version: Int, mark: PageMark?)] = []
        for version in 1...story.before { pages.append((version, try jar.go(version))) }
        var next = story.before
        for loss in 1...story.losses {
            jar.cookie = nil
            // Alone it is what its mark says.
            for page in pages {
                expect(jar.get(page.version, page.mark), equals: "\(page.version)")
            }
            switch story.fate {
            case .open: break
            case .quiet: jar.now += .seconds(3600)
            case .inHistory:
                for page in pages {
                    jar.table.close(connection: UInt64(page.version), now: jar.now)
                }
                jar.now += .seconds(120)
                jar.table.expire(now: jar.now)
            }
            next += 1
            let version = story.isBack && loss == 1 ? 1 : next
            pages.append((version, try jar.go(version)))
            for seconds in [0, 1, 5, 60, 600] {
                jar.now += .seconds(seconds)
                for page in pages {
                    for load in [RequestHead.Load.subresource, .frame] {
                        let found = jar.get(page.version, page.mark, load: load)
                        expect(page.mark != nil, "\(page)")
                        expect(
                            found, equals: "\(page.version)", "\(page) after \(pages), \(seconds) s"
                        )
                    }
                }
            }
        }
    }

    @Test func `or never kept one gets its own version's files, across a switch and back`() throws {
        var jar = try Jar()
        var pages: [(version: Int, mark: PageMark?)] = []
        for version in [1, 1, 2, 2, 3, 1] {
            jar.cookie = nil
            pages.append((version, try jar.go(version)))
            jar.cookie = nil
            for page in pages {
                expect(page.mark != nil)
                expect(jar.get(page.version, page.mark), equals: "\(page.version)")
            }
            jar.now += .seconds(5)
        }
    }

    @Test("and has pages of as many versions as there are marks shows a newer one without a mark")
    func full() throws {
        var jar = try Jar()
        var pages: [(version: Int, mark: PageMark?)] = []
        for version in 1...6 { pages.append((version, try jar.go(version))) }
        jar.cookie = nil
        try expect(jar.go(7) == nil)
        for page in pages {
            expect(["\(page.version)", "doubt"].contains(jar.get(page.version, page.mark)))
        }
    }

    @Test
    func `has nothing to do with other browsers, whose pages keep marks of their own`() throws {
        var jar = try Jar()
        let first = try jar.go(1)
        let mine = jar.cookie
        jar.cookie = nil
        let second = try jar.go(2)
        let yours = jar.cookie
        // The first has its cookie still, so it is another browser.
        jar.now += .seconds(1)
        jar.cookie = mine
        expect(jar.get(1, first), equals: "1")
        jar.cookie = yours
        expect(jar.get(2, second), equals: "2")
        for version in 3...8 {
            jar.now += .seconds(61)
            for connection in 1...8 {
                jar.table.close(connection: UInt64(connection), now: jar.now)
            }
            jar.cookie = yours
            let mark = try jar.go(version)
            expect(mark != nil)
            expect(jar.get(version, mark), equals: "\(version)")
        }
        jar.cookie = mine
        // Its mark has been given for another version since, long after it was closed.
        expect(["1", "doubt"].contains(jar.get(1, first)))
    }

    @Test func `does not lend its mark to a browser that sends few hints by nature`() throws {
        var jar = try Jar()
        let mark = try require(try jar.go(1))
        jar.cookie = nil
        try expect(jar.go(2, hints: mark.hints) == nil)
        expect(jar.get(2, mark), equals: "2")
    }
}
