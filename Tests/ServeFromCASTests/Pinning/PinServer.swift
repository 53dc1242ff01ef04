import StorageTestSupport

@testable import ServeFromCAS

/// A server with two versions and a clock that tests move.
struct PinServer {
    var table: PinTable
    var now = Duration.zero
    var current: VersionName
    var count = 0
    var restarts = 0
    /// Paths that only one version has.
    var only: [String: VersionName] = [:]
    let a: VersionName
    let b: VersionName

    init(limits: PinTable.Limits = PinTable.Limits()) throws {
        a = try VersionName("A")
        b = try VersionName("B")
        current = a
        table = PinTable(limits: limits)
    }

    /// One, and a browser with its first connection.
    static func withBrowser() throws -> (PinServer, PinBrowser) {
        (try PinServer(), PinBrowser(connection: 1))
    }

    /// The same, which has gone to its first page.
    static func withPage() throws -> (PinServer, PinBrowser) {
        var (server, browser) = try withBrowser()
        server.go("/", in: &browser)
        return (server, browser)
    }

    mutating func ask(_ request: PinRequest) -> PinTable.Decision {
        count += 1
        let only = only
        let decision = table.decide(
            request, current: current, now: now, newBrowser: "browser-number-\(count)",
            contains: { version, path in
                only[String(decoding: path, as: UTF8.self)].map { $0 == version } ?? true
            })
        // What the versions have is known in any case.
        return decision ?? .doubt([])
    }

    /// Asks for a subresource; the version's name, or `doubt`.
    mutating func get(
        _ path: String, by browser: PinBrowser, from referrer: String?, connection: UInt64? = nil
    ) -> String {
        let request = PinRequest(
            load: .subresource, path: Array(path.utf8),
            referrer: referrer.map { Array($0.utf8) },
            cookie: browser.cookie, connection: connection ?? browser.connection,
            sender: referrer == nil ? .unsaid : .page)
        switch ask(request) {
        case .serve(let version, let cookie, _):
            // Only pages set it, and who finds that others are gone.
            if let cookie, let old = browser.cookie {
                expect(!old.others.allSatisfy(cookie.others.contains))
                expect(cookie.version == old.version && cookie.browser == old.browser)
            } else {
                expect(cookie == nil)
            }
            return version.description
        case .doubt(let versions):
            expect(versions.count > 1)
            return "doubt"
        }
    }

    /// A page begins a session of the bridge; what its request is taken for.
    @discardableResult
    mutating func connect(
        _ session: String, by browser: PinBrowser, from referrer: String? = nil,
        connection: UInt64, word: PageWord? = nil
    ) -> String {
        let found = get("/_castree/bridge", by: browser, from: referrer, connection: connection)
        table.hold(session: session, connection: connection, word: word, now: now)
        return found
    }

    /// Goes somewhere in a tab; the version's name.
    /// - Parameter version: what has become current before.
    @discardableResult
    mutating func go(
        _ path: String, of version: VersionName? = nil, in browser: inout PinBrowser,
        isReload: Bool = false,
        load: RequestHead.Load = .page, from referrer: String? = nil, connection: UInt64? = nil,
        sender: PinRequest.Sender? = nil, leadsToPage: Bool = true
    ) -> String {
        current = version ?? current
        let request = PinRequest(
            load: load, isReload: isReload, path: Array(path.utf8),
            referrer: referrer.map { Array($0.utf8) }, cookie: browser.cookie,
            connection: connection ?? browser.connection,
            sender: sender ?? (referrer == nil ? .unsaid : .page), leadsToPage: leadsToPage)
        switch ask(request) {
        case .serve(let version, let cookie, _):
            browser.cookie = cookie ?? browser.cookie
            return version.description
        case .doubt: return "doubt"
        }
    }

    mutating func wait(_ seconds: Int) { now += .seconds(seconds) }
    var pinned: [String] { table.pinned(now: now).map(\.description) }
}

extension PinTable.Decision {
    /// The version's name, or `doubt`.
    var name: String {
        switch self {
        case .serve(let version, _, _): version.description
        case .doubt: "doubt"
        }
    }
}

struct PinBrowser {
    var cookie: PinCookie?
    var connection: UInt64
}
