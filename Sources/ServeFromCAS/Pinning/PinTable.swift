package import VersionTree
package import WebServer

/// Which version each page was loaded from, so that every later request of the page gets that one.
///
/// A pure state machine: requests and times in, versions out. One for all threads of a server, behind
/// a lock, and asked about every request: it knows which pages live by what they ask for.
///
/// **What is known of a request.** A navigation begins a *load*: a page of the version current at that
/// moment. A reload is a navigation. Everything else belongs to a load begun before, but HTTP does not
/// say to which: a cookie is shared by all tabs of a browser; the Referer is the page's present
/// address, which its scripts may change, or the script or style that asks. So the answer is found by
/// exclusion:
///
/// 0. A request with a ``PageMark`` is of the version that has the mark in its browser. In browsers of
///    the Chromium family that is every request but those of workers; the rest is for the others.
/// 1. The cookie names the browser. If all its live loads are of one version, it is that one. This is
///    every case but two tabs, or one that has just gone on, on both sides of a switch.
/// 2. A script or style as Referer excludes the versions that do not have it.
/// 3. While the newest page is loading (no pause of `loading` yet, and not for longer than
///    `loadingMax`) the request is taken for its, if it can be.
/// 4. Else there is doubt. Where the versions agree about the path, all is well; where they differ the
///    caller refuses with ``refusal(_:)``: a request that fails is seen, a mixed page is not.
///
/// A reload ends the load it replaces when only one page stood at that path. A page with the bridge
/// says itself when it goes, and until then holds its load by its session, however often its
/// connection breaks. A frame is part of what a
/// person sees as one page: it gets the version of the page around it; so does a page fetched ahead,
/// since its visit sends no navigation. After a restart of the server the cookie alone says which
/// versions were open; if they were several, the rules above go on from there (``recallPages``).
///
/// **Limits.** Rule 3 can be wrong when an older page, in another tab of the same browser, asks for a
/// file that differs, and has no hashed name, within the moment that a newer page loads. A page silent
/// for longer than the grace, without a connection, is taken for closed; if it was not, and a newer
/// one is open in the same browser, it may then get the newer one's files. A page that holds a
/// connection, as the bridge does, is never taken for closed. A service worker answers as it likes.
///
/// **The price.** A tab without the bridge that goes on across a switch, without a reload, looks like
/// two tabs. Until the grace of its old page is over, what its new page asks for late, and differs, and
/// has no hashed name, is refused. The Referer of the navigation would not help: it is the same when the
/// link was opened in another tab.
package struct PinTable: Sendable {
    /// How much is remembered, and how long.
    package struct Limits: Sendable, Hashable {
        /// Browsers: the one longest silent goes first, and first of all those that have shown no
        /// cookie yet.
        package var browsers = 1024
        /// Loads of one browser.
        package var loads = 32
        /// How long a load counts after its last request and the end of its last connection.
        package var grace = Duration.seconds(60)
        /// The longest pause between two requests of a page that is still loading.
        package var loading = Duration.seconds(3)
        /// The longest that a page counts as loading: one that asks again and again has loaded.
        package var loadingMax = Duration.seconds(30)
        /// How long after a restart pages of which only the cookie tells are held while one of them asks.
        package var recalled = Duration.seconds(600)
        package init() {}
    }

    /// What a request gets.
    package enum Decision: Sendable, Hashable {
        /// This version; set the cookie if there is one; mark the page if it is one.
        case serve(VersionName, cookie: PinCookie?, mark: PageMark?)
        /// The first if all of them agree (``agree(_:on:)``), else ``refusal(_:)``.
        case doubt([VersionName])
    }

    struct Load: Sendable {
        var number: UInt64
        var path: [UInt8]
        var version: VersionName
        // Its last request; or the end of its last connection, if that was later.
        var usedAt: Duration
        // Its last request: the end of a connection is no sign that it is still loading.
        var askedAt: Duration
        var begunAt: Duration
        // How many navigations it stands for: pages of one path and version.
        var pages = 1
        // How many of those have a session of the bridge.
        var sessions = 0
        var connections = 0
        // The load of the page that a frame is in.
        var parent: UInt64?
        // Its page is gone; what is under way still counts.
        var isOver = false
    }

    struct Browser: Sendable {
        var loads: [Load] = []
        var hasShownCookie = false
        var usedAt: Duration
        // The marks given to pages, the oldest first; kept longer than the loads, since a page may come
        // back from the browser's history without asking for itself.
        var marks: [(mark: PageMark, version: VersionName)] = []
        // Pages of an earlier run may have marks that are not known: no mark is free.
        var hasLostMarks = false
    }

    /// The page of a session of the bridge.
    struct Holder: Sendable {
        var browser: String
        var load: UInt64
        var path: [UInt8]
        var version: VersionName
    }

    /// What a page holds of which it cannot be told which it is: it is one of these.
    struct Crowd: Sendable {
        var session: String
        var browser: String
        var loads: [UInt64]
    }

    var limits: Limits
    /// Tells the runs of a server apart: its cookies say which of them set them.
    let run: String
    var sessions: [String: Holder] = [:]
    var browsers: [String: Browser] = [:]
    var connections: [UInt64: (browser: String, load: UInt64)] = [:]
    /// The browsers of connections whose last request was in doubt.
    var doubts: [UInt64: String] = [:]
    /// What the connections of such pages hold: all loads that may be the page's.
    var crowds: [UInt64: Crowd] = [:]
    /// The cookies of earlier runs whose pages were taken for open, by browser.
    var recalled: [String: PinCookie] = [:]
    var nextLoad: UInt64 = 0

    /// - Parameter run: 1 to 16 letters and digits, others at each start of the server.
    package init(limits: Limits = Limits(), run: String = "0") {
        self.limits = limits
        self.run = run
    }

    /// Decides which version a request gets.
    ///
    /// - Parameters:
    ///   - current: what new pages get.
    ///   - now: of any clock that only goes forward.
    ///   - newBrowser: 16 to 64 random letters and digits, for a browser without a cookie.
    ///   - contains: whether a version has a path; asked about Referers only.
    package mutating func decide(
        _ request: PinRequest, current: VersionName, now: Duration,
        newBrowser: @autoclosure () -> String,
        contains: (VersionName, [UInt8]) -> Bool
    ) -> Decision {
        // Known in any case.
        decideIfKnown(request, current: current, now: now, newBrowser: newBrowser()) {
            contains($0, $1)
        }
            ?? .doubt([])
    }

    /// As `decide`, where it may not be at hand what a version has: `contains` is `nil` then.
    ///
    /// - Returns: `nil` if that is needed. Ask again when it is known; nothing was begun.
    package mutating func decideIfKnown(
        _ request: PinRequest, current: VersionName, now: Duration,
        newBrowser: @autoclosure () -> String,
        contains: (VersionName, [UInt8]) -> Bool?
    ) -> Decision? {
        let isPage =
            request.load == .page || (request.load == .frame && request.referrer == nil)
        recallPages(request, isPage: isPage, now)
        if isPage {
            let browser = request.cookie?.browser ?? newBrowser()
            begin(request, browser, current, now)
            if let cookie = request.cookie {
                recall(cookie, isMarking: request.canBeMarked, now)
            }
            let mark = request.canBeMarked ? mark(for: current, browser, now) : nil
            let cookie = PinCookie(
                browser: browser, version: current, mark: mark, run: run,
                others: otherVersions(browser, now))
            return .serve(
                current, cookie: cookie == request.cookie ? nil : cookie, mark: mark)
        }
        guard let cookie = request.cookie else {
            return withoutCookie(request, current, now, contains)
        }
        recall(cookie, isMarking: false, now)
        if let mark = request.mark, let browser = browsers[cookie.browser],
            !browser.marks.isEmpty || browser.hasLostMarks
        {
            // A page of whose mark nothing is known is of no version that is.
            guard let version = browser.marks.first(where: { $0.mark == mark })?.version else {
                return doubt([], of: request, cookie)
            }
            serve(request, cookie.browser, version, now)
            return .serve(
                version, cookie: correction(of: cookie, request, version, now), mark: mark)
        }
        guard let place = browsers.index(forKey: cookie.browser),
            browsers.values[place].loads.contains(where: { isLive($0, now) })
        else {
            // Forgotten, or the server was started anew: the cookie remembers.
            note(request, cookie.browser, cookie.version, now)
            return .serve(
                cookie.version, cookie: correction(of: cookie, request, cookie.version, now),
                mark: request.mark)
        }
        browsers.values[place].hasShownCookie = true
        browsers.values[place].usedAt = now
        if request.load != .frame, let load = onlyVersion(at: place, request, now) {
            browsers.values[place].loads[load].usedAt = now
            browsers.values[place].loads[load].askedAt = now
            let (number, version) = (
                browsers.values[place].loads[load].number,
                browsers.values[place].loads[load].version
            )
            attach(request.connection, cookie.browser, number, now)
            return .serve(
                version, cookie: correction(of: cookie, request, version, now),
                mark: request.mark)
        }
        var browser = browsers.values[place]
        let live = browser.loads.indices.filter { isLive(browser.loads[$0], now) }
        guard let possible = Self.possible(live.map { browser.loads[$0] }, request, contains)
        else { return nil }
        let versions = Self.versions(possible)
        let newest = possible.last
        if let newest, versions.count == 1 || isLoading(newest, now) {
            // Of the loads of that version, the one whose path the Referer is.
            let own = possible.last { $0.version == newest.version && $0.path == request.referrer }
            let number = (own ?? newest).number
            for index in live where browser.loads[index].number == number {
                browser.loads[index].usedAt = now
                browser.loads[index].askedAt = now
            }
            browsers[cookie.browser] = browser
            attach(request.connection, cookie.browser, number, now)
            if request.load == .frame {
                note(request, cookie.browser, newest.version, now, parent: number)
            }
            return .serve(newest.version, cookie: nil, mark: nil)
        }
        for index in live where versions.contains(browser.loads[index].version) {
            browser.loads[index].heard(request, at: now, limits)
        }
        browsers[cookie.browser] = browser
        return doubt(versions, of: request, cookie)
    }

    /// Where the load stands that a request is of, if a browser's live loads are all of one version.
    ///
    /// Nearly every request of a page; nothing is copied for it.
    private func onlyVersion(
        at place: Dictionary<String, Browser>.Index, _ request: PinRequest, _ now: Duration
    ) -> Int? {
        var (newest, own) = (-1, -1)
        for index in browsers.values[place].loads.indices {
            let load = browsers.values[place].loads[index]
            guard isLive(load, now) else { continue }
            if newest >= 0, load.version != browsers.values[place].loads[newest].version {
                return nil
            }
            newest = index
            if load.path == request.referrer { own = index }
        }
        if own >= 0 { return own }
        return newest >= 0 ? newest : nil
    }

    /// Whether a request gets the same bytes of all these versions.
    package static func agree(_ sites: [Site], on request: borrowing RequestHead) -> Bool {
        guard let first = sites.first else { return false }
        let shown = Responder(site: first).shown(request)
        for other in sites.dropFirst() where Responder(site: other).shown(request) != shown {
            return false
        }
        return true
    }

    /// What a request in doubt gets where the versions differ.
    package static func refusal(_ method: Method) -> Response {
        PlainAnswer.response(
            409,
            "Pages of two versions are open, and it cannot be told which one asks: load the page again.",
            method: method)
    }

    /// A request without a cookie: not a page's if it has no Referer, else of any page there is
    /// (a web app manifest is fetched without cookies).
    private func withoutCookie(
        _ request: PinRequest, _ current: VersionName, _ now: Duration,
        _ contains: (VersionName, [UInt8]) -> Bool?
    ) -> Decision? {
        guard request.referrer != nil else { return .serve(current, cookie: nil, mark: nil) }
        var live: [Load] = []
        for browser in browsers.values { live += browser.loads.filter { isLive($0, now) } }
        live.sort { $0.number < $1.number }
        guard let possible = Self.possible(live, request, contains) else { return nil }
        let versions = Self.versions(possible)
        if versions.count > 1 { return .doubt(versions) }
        return .serve(versions.first ?? current, cookie: nil, mark: nil)
    }

    /// The loads that a request can be of.
    ///
    /// A page may give itself any address, so the address of a page excludes nothing; a script or
    /// style has the address it was loaded from. `nil` if it is not known yet which version has that.
    private static func possible(
        _ loads: [Load], _ request: PinRequest, _ contains: (VersionName, [UInt8]) -> Bool?
    ) -> [Load]? {
        guard let referrer = request.referrer, versions(loads).count > 1,
            Responder.isAsset(referrer[...])
        else { return loads }
        var possible: [Load] = []
        var isKnown = true
        for load in loads {
            switch contains(load.version, referrer) {
            case true?: possible.append(load)
            case false?: continue
            case nil: isKnown = false
            }
        }
        guard isKnown else { return nil }
        return possible.isEmpty ? loads : possible
    }

    /// The versions of loads, the newest load's first.
    private static func versions(_ loads: [Load]) -> [VersionName] {
        var result: [VersionName] = []
        for load in loads.reversed() where !result.contains(load.version) {
            result.append(load.version)
        }
        return result
    }

    /// Begins a load.
    private mutating func begin(
        _ request: PinRequest, _ name: String, _ version: VersionName, _ now: Duration
    ) {
        if request.isReload, var browser = browsers[name] {
            let there = browser.loads.indices.filter {
                isLive(browser.loads[$0], now) && browser.loads[$0].path == request.path
            }
            if there.count == 1, browser.loads[there[0]].pages == 1 {
                browser.loads[there[0]].isOver = true
                browser.endFrames(of: browser.loads[there[0]].number)
                browsers[name] = browser
            }
        }
        note(request, name, version, now)
    }

    /// Makes the load of a path and version the newest one; makes it if it is not there.
    mutating func note(
        _ request: PinRequest, _ name: String, _ version: VersionName, _ now: Duration,
        parent: UInt64? = nil
    ) {
        var browser = browsers[name] ?? Browser(usedAt: now)
        browser.usedAt = now
        if request.cookie != nil { browser.hasShownCookie = true }
        // A subresource that only the cookie explains belongs to the page that it names.
        let path = request.load == .subresource ? request.referrer ?? [] : request.path
        nextLoad += 1
        var load = Load(
            number: nextLoad, path: path, version: version, usedAt: now, askedAt: now, begunAt: now)
        load.parent = parent
        let same = browser.loads.firstIndex {
            isLive($0, now) && $0.version == version && $0.path == path
        }
        if let same {
            let old = browser.loads.remove(at: same)
            load.number = old.number
            load.pages = min(old.pages + 1, 1_000_000)
            load.sessions = old.sessions
            load.connections = old.connections
        }
        browser.loads.append(load)
        if browser.loads.count > limits.loads {
            browser.loads.removeAll { !isHeld($0, now) }
            // Numbers of loads that are gone are no longer found, and do no harm.
            if browser.loads.count > limits.loads { browser.loads.removeFirst() }
        }
        browsers[name] = browser
        attach(request.connection, name, load.number, now)
        if browsers.count > limits.browsers { makeRoom(keeping: name, now) }
    }

    mutating func makeRoom(keeping name: String, _ now: Duration) {
        expire(now: now)
        guard browsers.count > limits.browsers else { return }
        let others = browsers.filter { $0.key != name }
        let first = others.min {
            ($0.value.hasShownCookie ? 1 : 0, $0.value.usedAt)
                < ($1.value.hasShownCookie ? 1 : 0, $1.value.usedAt)
        }
        if let first { browsers[first.key] = nil }
    }
}
