public import CASStore
package import VersionTree
package import WebServer

/// How an app is served.
public struct AppServerOptions: Sendable {
    /// Which port to take; see ``PortChoice``.
    public var port = PortChoice.app("")
    /// How versions are shown as sites.
    public var site = SiteOptions()
    /// A version whose files are served where the current one has none: what the app that shows the
    /// site brings along, the same for all versions (`cordova.js`).
    public var shell: String?
    /// Threads that serve; one is enough for many thousand requests a second.
    public var workers = 1
    /// Host names besides `localhost`, `127.0.0.1` and `[::1]` by which browsers may reach the server.
    ///
    /// Others are refused, so that another site's name, made to lead here, reads nothing.
    public var hosts: [String] = []
    /// Whether requests must carry the token of this store; see ``AppServer/url``.
    public var requiresToken = false
    /// How long a page of a version that is not known good has until it confirms.
    ///
    /// After that the version is rolled back; where nothing is known of the app 20 seconds are a good time.
    /// `nil`: the server serves what is current, whoever vouches for it.
    public var confirmation: Duration?
    /// How many starts of one content may fail before it is banned; before that it waits, and is started
    /// again by the next process.
    public var strikes = Lifecycle.usualStrikes
    /// By what starts are judged, besides ``confirmation`` and ``strikes``; only tests set it.
    package var startRules = StartJudge.Rules(allowed: nil)
    /// How long a version is kept for a page after the page's last request and connection.
    public var pinGrace = Duration.seconds(60)
    /// How much may be queued between page and app.
    public var bridge = BridgeLimits()
    /// Whether the app reads ``Bridge/messages``; if not, what pages send is acknowledged and dropped.
    public var readsMessages = true
    /// Told when a page has begun its session of the bridge, and when the session has ended: with how many
    /// messages that the page did not take, and that are dropped.
    ///
    /// Called on the thread that noticed it, often one that serves, so it must return soon. It may send.
    public var onSessionChange: @Sendable (BridgeSessionChange) -> Void = { _ in }
    /// Routes that are answered by other servers.
    public var proxies: [ProxyRoute] = []
    /// A file of certificates (PEM) whose holders are trusted as https upstreams, besides the
    /// authorities of the system.
    public var proxyAuthorities: String?
    /// Serves by https with this certificate; `nil` for http, which is enough on one machine.
    public var certificate: ServerCertificate?
    /// A page about the store below `/_castree/dashboard/`; see ``AppServer/dashboardURL``.
    ///
    /// Not beside ``hosts``: it is for this machine alone.
    package var dashboard: Dashboard?
    /// Opens the store that stands at a path, where the one that is served was deleted or exchanged.
    ///
    /// By default it is opened with the options of the first, and nobody observes it. What else the program
    /// has made of the first store is its own to renew.
    package var reopenStore: (@Sendable (_ path: String) throws(StoreError) -> VersionStore)?
    /// Told of every answered request, on a serving thread; must not wait.
    public var accessLog: (@Sendable (AccessRecord) -> Void)?
    /// Told, in a sentence, what the app's author or operator should know: objects that could not be
    /// served, versions that were rolled back, a lifecycle that cannot be read.
    public var notice: @Sendable (String) -> Void = { _ in }

    /// The usual server.
    public init() {}

    /// The watch over starts in a store; `nil` if nobody has to confirm.
    func watch(_ versions: VersionStore) -> StartWatch? {
        guard let confirmation else { return nil }
        var rules = startRules
        rules.allowed = confirmation
        rules.strikes = strikes
        return StartWatch(versions, rules)
    }

    /// Refuses what could never do anything.
    func check() throws(StoreError) {
        for host in hosts where !HostPolicy.isHost(host) {
            throw StoreError(
                .badOption,
                "\"\(printable(host))\" is no host name: write it as in a URL, kiosk.example or "
                    + "kiosk.example:8080, without scheme and path")
        }
        guard (1...100).contains(strikes) else {
            throw StoreError(.badOption, "1 to 100 starts may fail, not \(strikes)")
        }
        try dashboard?.check()
        if dashboard != nil, !hosts.isEmpty {
            throw StoreError(
                .badOption,
                "the dashboard is for this machine alone, and \"\(printable(hosts[0]))\" is a name "
                    + "by which others may reach the server")
        }
        guard SiteOptions.isIndex(site.index) else {
            throw StoreError(
                .badOption,
                "\"\(printable(site.index))\" cannot be the file that stands for its directory: give "
                    + "the name of a file, without slashes")
        }
    }
}

extension StoreError.Code {
    /// An option of a server that means nothing.
    public static let badOption = Self("badOption")
}
