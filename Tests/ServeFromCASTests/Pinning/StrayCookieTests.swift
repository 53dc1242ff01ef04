import WebTestSupport

@testable import ServeFromCAS

// Whoever was given a cookie can plant it in another browser, from any port of the same host.
@Suite("A cookie that another browser was given")
struct StrayCookieTests {
    /// How it comes with the page's own.
    enum Place: CaseIterable { case before, behind, instead }

    /// What a stranger has, and what it plants.
    struct Case: Sendable, CustomStringConvertible {
        var place: Place
        /// Whether the page's browser, and the one that the cookie is of, send hints.
        var isMarked: Bool
        var isStrangerMarked: Bool
        /// Whether pages of the stranger's are open.
        var isAlive: Bool
        /// Whether the server has been started again since.
        var isOfEarlierRun: Bool
        /// Whether it is one that the browser had itself before.
        var isOwn: Bool
        var isOld: Bool
        /// Whether it is of a newer version than the page, else of an older one.
        var isNewer: Bool

        var description: String {
            "\(place), marks \(isMarked)/\(isStrangerMarked), alive \(isAlive), earlier run \(isOfEarlierRun), "
                + "own \(isOwn), old \(isOld), newer \(isNewer)"
        }

        /// What no cookie can tell: it is in place of the own one, no mark speaks against it, and it is not old, or its
        /// browser is there (docs/serving.md).
        var isBeyond: Bool { place == .instead && !isMarked && (!isOld || isAlive) }

        static var all: [Case] {
            var all: [Case] = []
            for place in Place.allCases {
                for bits in 0..<128 {
                    func bit(_ place: Int) -> Bool { bits >> place & 1 == 1 }
                    let row = Case(
                        place: place, isMarked: bit(0), isStrangerMarked: bit(1), isAlive: bit(2),
                        isOfEarlierRun: bit(3), isOwn: bit(4), isOld: bit(5), isNewer: bit(6))
                    // An earlier run has shown nothing newer, nor is its page open, nor has the browser had it.
                    if row.isNewer, row.isOfEarlierRun || row.isOwn { continue }
                    if row.isOfEarlierRun || row.isOwn, row.isAlive { continue }
                    // Then the browser has sent the cookie as its own, and is the one that it names.
                    if row.isOwn, row.place == .instead || row.isMarked != row.isStrangerMarked {
                        continue
                    }
                    all.append(row)
                }
            }
            return all
        }
    }

    private struct World {
        var table = PinTable(run: "first")
        var now = Duration.zero
        var current: VersionName
        var count = 0

        mutating func ask(_ request: PinRequest) -> PinTable.Decision {
            count += 1
            let name = "browser-number-\(count)"
            return table.decide(
                request, current: current, now: now, newBrowser: name, contains: { _, _ in true })
                ?? .doubt([])
        }

        /// Goes to the page; its cookie and its mark.
        mutating func go(_ cookie: PinCookie?, hints: Bool, _ connection: UInt64) -> (
            cookie: PinCookie?, mark: PageMark?
        ) {
            let request = PinRequest(
                load: .page, path: [47], cookie: cookie, connection: connection,
                hints: hints ? 7 : 0, sender: .nobody)
            guard case .serve(_, let new, let mark) = ask(request) else { return (nil, nil) }
            return (new ?? cookie, mark)
        }
    }

