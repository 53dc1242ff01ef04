import VersionTree
import WebServer

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
struct PinTable: Sendable {
    /// How much is remembered, and how long.
    struct Limits: Sendable, Hashable {
        /// Browsers: the one longest silent goes first, and first of all those that have shown no
        /// cookie yet.
        var browsers = 1024
        /// Loads of one browser.
        var loads = 32
        /// How long a load counts after its last request and the end of its last connection.
        var grace = Duration.seconds(60)
        /// The longest pause between two requests of a page that is still loading.
        var loading = Duration.seconds(3)
        /// The longest that a page counts as loading: one that asks again and again has loaded.
        var loadingMax = Duration.seconds(30)
        /// How long after a restart pages of which only the cookie tells are held while one of them asks.
        var recalled = Duration.seconds(600)
    }

    /// What a request gets.
    enum Decision: Sendable, Hashable {
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

        /// Notes a request that is its page's.
        mutating func asks(at now: Duration) {
            usedAt = now
            askedAt = now
        }
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
    init(limits: Limits = Limits(), run: String = "0") {
        self.limits = limits
        self.run = run
    }

    /// Whether a request gets the same bytes of all these versions.
    static func agree(_ sites: [Site], on request: borrowing RequestHead) -> Bool {
        guard let first = sites.first else { return false }
        let shown = Responder(site: first).shown(request)
        for other in sites.dropFirst() where Responder(site: other).shown(request) != shown {
            return false
        }
        return true
    }

    /// What a request in doubt gets where the versions differ.
    static func refusal(_ method: Method) -> Response {
        PlainAnswer.response(
            409,
            "Pages of two versions are open, and it cannot be told which one asks: load the page again.",
            method: method)
    }
}
