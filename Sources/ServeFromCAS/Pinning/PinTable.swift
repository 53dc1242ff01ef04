import VersionTree
import WebServer

/// Which version each page was loaded from, so that every later request of the page gets the same.
///
/// A pure state machine: requests and times in, versions out. All threads of a server share one, behind a lock, and
/// call it for every request, because requests show that a page is open.
///
/// **What is known of a request.** A navigation, including a reload, begins a *load*: a page of the version current
/// at that moment. Everything else belongs to an earlier load, but HTTP does not say to which: all tabs of a browser
/// share a cookie; the Referer is the page's present address, which its scripts may change, or the script or style
/// that sends the request. So the answer is found by exclusion:
///
/// 0. A request with a ``PageMark`` is of the version that has the mark in its browser. Browsers of the Chromium
///    family mark every request except those of workers; the other rules cover the rest.
/// 1. The cookie names the browser. If all its live loads have one version, it is that one. This covers everything
///    but two tabs, or one that has just navigated, on both sides of a switch.
/// 2. A script or style as Referer excludes the versions that do not have it.
/// 3. While the newest page is loading (no pause of `loading` yet, and not for longer than `loadingMax`) the request
///    counts as its own if possible: not if its cookie is from before that page, nor if its Referer is an older
///    page's address and not the newest's, because the navigation may have been abandoned.
/// 4. Otherwise there is doubt. If the versions agree about the path, all is well; if they differ, the caller refuses
///    with ``refusal(_:)``: a person sees a failed request, but not a mixed page.
///
/// A page with the bridge reports its own end, and until then its session holds its load, however often its
/// connection breaks. A reload ends the load it replaces if that is the browser's only one, and has no session. A
/// navigation to something other than a document (a download) begins nothing. A frame is part of what a person sees
/// as one page, so it gets the version of the page around it. So does a prefetched page, because its visit sends no
/// navigation. After a restart of the server, only the cookie says which versions were open; if there were several,
/// the rules above continue from there (``recallPages``).
///
/// **Whose cookie it is** is not certain, since all servers of a host's name share the cookies: where others, the
/// mark, or its age contradict it, no cookie decides (``contradiction(_:_:)``).
///
/// **Limits.** Rule 3 can be wrong if an older page, in another tab of the same browser, requests a file that differs
/// and has no hashed name while a newer page loads. A page without a connection that is silent for longer than the
/// grace counts as closed; if it was not, and a newer one is open in the same browser, it may then get the newer
/// one's files. A page that holds a connection, as the bridge does, never counts as closed. A service worker answers
/// as it likes; see `PinTable+Workers` for its script and its own requests.
///
/// **The price.** A tab without the bridge that navigates across a switch, without a reload, looks like two tabs.
/// Until the grace of its old page is over, late requests of its new page for files that differ and have no hashed
/// name are refused. The Referer of the navigation would not help: it is the same if the link was opened in another
/// tab.
struct PinTable: Sendable {
    struct Limits: Sendable, Hashable {
        /// Browsers; those that have not shown a cookie yet go first, then the one silent for longest.
        var browsers = 1024
        var loads = 32
        /// How long a load counts after its last request and the end of its last connection.
        var grace = Duration.seconds(60)
        /// The longest pause between two requests of a page that is still loading.
        var loading = Duration.seconds(3)
        /// The longest time for which a page counts as loading.
        var loadingMax = Duration.seconds(30)
        /// The longest pause between two requests of a service worker that installs.
        var installing = Duration.seconds(1)
        /// How long after a restart pages known only from the cookie are held while one of them asks.
        var recalled = Duration.seconds(600)
    }

    enum Decision: Sendable, Hashable {
        /// This version; set the cookie if there is one; if the request is for a page, mark it.
        case serve(VersionName, cookie: PinCookie?, mark: PageMark?)
        /// The first version if all agree (``agree(_:on:)``), otherwise ``refusal(_:)``. An empty list means any
        /// version of the store.
        case doubt([VersionName])
    }

    struct Load: Sendable {
        var number: UInt64
        var path: [UInt8]
        var version: VersionName
        // The time of its last request, or of the end of its last connection if that was later.
        var usedAt: Duration
        // The time of its last request: the end of a connection does not show that it is still loading.
        var askedAt: Duration
        var begunAt: Duration
        // How many navigations it covers: pages of one path and version.
        var pages = 1
        // How many of those have a session of the bridge.
        var sessions = 0
        var connections = 0
        // For a frame, the load of the page around it.
        var parent: UInt64?
        // Whether a frame of another origin's page shows it, or one of its pages.
        var isEmbedded = false
        // Whether its requests carry no hints, or may do so, because the page around it has a mark.
        var isSilent = false
        // Whether a navigation was answered with it; else only a cookie or a page's report names it.
        var isAnswered = true
        // Whether requests with its version's mark named it.
        var isMarked = false
        // Its page is gone; requests under way still count.
        var isOver = false
        // Its requests have paused: what comes later is no part of its loading.
        var isLoaded = false

