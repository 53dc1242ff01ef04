import CASStore
import Synchronization
import VersionTree

/// Answers every request to an app's server: checks who may ask, chooses the version, sends the answer.
///
/// Most requests take a short path (host, look-up, prepared head), which takes no lock and makes no string.
final class AppHandler: RequestHandler {
    let parts: Parts
    private let port: UInt16
    var options: AppServerOptions { parts.options }
    var store: ServedStore { parts.store }
    var cache: SiteCache { parts.cache }
    var objects: ContentCache { parts.objects }
    var bridge: Bridge { parts.bridge }
    var startPage: StartPage { parts.startPage }
    let starts: Starts
    let downloads: DownloadWatch
    let pins: Mutex<PinTable>
    let startFailure: FailureNotice
    let returnFailure: FailureNotice
    let storeFailure: FailureNotice
    private let cookieFailure: FailureNotice
    private let tokenFailure: FailureNotice
    /// Held while the store is looked for; by threads that may wait, so not by loops.
    let lookingForStore = Mutex<Void>(())
    private let hostPolicy: HostPolicy
    let tokenPolicy: TokenPolicy?
    private let dashboard: DashboardHandler?
    let cookieName: String
    let loops: [LoopState]
    /// Locked while pages are told, so that two threads do not say the same; by loops only where no start is watched.
    let announcements = Mutex<Announcements>(Announcements())
    let begunAt = secondsNow()
    /// Work that may wait for the store, or for another process.
    let storeWork = WorkQueue()
    let isStopping = Atomic<Bool>(false)

    var startup: StartWatch? { starts.watch }

    init(_ parts: Parts, port: UInt16, workers: Int, _ late: Late) {
        self.parts = parts
        self.port = port
        let options = parts.options
        starts = Starts(options.watch(parts.store.versions, showing: parts.startPage.isShown))
        downloads = DownloadWatch { [store = parts.store] in store.versions }
        var limits = PinTable.Limits()
        limits.grace = options.pinGrace
        pins = Mutex(PinTable(limits: limits, run: Self.newRun()))
        startFailure = FailureNotice(options.notice)
        returnFailure = FailureNotice(options.notice)
        storeFailure = FailureNotice(options.notice)
        cookieFailure = FailureNotice(options.notice)
        tokenFailure = FailureNotice(options.notice)
        hostPolicy = HostPolicy(port: port, names: options.hosts)
        tokenPolicy = parts.token.map {
            TokenPolicy(
                token: $0, name: Self.tokenName(port: port), isSecure: parts.tls != nil)
        }
        dashboard = parts.dashboardToken.flatMap { token in
            options.dashboard.map { dashboard in
                DashboardHandler(
                    dashboard, token: token, port: port, isSecure: parts.tls != nil,
                    notice: options.notice
                ) { [weak late] in late?.handler?.held ?? Dashboard.Held(byPages: []) }
            }
        }
        cookieName = CookieText.ownPrefix + "page_\(port)"
        loops = (0..<workers).map { _ in LoopState() }
    }

    func notice(_ sentence: String) { parts.options.notice(sentence) }

    var isSecure: Bool { parts.tls != nil }

    func remember(in versions: VersionStore) {
        ServerMemory.remember(versions, parts.memoryFailure) { memory in
            memory.note(parts.options.port, port)
            memory.token = memory.token ?? parts.token
            memory.pageKey = memory.pageKey ?? parts.pageKey
        }
    }

    /// What pages keep, to come back if the cookie is lost; `nil` if no token is needed.
    var keptToken: String? {
        parts.token.map { LostTokenPage.kept(Self.tokenName(port: port), $0) }
    }

    /// The name of the token's cookie and parameter, with the port, because cookies ignore ports.
    static func tokenName(port: UInt16) -> String { tokenPrefix + String(port) }

    static let tokenPrefix = CookieText.ownPrefix + "token_"

    // MARK: Requests