    @Test func `decides nothing about this one's page, wherever it stands`() throws {
        let (a, b) = (try VersionName("A"), try VersionName("B"))
        expect(Case.all.count > 100)
        for row in Case.all where !row.isBeyond {
            var world = World(current: a)
            let page: (cookie: PinCookie?, mark: PageMark?)
            let planted: PinCookie?
            if row.isNewer {
                page = world.go(nil, hints: row.isMarked, 1)
                world.now += .seconds(1)
                world.current = b
                planted = world.go(nil, hints: row.isStrangerMarked, 2).cookie
            } else {
                planted = world.go(nil, hints: row.isStrangerMarked, 2).cookie
                if row.isOfEarlierRun { world.table = PinTable(run: "second") }
                if !row.isAlive {
                    world.table.close(connection: 2, now: world.now)
                    world.now += .seconds(61)
                }
                world.current = b
                page = world.go(row.isOwn ? planted : nil, hints: row.isMarked, 1)
            }
            if row.isNewer, !row.isAlive {
                world.table.close(connection: 2, now: world.now)
                // The page itself continues meanwhile.
                world.now += .seconds(61)
            }
            let version = row.isNewer ? a : b
            let (own, other) = (try require(page.cookie), try require(planted))
            expect(own.version, equals: version)
            for load in [RequestHead.Load.subresource, .frame] {
                for path in ["/app.js", "/_castree/bridge", "/late.json"] {
                    var request = PinRequest(
                        load: load, path: Array(path.utf8), referrer: [47], cookie: own,
                        connection: 1, hints: page.mark?.hints ?? 0, sender: .page)
                    switch row.place {
                    case .before: request.strays = [other]
                    case .behind: (request.cookie, request.strays) = (other, [own])
                    case .instead: request.cookie = other
                    }
                    request.isCookieOld = row.isOld && row.place != .before
                    let decision = world.ask(request)
                    switch decision {
                    case .serve(let served, _, _): expect(served, equals: version, "\(row)")
                    case .doubt(let versions):
                        // Nothing is refused where the mark tells.
                        let isTold = row.isMarked && row.place != .instead
                        expect(!isTold, "\(row)")
                        expect(versions.isEmpty || versions.contains(version), "\(row)")
                    }
                }
            }
        }
    }

    @Test
    func `is told from the own one by its place, in one field or several, and by its age`() throws {
        let seal = PageSeal(key: "0123456789abcdef0123456789abcdef")
        func value(_ name: String) throws -> String {
            let cookie = PinCookie(
                browser: name + "0123456789abcdef", version: try VersionName("1"), run: "r")
            return String(cookie.setCookie("castree_page_1", seal).prefix { $0 != ";" })
        }
        let (stray, own) = (try value("a"), try value("b"))
        let zeroes = String(repeating: "0", count: 32)
        let forged = "castree_page_1=\(zeroes).0.b0123456789abcdef.1:r"
        let other = "castree_page_2=" + stray.split(separator: "=")[1]
        let rows: [(fields: [String], strays: Int)] = [
            ([own], 0), (["\(stray); \(own)"], 1), ([stray, own], 1), (["\(own); \(own)"], 0),
            (["\(stray); \(stray); a=b; \(own)"], 2), (["\(forged); \(own)"], 0),
            (["\(own); \(forged)"], 0), (["\(own); \(other)", "x=y"], 0),
            (["\(own); x\(stray); castree_page_1; castree_page_1="], 0),
        ]
        for row in rows {
            let head = try RequestHead(
                method: "GET", target: "/", fields: row.fields.map { ("Cookie", $0) })
            let request = PinRequest(head, cookieName: "castree_page_1", seal: seal, connection: 1)
            expect(request.cookie?.browser, equals: "b0123456789abcdef", "\(row)")
            expect(request.strays.count, equals: row.strays, "\(row)")
            expect(!request.isCookieOld)
        }
        let sealed = seal.sealed("b0123456789abcdef.1:r")
        let age = seal.content(of: Array(sealed.utf8)[...], at: 0)?.age ?? 0
        expect(age < -1_000_000_000)
    }

    @Test func `is sealed anew for a page that comes with one of long ago`() throws {
        var world = World(current: try VersionName("A"))
        let cookie = world.go(nil, hints: false, 1).cookie
        for isOld in [false, true] {
            var request = PinRequest(load: .page, isReload: true, path: [47], cookie: cookie)
            request.isCookieOld = isOld
            guard case .serve(_, let new, _) = world.ask(request) else {
                throw Unexpected("no page")
            }
            expect(new != nil, equals: isOld)
        }
    }

    @Test func `of long ago is believed as long as nothing else is open`() throws {
        var world = World(current: try VersionName("A"))
        let cookie = try require(world.go(nil, hints: false, 1).cookie)
        world.table = PinTable(run: "second")
        world.current = try VersionName("B")
        var request = PinRequest(
            load: .subresource, path: Array("/a.js".utf8), referrer: [47], cookie: cookie,
            sender: .page)
        request.isCookieOld = true
        guard case .serve(let version, _, _) = world.ask(request) else {
            throw Unexpected("in doubt")
        }
        expect(version.description, equals: "A")
    }
}