        mutating func asks(at now: Duration, _ limits: Limits) {
            isLoaded = isLoaded || now - askedAt > limits.loading
            usedAt = now
            askedAt = now
        }

        mutating func loses(connectionAt now: Duration) {
            connections -= 1
            usedAt = max(usedAt, now)
        }
    }

    struct Browser: Sendable {
        var loads: [Load] = []
        var hasShownCookie = false
        // The version in the cookie that this run last gave it, whatever its requests say since.
        var told: VersionName?
        var usedAt: Duration
        // The marks given to pages, the oldest first. They outlive the loads, because a page may come back from the
        // browser's history without a request for itself.
        var marks: [(mark: PageMark, version: VersionName)] = []
        // What another castree server's page left of the hints of a page in its frame, last: no mark from then on.
        var hintsAround: UInt8?
        // The hints that it sends, if it cannot be told to mark requests.
        var plainHints: UInt8?
        // Whether marks are from an earlier run: in this one, another version's pages may have them in other
        // browsers.
        var hasRecalled = false
        // Pages of an earlier run may have unknown marks: no mark is free.
        var hasLostMarks = false
        // When it came without a cookie, if it can be told to mark requests: its earlier pages may still be open,
        // with marks of an earlier cookie's browser.
        var bareSince: Duration?
        // The service workers' scripts that it was given, the oldest first.
        var workers: [Worker] = []
        // Whether an earlier run gave it one.
        var hasEarlierWorker = false
        // Whether one of its workers has shown a page that it kept.
        var keepsPages = false
        // Whether one of them has asked for a page by its address.
        var asksByAddress = false
    }

    /// The page of a session of the bridge.
    struct Holder: Sendable {
        var browser: String
        var load: UInt64
        var path: [UInt8]
        var version: VersionName
        /// Whether a navigation was answered with that version for it.
        var isAnswered = true
    }

    /// A session of the bridge, what its page says of itself, and whether it was told what waits for it.
    struct Session: Sendable {
        /// `nil` as long as the page may be any.
        var page: Holder?
        /// How many loads there had been when it began: its page is none of the later ones.
        var opened: UInt64?
        /// The path that its page reports it was loaded from; its load has the same path.
        var address: [UInt8]?
        /// The later version that its page also belongs to, with all that it has loaded.
        var successor: VersionName?
        var word: PageWord?
        // In a frame of another origin's page.
        var isEmbedded = false
        // No worker can have shown it.
        var isFromNetwork = false
        var isHidden = false
        // It has not yet been told what waits for it.
        var isNewcomer = false
        // When it reported for the first time.
        var heardAt: Duration?
        // The version that it confirmed before anybody had started that.
        var earlyWord: String?
    }

    /// The loads held for a page that may be any of them.
    struct Crowd: Sendable {
        var session: String
        var browser: String
        var loads: [UInt64]
    }

    var limits: Limits
    /// Distinguishes the runs of a server: a cookie says which run set it.
    let run: String
    var sessions: [String: Session] = [:]
    /// By session, the loads of a page in the back/forward cache, and of its frames.
    var kept: [String: [UInt64]] = [:]
    var browsers: [String: Browser] = [:]
    var connections: [UInt64: (browser: String, load: UInt64)] = [:]
    /// The browsers of connections whose last request was in doubt.
    var doubts: [UInt64: String] = [:]
    /// All loads that such a connection's page may have.
    var crowds: [UInt64: Crowd] = [:]
    /// By browser, the cookies of earlier runs whose pages were assumed to be open.
    var recalled: [String: PinCookie] = [:]
    var nextLoad: UInt64 = 0
    /// By hints, the version to which this run last gave a mark, in whichever browser.
    var given: [UInt8: VersionName] = [:]
    /// The browsers of the requests that wait for what pages are to be told, by ticket.
    var polls: [UInt64: String] = [:]
    /// Until when another origin may be behind what a browser's pages do.
    var led: [String: Duration] = [:]
    /// How many requests were in doubt because their cookies, or cookie and mark, contradicted each other.
    var contradictions = 0

    /// - Parameter run: 1 to 16 letters and digits, different at each start of the server.
    init(limits: Limits = Limits(), run: String = "0") {
        self.limits = limits
        self.run = run
    }