    func answer(_ head: RequestHead, _ exchange: Exchange) -> Answer {
        let state = loops[exchange.loop.number]
        if let refusal = refuseHost(head, state) { return .refusal(refusal) }
        // It has its own token, which the app's does not replace.
        if let dashboard, isReserved(head), DashboardHandler.owns(head) {
            return dashboard.answer(head, exchange)
        }
        if head.hasManyCookies {
            cookieFailure.tell(
                "a browser sends over 16 KiB of cookies: servers at other ports of this host name have set them"
            )
        }
        var (head, cookies) = (head, [String]())
        if let tokenPolicy {
            switch tokenPolicy.verdict(on: head) {
            case .granted: break
            case .grantedWithCookie(let cookie):
                tokenFailure.end()
                cookies.append(cookie)
                head.hasSecret = true
            case .refused(let response):
                // It may be of a page whose browser keeps no cookie.
                if starts.has(.byToken), head.load == .subresource, LostTokenPage.isOwn(head) {
                    starts.note(.refused)
                }
                if let page = LostTokenPage.response(to: head, Self.tokenName(port: port)) {
                    return .refusal(page)
                }
                noteLostToken(of: head, exchange)
                // It holds no secret, and brings the token of a page that a worker shows without a navigation.
                let isScript = ReservedRoute(path: head.text(head.path)) == .script
                return .refusal(isScript ? script(head) : response)
            }
        }
        if starts.has(.untrusted) { heedCookie(of: head) }
        if isReserved(head) {
            let answer = answerReserved(head, exchange, cookies)
            if case .response(let response) = answer {
                return .response(adding(cookies, to: response))
            }
            return answer
        }
        if options.refusesServiceWorkers, head.isWorkerScript {
            return .response(adding(cookies, to: Self.refusedWorker(head.method)))
        }
        if parts.proxies != nil, head.load == .page || head.method == .post, cache.hasNews {
            // An upstream's page begins with the version that is current when its answer comes.
            _ = storeWork.add { self.follow() }
        }
        if let proxies = parts.proxies,
            let answer = proxies.answer(
                head, amend: { [head] in self.beginPageOfUpstream(head, exchange, &$0) })
        {
            if let refusal = refuseForeign(head) { return .response(refusal) }
            if let first = cookies.first, head.method == .get {
                return .response(redirectWithoutToken(head, first))
            }
            return answer
        }
        guard PinRequest.isOfPage(head) else {
            return .response(adding(cookies, to: respondCurrent(head, state)))
        }
        return respondPinned(PageRequest(head: head), exchange, cookies)
    }

    /// A browser that was shown pages is refused what a page asks for: where a worker answers navigations, nobody sees that.
    private func noteLostToken(of head: RequestHead, _ exchange: Exchange) {
        guard browser(of: head, exchange) != nil else { return }
        tokenFailure.tell(
            "a browser that has had pages is refused, since it has no valid token: "
                + "if they do not come back automatically, open the address with the token there")
    }

    func ended(_ connection: ConnectionID) {
        pins.withLock { $0.close(connection: connection.raw, now: SystemClock.now) }
    }

    private func refuseHost(_ head: borrowing RequestHead, _ state: LoopState) -> Response? {
        if head.authority == nil, let host = head.host,
            head.bytes[host].isEqual(to: state.allowedHost)
        {
            return nil
        }
        if let refusal = hostPolicy.refusal(of: head) { return refusal }
        if head.authority == nil, let host = head.host {
            state.allowedHost = Array(head.bytes[host])
        }
        return nil
    }

