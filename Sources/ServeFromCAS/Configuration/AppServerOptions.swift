public import CASStore
package import VersionTree
package import WebServer

/// How an app is served.
public struct AppServerOptions: Sendable {
    /// Which port to take; see ``PortChoice``.
    public var port = PortChoice.app("")
    /// How versions are shown as sites.
    public var site = SiteOptions()
    /// A version that supplies files missing from the current one: the files of the app that shows the site, the same
    /// for all versions (`cordova.js`).
    public var shell: String?
    /// The number of serving threads; one is enough for many thousand requests a second.
    public var workers = 1
    /// Host names by which browsers may reach the server, besides `localhost`, `127.0.0.1` and `[::1]`.
    ///
    /// Others are refused, so that a site whose name resolves to this machine (DNS rebinding) cannot read anything.
    public var hosts: [String] = []
    /// Whether requests must carry the token of this store; see ``AppServer/url``.
    public var requiresToken = false
    /// Whether a new token is made at the start.
    ///
    /// Pages and programs that have the old one are refused from then on. Other servers of the store take the new one
    /// at their next start.
    public var renewsToken = false
    /// How long a page has to confirm its version if that is not known good.
    ///
    /// After that, the version is rolled back; 20 seconds suit most apps. `nil`: the server serves the current
    /// version without confirmation.
    public var confirmation: Duration?
    /// How many failed starts ban a content; until then it waits, and the next process starts it again.
    public var failedAttempts = Lifecycle.usualFailedAttempts
    /// The rules for judging starts, besides ``confirmation`` and ``failedAttempts``; only tests set them.
    package var startRules = StartJudge.Rules(allowed: nil)
    /// How long a page's version is kept after the page's last request and connection.
    public var pinGrace = Duration.seconds(60)
    /// How much may be queued between a page and the app.
    public var bridge = BridgeLimits()
    /// Whether the app reads ``Bridge/messages``; if not, messages from pages are acknowledged and dropped.
    public var readsMessages = true
    /// Called when a page's session of the bridge begins, and when it ends, then with the number of messages that the
    /// page did not take, which are dropped.
    ///
    /// The thread that noticed it calls, often a serving one, so the call must return soon. It may send.
    public var onSessionChange: @Sendable (BridgeSessionChange) -> Void = { _ in }
    /// Routes that other servers answer.
    public var proxies: [ProxyRoute] = []
    /// A file of certificates (PEM) to trust for https upstreams, in addition to the system's authorities.
    public var proxyAuthorities: String?
    /// Whether cookies that other servers mark `Secure` stay so at an http address of this machine, where WebKit
    /// keeps none of them.
    public var keepsSecureCookies = false
    /// Whether to refuse service workers: their scripts are 404, and the bridge's script removes those that browsers
    /// have.
    public var refusesServiceWorkers = false
    /// Serves over https with this certificate; `nil` for http, which is enough on one machine.
    public var certificate: ServerCertificate?
    /// A page about the store below `/_castree/dashboard/`; see ``AppServer/dashboardURL``.
    ///
    /// Excludes ``hosts``: the page is for this machine alone.
    package var dashboard: Dashboard?
    package var updates: ServedUpdates?
    /// Called with the lifecycle before and after each change that the server notices, before pages hear of it.
    ///
    /// Any process may have made the change. Must not wait for a network; may wait for the store.
    package var onLifecycleChange: (@Sendable (_ before: Lifecycle, _ now: Lifecycle) -> Void)?
    /// Called for every answered request, on a serving thread; must not wait.
    public var accessLog: (@Sendable (AccessRecord) -> Void)?
    /// Receives sentences for the app's author or operator: objects that could not be served, versions that were
    /// rolled back, a lifecycle that cannot be read.
    public var notice: @Sendable (String) -> Void = { _ in }

    /// The usual server.
    public init() {}

    func watch(
        _ versions: VersionStore, showing canShow: @escaping StartRequest.Showing
    ) -> StartWatch? {
        guard let confirmation else { return nil }
        var rules = startRules
        rules.allowed = confirmation
        rules.failedAttempts = failedAttempts
        return StartWatch(versions, rules, showing: canShow)
    }

    func check() throws(StoreError) {
        for host in hosts where !HostPolicy.isHost(host) {
            throw StoreError(
                .badOption,
                "\"\(printable(host))\" is not a host name: write it as in a URL, kiosk.example or "
                    + "kiosk.example:8080, without scheme and path")
        }
        guard (1...100).contains(failedAttempts) else {
            throw StoreError(.badOption, "1 to 100 starts may fail, not \(failedAttempts)")
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
    /// An option of a server is invalid.
    public static let badOption = Self("badOption")
}