    /// Whether all these versions give a request the same bytes.
    static func agree(_ sites: [Site], on request: borrowing RequestHead) -> Bool {
        guard let first = sites.first else { return false }
        let shown = Responder(site: first).shown(request)
        for other in sites.dropFirst() where Responder(site: other).shown(request) != shown {
            return false
        }
        return true
    }

    static func refusal(_ method: Method) -> Response {
        PlainAnswer.response(
            409,
            "The server cannot tell which of several open versions this page has: load the page again.",
            method: method)
    }

    // MARK: How long a load counts, and which versions are pinned

    /// Whether requests may still come from a load's page.
    func isLive(_ load: Load, _ now: Duration) -> Bool { !load.isOver && isHeld(load, now) }

    func isHeld(_ load: Load, _ now: Duration) -> Bool {
        load.connections > 0 || now - load.usedAt <= limits.grace
    }

    /// Whether a load's page still requests what it needs at its start.
    func isLoading(_ load: Load, _ now: Duration) -> Bool {
        !load.isLoaded && now - load.askedAt <= limits.loading
            && now - load.begunAt <= limits.loadingMax
    }

    /// Lets a connection hold a load instead of its previous one: a browser's connections serve one page after
    /// another.
    mutating func attach(
        _ connection: UInt64, _ browser: String, _ number: UInt64, _ now: Duration
    ) {
        if !doubts.isEmpty { doubts[connection] = nil }
        if !crowds.isEmpty { release(crowdOf: connection, now) }
        if let held = connections[connection], held.browser == browser, held.load == number {
            return
        }
        detach(connection, now)
        var isThere = false
        change(browser, number) { load in
            load.connections += 1
            isThere = true
        }
        if isThere { connections[connection] = (browser, number) }
    }

    /// Notes that a connection has ended: from now on, the grace runs for its page.
    mutating func close(connection: UInt64, now: Duration) {
        doubts[connection] = nil
        release(crowdOf: connection, now)
        detach(connection, now)
    }

    mutating func doubt(
        _ versions: [VersionName], of request: PinRequest, _ cookie: PinCookie
    ) -> Decision {
        doubts[request.connection] = cookie.browser
        return .doubt(versions)
    }

    /// Holds all live loads of a browser; the choice stays the same while the connection lasts.
    mutating func holdAll(
        _ name: String, _ session: String, _ connection: UInt64, _ now: Duration
    ) {
        guard crowds[connection] == nil, var browser = browsers[name] else { return }
        var numbers: [UInt64] = []
        for index in browser.loads.indices where isLive(browser.loads[index], now) {
            browser.loads[index].connections += 1
            numbers.append(browser.loads[index].number)
        }
        browsers[name] = browser
        crowds[connection] = Crowd(session: session, browser: name, loads: numbers)
    }

    mutating func release(crowdOf connection: UInt64, _ now: Duration) {
        guard let crowd = crowds.removeValue(forKey: connection) else { return }
        for number in crowd.loads {
            change(crowd.browser, number) { $0.loses(connectionAt: now) }
        }
    }

    mutating func detach(_ connection: UInt64, _ now: Duration) {
        guard let held = connections.removeValue(forKey: connection) else { return }
        change(held.browser, held.load) { $0.loses(connectionAt: now) }
    }

    mutating func change(
        _ name: String, _ number: UInt64, _ body: (inout Load) -> Void
    ) {
        guard var browser = browsers[name],
            let index = browser.loads.firstIndex(where: { $0.number == number })
        else { return }
        body(&browser.loads[index])
        browsers[name] = browser
    }

    mutating func expire(now: Duration) {
        for (name, browser) in browsers {
            var rest = browser
            rest.loads.removeAll { !isHeld($0, now) }
            browsers[name] = rest.loads.isEmpty && rest.marks.isEmpty ? nil : rest
        }
    }

    func pinned(now: Duration) -> [VersionName] {
        var result: Set<VersionName> = []
        for browser in browsers.values {
            for load in browser.loads where isHeld(load, now) { result.insert(load.version) }
        }
        return result.sorted()
    }

    // MARK: Loads begin, and browsers are forgotten when there are too many

    /// Begins a load.
    ///
    /// A reload ends the page that it replaces at once only if that is certain: scripts change addresses, so any page
    /// of the browser may be reloading at another one's. A page with a session reports its own end.
    /// - Returns: the load of one page that a reload replaces, as far as its address tells.
    mutating func begin(
        _ request: PinRequest, _ name: String, _ version: VersionName, _ now: Duration
    ) -> UInt64? {
        var replaced: UInt64?
        if request.isReload, var browser = browsers[name] {
            let live = browser.loads.indices.filter { isLive(browser.loads[$0], now) }
            let there = live.filter { browser.loads[$0].path == request.path }
            if there.count == 1, browser.loads[there[0]].pages == 1 {
                let load = browser.loads[there[0]]
                replaced = load.number
                let isOnly = live.allSatisfy { $0 == there[0] || browser.loads[$0].parent != nil }
                if isOnly, load.sessions == 0 {
                    browser.loads[there[0]].isOver = true
                    browser.endFrames(of: load.number)
                    browsers[name] = browser
                }
            }
        }
        note(request, name, version, now)
        return replaced
    }