    /// Refuses requests by which another site in the same browser would make an upstream act.
    ///
    /// The upstream cannot notice, since the Host it sees is its own name. The same-origin policy is not enough: the
    /// browser sends the token's cookie to other ports of this machine too, and a page can read the scripts and
    /// images that it embeds.
    private func refuseForeign(_ head: RequestHead) -> Response? {
        let isRead = [.get, .head, .options].contains(head.method)
        let isUpgrade = head.lists("upgrade", in: "connection")
        let isSecret = tokenPolicy != nil && head.load == .subresource
        guard !isRead || isUpgrade || isSecret else { return nil }
        // A client that is not a browser sends neither field, and no page can mislead it.
        guard head.value(of: "origin") != nil || head.value(of: "sec-fetch-site") != nil,
            !isOwn(head)
        else { return nil }
        return PlainAnswer.response(
            403, "Another site may not send requests through this server.", method: head.method)
    }

    /// Redirects to the same address without the token, with the cookie, which an upstream's answer could not set.
    private func redirectWithoutToken(_ head: RequestHead, _ cookie: String) -> Response {
        var location = "/" + head.text(head.path).drop { $0 == "/" }
        let query = head.query.map { OwnSecrets.withoutParameters(head.bytes[$0]) } ?? []
        if !query.isEmpty { location += "?" + String(decoding: query, as: UTF8.self) }
        return PlainAnswer.response(
            303, "The address without the token.", method: head.method,
            fields: [("Location", location), ("Set-Cookie", cookie)])
    }

    func adding(_ cookies: [String], to response: consuming Response) -> Response {
        guard !cookies.isEmpty else { return response }
        for cookie in cookies { response.head.add("Set-Cookie", cookie) }
        return response
    }

    /// What a handler is made of: everything that exists before there is a port.
    struct Parts: Sendable {
        let options: AppServerOptions
        let store: ServedStore
        let cache: SiteCache
        let objects: ContentCache
        let bridge: Bridge
        let memory: ServerMemory
        /// Reports once that a store remembers nothing.
        let memoryFailure: FailureNotice
        let token: String?
        let pageKey: String
        let dashboardToken: String?
        let proxies: ProxyTable?
        let tls: TLSContext?

        var pageSeal: PageSeal { PageSeal(key: pageKey) }

        var startPage: StartPage { StartPage(cache: cache, objects: objects) }
    }

    /// Refers to the handler for objects made before it.
    final class Late: Sendable {
        private let state = Mutex<AppHandler?>(nil)
        var handler: AppHandler? { state.withLock { $0 } }
        func resolve(_ handler: AppHandler) { state.withLock { $0 = handler } }
    }
}

extension AppHandler.Parts {
    /// Makes the parts, in an order that changes nothing in a store that cannot be served.
    /// - Parameter late: held weakly: the handler holds the bridge, and its pins must go with the server.
    init(
        _ store: ServedStore, _ options: AppServerOptions, _ late: AppHandler.Late
    ) throws(StoreError) {
        let versions = store.versions
        try options.check()
        try versions.store.refuseStranger()
        self.options = options
        memory = try ServerMemory(versions)
        memoryFailure = FailureNotice(options.notice)
        memory.keepPrivate(versions, options.notice)
        bridge = Bridge(limits: options.bridge, keepsMessages: options.readsMessages) {
            [weak late, onSessionChange = options.onSessionChange] change in
            late?.handler?.noteSession(change)
            onSessionChange(change)
        }
        self.store = store
        cache = try SiteCache(
            store, try Self.site(options), shell: options.shell, notice: options.notice)
        try Self.protectShell(options, versions)
        token =
            options.requiresToken
            ? try Self.secret(\.token, memory, versions, memoryFailure, isNew: options.renewsToken)
            : nil
        pageKey = try Self.secret(\.pageKey, memory, versions, memoryFailure)
        dashboardToken = try options.dashboard.map { (dashboard) throws(StoreError) in
            if let token = dashboard.token { return token }
            return try randomToken() + randomToken()
        }
        proxies = try Self.proxies(options)
        tls = try Self.tls(options)
        objects = ContentCache(
            versions.store, copies: { [cache] in cache.copies(of: $0) },
            replaced: { [cache] in cache.replaced($0, by: $1) })
    }

