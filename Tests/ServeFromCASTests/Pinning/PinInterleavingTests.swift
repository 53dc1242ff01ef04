import StorageTestSupport

@testable import ServeFromCAS

// docs/serving.md, "No mixed page": every page is entirely of one version; where that cannot be ensured, the request fails.
// Two tabs of one browser with the bridge's script, and everything that they may do, in every order.
@Suite("Two tabs")
struct PinInterleavingTests {
    /// What a tab does, or somebody else.
    enum Step: Hashable {
        case activate
        /// It goes to its path; it loads that again, or the other's, which its script has written into the address.
        case go(Int), reload(Int), reloadAsOther(Int)
        /// Its bridge connects.
        case connect(Int)
        /// What the page that it had says when it goes has come.
        case goodbye(Int)
        /// Its page asks for a file.
        case ask(Int)

        static let all: [Step] =
            [.activate]
            + (0...1).flatMap {
                [.go($0), .reload($0), .reloadAsOther($0), .connect($0), .goodbye($0), .ask($0)]
            }
    }

    struct Page {
        var path: String
        var version: VersionName
        var mark: PageMark?
        var session: String?
    }

    struct Tab {
        var home: String
        var page: Page?
        /// Those that have gone, and of which the server has not heard so.
        var gone: [Page] = []
    }

    /// A server, and a browser with two tabs.
    struct World {
        var table = PinTable()
        var now = Duration.zero
        var current: VersionName
        let names: [VersionName]
        var cookie: PinCookie?
        var tabs: [Tab]
        var count = 0
        let hasHints: Bool
        var steps: [Step] = []

        init(paths: [String], hasHints: Bool) throws {
            names = [try VersionName("A"), try VersionName("B")]
            current = names[0]
            tabs = paths.map { Tab(home: $0) }
            self.hasHints = hasHints
        }

        mutating func decide(_ request: PinRequest) -> PinTable.Decision {
            var request = request
            request.cookie = cookie
            return table.decide(
                request, current: current, now: now, newBrowser: "browser-number-one",
                contains: { _, _ in true }) ?? .doubt([])
        }

        /// Loads a page; the one before is gone, if there was any.
        mutating func load(_ path: String, isReload: Bool, in tab: Int) {
            let request = PinRequest(
                load: .page, isReload: isReload, path: Array(path.utf8), connection: UInt64(tab),
                hints: hasHints ? 7 : 0)
            guard case .serve(let version, let cookie, let mark) = decide(request) else { return }
            self.cookie = cookie ?? self.cookie
            if let page = tabs[tab].page, page.session != nil { tabs[tab].gone.append(page) }
            tabs[tab].page = Page(path: path, version: version, mark: mark)
        }

        func request(of page: Page, _ path: String, from referrer: String?, _ tab: Int)
            -> PinRequest
        {
            PinRequest(
                load: .subresource, path: Array(path.utf8),
                referrer: referrer.map { Array($0.utf8) },
                connection: UInt64(tab), hints: page.mark?.hints ?? 0,
                sender: referrer == nil ? .unsaid : .page)
        }

        /// Whether the step is possible; it is done then.
        mutating func takes(_ step: Step) -> Bool {
            switch step {
            case .activate: current = current == names[0] ? names[1] : names[0]
            case .go(let tab): load(tabs[tab].home, isReload: false, in: tab)
            case .reload(let tab):
                guard let page = tabs[tab].page else { return false }
                load(page.path, isReload: true, in: tab)
            case .reloadAsOther(let tab):
                guard let page = tabs[tab].page, let other = tabs[1 - tab].page,
                    page.path != other.path
                else { return false }
                load(other.path, isReload: true, in: tab)
            case .connect(let tab):
                guard var page = tabs[tab].page, page.session == nil else { return false }
                count += 1
                page.session = "\(count)"
                tabs[tab].page = page
                let connection = UInt64(100 + count)
                var request = request(of: page, "/_castree/bridge", from: nil, tab)
                request.connection = connection
                _ = decide(request)
                table.hold(
                    session: "\(count)", connection: connection, word: .version(page.version),
                    address: Array(page.path.utf8), now: now)
            case .goodbye(let tab):
                guard !tabs[tab].gone.isEmpty else { return false }
                let page = tabs[tab].gone.removeFirst()
                guard let session = page.session, let number = UInt64(session) else { return false }
                let path = Array(page.path.utf8)
                table.hold(session: session, connection: UInt64(tab), address: path, now: now)
                table.goes(session: session, paths: [path], isKept: false, now: now)
                table.leave(session: session, now: now)
                table.close(connection: 100 + number, now: now)
            case .ask(let tab):
                guard let page = tabs[tab].page else { return false }
                _ = decide(request(of: page, "/late.js", from: page.path, tab))
            }
            // A page that has just begun counts as the one that asks; that is another promise.
            now += .seconds(4)
            steps.append(step)
            return true
        }

        /// What an open page gets that is of another version.
        var wrong: String? {
            for (number, tab) in tabs.enumerated() {
                guard let page = tab.page else { continue }
                for referrer in [page.path, "/style.css"] {
                    var copy = self
                    let request = request(of: page, "/late.js", from: referrer, number)
                    guard case .serve(let version, _, _) = copy.decide(request),
                        version != page.version
                    else { continue }
                    return "tab \(number) of \(page.version) gets \(version): \(steps)"
                }
                if page.session != nil, !table.pinned(now: now).contains(page.version) {
                    return "tab \(number) holds nothing: \(steps)"
                }
            }
            return nil
        }

        /// All pages go, and the browser ends.
        mutating func end() {
            for tab in tabs.indices {
                if let page = tabs[tab].page, page.session != nil { tabs[tab].gone.append(page) }
                while takes(.goodbye(tab)) {}
                table.close(connection: UInt64(tab), now: now)
            }
            now += .seconds(61)
        }
    }

    /// What has happened before: somebody else's page of A is open in all of them, or was within the last minute.
    private static let beginnings: [[Step]] = [
        [.go(0)], [.activate, .go(0), .go(1)], [.go(0), .go(1), .connect(0), .connect(1)],
        [.go(0), .connect(0), .activate, .go(1)],
    ]

    @Test(
        "never get each other's version, whatever they do", arguments: [["/a", "/b"], ["/", "/"]])
    func interleavings(_ paths: [String]) throws {
        for hasHints in [false, true] {
            for beginning in Self.beginnings {
                var world = try World(paths: paths, hasHints: hasHints)
                world.load("/third", isReload: false, in: 0)
                world.tabs[0].page = nil
                for step in beginning { expect(world.takes(step)) }
                var found: [String] = []
                Self.explore(world, depth: hasHints ? 2 : 4, &found)
                expect(found.isEmpty, "\(found.count): \(found.first ?? "")")
            }
        }
    }

    private static func explore(_ world: World, depth: Int, _ found: inout [String]) {
        if let wrong = world.wrong { return found.append(wrong) }
        guard depth > 0 else {
            var last = world
            last.end()
            if !last.table.pinned(now: last.now).isEmpty { found.append("held: \(last.steps)") }
            return
        }
        for step in Step.all {
            var next = world
            if next.takes(step) { explore(next, depth: depth - 1, &found) }
        }
    }
}