    /// Makes the load of a path and version the newest one; creates it if it is missing.
    mutating func note(
        _ request: PinRequest, _ name: String, _ version: VersionName, _ now: Duration,
        parent: UInt64? = nil
    ) {
        var browser = browsers[name] ?? Browser(usedAt: now)
        browser.usedAt = now
        if request.cookie != nil { browser.hasShownCookie = true }
        // A subresource that only the cookie explains belongs to the page in its Referer.
        let path = request.load == .subresource ? request.referrer ?? [] : request.path
        nextLoad += 1
        var load = Load(
            number: nextLoad, path: path, version: version, usedAt: now, askedAt: now, begunAt: now)
        load.parent = parent
        load.isEmbedded = request.isEmbedded
        load.isSilent = browser.loads.contains { $0.number == parent && $0.isSilent }
        load.isAnswered = request.load != .subresource
        let same = browser.loads.firstIndex {
            isLive($0, now) && $0.version == version && $0.path == path
                && ($0.parent == nil) == (parent == nil)
        }
        if let same {
            let old = browser.loads.remove(at: same)
            load.number = old.number
            if parent == old.number { load.parent = old.parent }
            load.isEmbedded = load.isEmbedded || old.isEmbedded
            load.isSilent = load.isSilent || old.isSilent
            load.pages = min(old.pages + 1, 1_000_000)
            load.sessions = old.sessions
            load.connections = old.connections
            load.isAnswered = load.isAnswered || old.isAnswered
        }
        append(load, to: &browser, now)
        browsers[name] = browser
        attach(request.connection, name, load.number, now)
        if browsers.count > limits.browsers { makeSpace(keeping: name, now) }
    }

    /// Makes a load a browser's newest one; drops the oldest if there are too many.
    func append(_ load: Load, to browser: inout Browser, _ now: Duration) {
        browser.loads.append(load)
        guard browser.loads.count > limits.loads else { return }
        browser.loads.removeAll { !isHeld($0, now) }
        // The numbers of dropped loads are no longer found, so they do no harm.
        if browser.loads.count > limits.loads { browser.loads.removeFirst() }
    }

    mutating func makeSpace(keeping name: String, _ now: Duration) {
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

// Pages that report that they go away. A page in the back/forward cache requests nothing until it is back. Frames go
// with the page around them, even where the browser does not say which navigation is a frame's.
extension PinTable {
    /// Handles the report that a session's page goes away.
    /// - Parameters:
    ///   - paths: those that it and the frames in it were loaded from, its own first.
    ///   - isKept: whether the page may come back with them; else its session ends.
    mutating func goes(session: String, paths: [[UInt8]], isKept: Bool, now: Duration) {
        guard let holder = sessions[session]?.page, let browser = browsers[holder.browser] else {
            return
        }
        var going = [holder.load]
        for path in paths.dropFirst() {
            // A frame with a session reports its own end, and one that is known as a frame ends with its page.
            let load = browser.loads.last { load in
                load.path == path && load.version == holder.version && isLive(load, now)
                    && (isKept || load.parent == nil)
                    && load.sessions + going.dropFirst().count { $0 == load.number } < load.pages
            }
            if let load { going.append(load.number) }
        }
        if isKept {
            kept[session] = going
            return
        }
        for number in going.dropFirst() {
            change(holder.browser, number) { load in
                load.pages -= 1
                if load.pages <= 0 { load.isOver = true }
            }
        }
    }

    func isKept(_ load: Load) -> Bool {
        !kept.isEmpty && load.pages <= kept.values.joined().count { $0 == load.number }
    }

    /// The loads that may send a request: not those in the back/forward cache, unless such a page may be back
    /// already, since no other has the address that the request names.
    func awake(_ loads: [Load], _ request: PinRequest) -> [Load] {
        guard !kept.isEmpty else { return loads }
        let awake = loads.filter { !isKept($0) }
        if awake.contains(where: { $0.path == request.referrer }) { return awake }
        let rest = loads.filter { load in
            load.path == request.referrer || awake.contains { $0.number == load.number }
        }
        return rest.isEmpty ? loads : rest
    }
}
