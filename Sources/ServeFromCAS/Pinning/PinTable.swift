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

    /// The loads held for a page that may be any of them.
    struct Crowd: Sendable {
        var session: String
        var browser: String
        var loads: [UInt64]
    }

    var limits: Limits
    /// Distinguishes the runs of a server: a cookie says which run set it.
    let run: String
    var sessions: [String: Holder] = [:]
    /// How many loads there had been when a session began: its page is none of the later ones.
    var opened: [String: UInt64] = [:]
    /// By session, the path that its page reports it was loaded from; its load has the same path.
    var addresses: [String: [UInt8]] = [:]
    /// By session, the loads of a page in the back/forward cache, and of its frames.
    var kept: [String: [UInt64]] = [:]
    /// By session, the later version that its page also belongs to, with all that it has loaded.
    var successors: [String: VersionName] = [:]
    var words: [String: PageWord] = [:]
    /// The sessions whose pages say that they are in a frame of another origin's page.
    var embedded: Set<String> = []
    /// The sessions whose pages say that no worker can have shown them.
    var fromNetwork: Set<String> = []
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
}