    /// How versions are shown.
    ///
    /// If a token protects them, other ports of this machine must not see them either. The browser sends them its
    /// cookie too, and their pages could run one of the app's scripts or show a picture.
    private static func site(_ options: AppServerOptions) throws(StoreError) -> SiteOptions {
        var site = options.site
        let policy = SiteOptions.resourcePolicy
        let isSaid = site.fields.contains { $0.name.lowercased() == policy.lowercased() }
        if options.requiresToken, !isSaid { try site.add(policy, "same-origin") }
        return site
    }

    /// Protects the shell from being retired before the next start, since nothing else refers to it.
    private static func protectShell(
        _ options: AppServerOptions, _ versions: VersionStore
    ) throws(StoreError) {
        guard let shell = options.shell else { return }
        do throws(StoreError) {
            guard try versions.protect(shell) else { return }
        } catch {
            // In such a store, nothing is retired either.
            guard error.code == .readOnly else { throw error }
            return
        }
        options.notice(
            "version \(shell) is protected from now on, since it is served as the shell; castree unprotect "
                + "\(shell) lets it be retired")
    }

    /// A secret of the store, the same for all its servers: the remembered one, or a new one, which lasts as long as
    /// the process if the store cannot be written.
    private static func secret(
        _ secret: any WritableKeyPath<ServerMemory, String?> & Sendable, _ memory: ServerMemory,
        _ versions: VersionStore, _ problem: FailureNotice, isNew: Bool = false
    ) throws(StoreError) -> String {
        if !isNew, let known = memory[keyPath: secret] { return known }
        let new = try randomToken() + randomToken()
        let kept = ServerMemory.remember(versions, problem) { memory -> String in
            let kept = isNew ? new : memory[keyPath: secret] ?? new
            memory[keyPath: secret] = kept
            return kept
        }
        return kept ?? new
    }

    private static func proxies(_ options: AppServerOptions) throws(StoreError) -> ProxyTable? {
        guard !options.proxies.isEmpty else { return nil }
        var proxyOptions = ProxyOptions()
        proxyOptions.authorities = options.proxyAuthorities
        proxyOptions.keepsSecureCookies = options.keepsSecureCookies
        if options.certificate != nil { proxyOptions.scheme = "https" }
        return try ProxyTable(options.proxies, options: proxyOptions)
    }

    private static func tls(_ options: AppServerOptions) throws(StoreError) -> TLSContext? {
        guard let certificate = options.certificate else { return nil }
        let tls = try TLSContext.server(certificate)
        if let objection = tls.objection { options.notice(objection) }
        return tls
    }
}

/// The state of one answering thread: responders with the heads that they have made.
///
/// A responder answers only for the site it was made of. The caller has chosen the version; choosing again here could
/// give another one, since versions may be switched at any moment.
///
/// `@unchecked Sendable`: only the loop's own thread answers its requests.
final class LoopState: @unchecked Sendable {
    private var generation = -1
    @exclusivity(unchecked) private(set) var current: Responder?
    private var others: [VersionName: Responder] = [:]
    /// The Host field that was last allowed; a browser sends the same one with every request.
    var allowedHost: [UInt8] = []

    /// Takes in which site is current, if that has changed since the last time.
    func renew(_ cache: SiteCache) {
        let generation = cache.currentGeneration
        guard self.generation != generation else { return }
        self.generation = generation
        current = cache.current.map { Responder(site: $0.site) }
        others = [:]
    }

    func respondCurrent(to head: borrowing RequestHead) -> Response? { current?.respond(to: head) }

    /// The answer of a version's site, whatever is current by now.
    func respond(to head: borrowing RequestHead, from site: Site) -> Response {
        if site === current?.site, let response = current?.respond(to: head) { return response }
        let version = site.version
        if others[version]?.site !== site {
            if others.count >= 8 { others = [:] }
            others[version] = Responder(site: site, headCountMax: 256)
        }
        return others[version]?.respond(to: head) ?? Responder.respond(to: head, site: site)
    }
}
