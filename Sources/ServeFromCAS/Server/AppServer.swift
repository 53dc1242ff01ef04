public import CASStore
import Synchronization
public import VersionTree
package import WebServer

/// Serves the current version of a store over HTTP, to the browsers and web views of this machine.
///
/// A page keeps the version that it was loaded from; what becomes current meanwhile, by this process
/// or another one, is shown from the next navigation on.
///
///     let server = try AppServer(versions)
///     try server.start()
///     print(server.url)
///     await server.waitUntilStopped()
public final class AppServer: Sendable {
    /// The port.
    public let port: UInt16
    /// Where the app is: `http://localhost:PORT/`, with the token if one is required.
    ///
    /// With a certificate it is https, by the first name of the server's that the certificate has.
    public let url: String
    /// Where the dashboard is, with its token; `nil` if there is none.
    ///
    /// By http it is at `127.0.0.1`, another origin for browsers than the app's `localhost`: the app's
    /// own scripts cannot read it.
    package let dashboardURL: String?
    /// The app's end of the conversation with its pages.
    public let bridge: Bridge
    private let server: HTTPServer
    let handler: AppHandler
    // Only this keeps it.
    private let late: LateHandler
    private let housekeeping = Mutex<Task<Void, Never>?>(nil)

    /// Takes the port; requests are answered after ``start()``.
    ///
    /// Writes the port and the token to the store's `server.json` the first time, so that the web
    /// origin is the same at the next start.
    /// - Throws: `.portInUse`, naming the port; `.badOption`; `.badCertificate`; `.badServerFile`; `.notOwner`; `.noVersion`
    ///   for a shell that is not there; what reading the store throws. That no version is current is no error.
    public convenience init(
        _ versions: VersionStore, options: AppServerOptions = AppServerOptions()
    ) throws(StoreError) {
        try self.init(versions, options, connections: ConnectionOptions())
    }

    package init(
        _ versions: VersionStore, _ options: AppServerOptions, connections: ConnectionOptions
    ) throws(StoreError) {
        try options.check()
        try versions.store.refuseStranger()
        let memory = try ServerMemory(versions)
        let notice = TroubleNotice(options.notice)
        let late = LateHandler()
        // Weak: the handler holds the bridge, and its pins must go with the server.
        let bridge = Bridge(limits: options.bridge, keepsMessages: options.readsMessages) {
            [weak late, onSessionChange = options.onSessionChange] change in
            late?.handler?.noteSession(change)
            onSessionChange(change)
        }
        let store = ServedStore(versions, reopen: options.reopenStore)
        let shelf = try SiteShelf(
            store, try Self.site(options), shell: options.shell, notice: options.notice)
        let makeStartup = options.confirmation.map { allowed in
            { @Sendable (versions: VersionStore) in Self.watch(versions, options, allowed) }
        }
        try Self.protectShell(options, versions)
        let token = options.requiresToken ? try Self.token(memory, versions, notice) : nil
        let dashboardToken = try options.dashboard.map { (dashboard) throws(StoreError) in
            if let token = dashboard.token { return token }
            return try randomToken() + randomToken()
        }
        let proxies = try options.proxies.isEmpty ? nil : Self.proxies(options)
        let tls = try Self.tls(options)
        var httpOptions = HTTPServer.Options()
        httpOptions.tls = tls
        httpOptions.loops = options.workers
        httpOptions.connection = connections
        httpOptions.accessLog = options.accessLog.map { log in
            let log = AccessRecord.maskingSessions(in: log)
            let secrets = [token, dashboardToken].compactMap { $0 }
            return secrets.reduce(log) { AccessRecord.masking($1, in: $0) }
        }
        httpOptions.onDamage = { [notice = options.notice] in notice($0.message) }
        let objects = ContentCache(versions.store, copies: shelf)
        let (server, handler) = try Self.bind(
            options.port.candidates(remembered: memory.port(for: options.port)), httpOptions,
            objects
        ) { port, loops in
            let dashboard = dashboardToken.flatMap { token in
                options.dashboard.map { dashboard in
                    DashboardHandler(
                        dashboard, token: token, port: port, isSecure: tls != nil,
                        notice: options.notice
                    ) { [weak late] in late?.handler?.held ?? Dashboard.Held(byPages: []) }
                }
            }
            return AppHandler(
                AppHandler.Parts(
                    store: store, shelf: shelf, objects: objects, makeStartup: makeStartup,
                    rememberIn: { versions in
                        Self.remember(versions, notice) { memory in
                            memory.note(options.port, port)
                            memory.token = memory.token ?? token
                        }
                    },
                    downloads: DownloadWatch { store.versions }, bridge: bridge,
                    pinGrace: options.pinGrace, port: port, hosts: options.hosts, token: token,
                    proxies: proxies,
                    dashboard: dashboard, workers: loops, isSecure: tls != nil,
                    notice: options.notice))
        }
        try Self.refuseLoops(options.proxies, server.port)
        late.resolve(handler)
        handler.loopsToRead.withLock { $0 = server.loops }
        if options.port.app != nil, memory.port(for: options.port) == nil {
            Self.remember(versions, notice) { $0.note(options.port, server.port) }
        }
        let query = token.map { "?\(AppHandler.tokenName(port: server.port))=\($0)" }
        port = server.port
        url =
            (tls.map { "https://\(Self.name(in: $0, options.hosts))" } ?? "http://localhost")
            + ":\(server.port)/\(query ?? "")"
        dashboardURL = dashboardToken.map { token in
            let name = tls.map { $0.names("127.0.0.1") ? "127.0.0.1" : "localhost" } ?? "127.0.0.1"
            return "http\(tls == nil ? "" : "s")://\(name):\(server.port)\(DashboardHandler.path)/"
                + "?\(DashboardHandler.tokenName(port: server.port))=\(token)"
        }
        self.bridge = bridge
        self.server = server
        self.handler = handler
        self.late = late
        handler.follow()
    }

    /// Says who may show an answer in a page of theirs (Fetch, section 3.7).
    static let resourcePolicy = "Cross-Origin-Resource-Policy"

    /// How versions are shown.
    ///
    /// Who needs a token to see them shows them to nobody without: the browser sends its cookie along for
    /// pages of this machine's other ports, too, which could run a script of the app's, or look at a picture.
    private static func site(_ options: AppServerOptions) throws(StoreError) -> SiteOptions {
        var site = options.site
        let isSaid = site.fields.contains { $0.name.lowercased() == resourcePolicy.lowercased() }
        if options.requiresToken, !isSaid { try site.add(resourcePolicy, "same-origin") }
        return site
    }

    private static func watch(
        _ versions: VersionStore, _ options: AppServerOptions, _ allowed: Duration
    ) -> StartWatch {
        var rules = options.startRules
        rules.allowed = allowed
        rules.strikes = options.strikes
        return StartWatch(versions, rules)
    }

    private static func tls(_ options: AppServerOptions) throws(StoreError) -> TLSContext? {
        guard let certificate = options.certificate else { return nil }
        let tls = try TLSContext.server(certificate)
        if let objection = tls.objection { options.notice(objection) }
        return tls
    }

    /// The name by which browsers take the certificate for good, if there is one.
    private static func name(in tls: TLSContext, _ hosts: [String]) -> String {
        for name in ["localhost"] + hosts where tls.names(name) { return name }
        return "localhost"
    }

    private static func proxies(_ options: AppServerOptions) throws(StoreError) -> ProxyTable {
        var proxyOptions = ProxyOptions()
        proxyOptions.authorities = options.proxyAuthorities
        if options.certificate != nil { proxyOptions.scheme = "https" }
        return try ProxyTable(options.proxies, options: proxyOptions)
    }

    /// The token of the store: what is remembered, else a new one, the same for all its servers.
    private static func token(
        _ memory: ServerMemory, _ versions: VersionStore, _ notice: TroubleNotice
    ) throws(StoreError) -> String {
        if let token = memory.token { return token }
        let new = try randomToken() + randomToken()
        let token = remember(versions, notice) { memory -> String in
            let token = memory.token ?? new
            memory.token = token
            return token
        }
        return token ?? new
    }

    // A store that cannot be written is served all the same; only its port is chosen anew each time.
    @discardableResult
    private static func remember<R>(
        _ versions: VersionStore, _ notice: TroubleNotice, _ change: (inout ServerMemory) -> R
    ) -> R? {
        do throws(StoreError) {
            return try ServerMemory.update(versions, change)
        } catch {
            notice.tell("the port and the token are not remembered: \(error.message)")
            return nil
        }
    }

    /// A request that came back would be passed on again, without end.
    private static func refuseLoops(
        _ routes: [ProxyRoute], _ port: UInt16
    ) throws(StoreError) {
        for route in routes where route.origin.port == port {
            guard ["localhost", "127.0.0.1", "::1"].contains(route.origin.host) else { continue }
            throw StoreError(
                .badOption, "a proxy route leads to \(route.origin), which is this server itself")
        }
    }

    private static func bind(
        _ candidates: [UInt16], _ options: HTTPServer.Options, _ objects: ContentCache,
        _ make: (_ port: UInt16, _ loops: Int) -> AppHandler
    ) throws(StoreError) -> (HTTPServer, AppHandler) {
        var options = options
        var first: StoreError?
        for port in candidates {
            options.addresses = [.loopback4(port), .loopback6(port)]
            do throws(StoreError) {
                var handler: AppHandler?
                let server = try HTTPServer(options, objects: objects) { port, loops in
                    let made = make(port, loops)
                    handler = made
                    return made
                }
                if let handler { return (server, handler) }
            } catch {
                guard error.code == .portInUse else { throw error }
                first = first ?? error
            }
        }
        throw first ?? StoreError(.io, "there is no port to listen on")
    }

    /// Runs tasks on a thread that serves: a message of a page is answered without waking another one.
    ///
    ///     Task.detached(executorPreference: server.executor) {
    ///         for await message in server.bridge.messages { … }
    ///     }
    ///
    /// All requests wait while a step of such a task runs, so it must not block or compute for long.
    public var executor: any TaskExecutor { server.loops[0] }

    /// The version that new pages get; `nil` if none is current.
    public var currentVersion: String? { handler.shelf.current?.site.version.description }

    /// Starts serving.
    /// - Throws: `.io` when the system has no thread to give.
    public func start() throws(StoreError) {
        try startUnattended()
        let handler = handler
        housekeeping.withLock { task in
            guard task == nil else { return }
            task = Task.detached { await Housekeeping.run(handler) }
        }
    }

    /// Starts serving, and does nothing that nobody asks for: who calls it looks after starts by
    /// ``lookAtStarts(now:)``, at times of his own.
    package func startUnattended() throws(StoreError) { try server.start() }

    /// Looks once whether the time of a start is over, and leaves its version then.
    /// - Parameter now: as ``SystemClock`` has it, or later.
    package func lookAtStarts(now: Duration) { Housekeeping.lookAtStarts(handler, now: now) }

    /// Stops: answers what is in flight, closes idle connections, and cuts what is left after
    /// `grace`.
    ///
    /// Returns at once; see ``waitUntilStopped()``.
    public func stop(within grace: Duration = .seconds(10)) {
        housekeeping.withLock { $0?.cancel() }
        bridge.finish()
        handler.endPolls()
        server.stop(within: grace.milliseconds)
        // Behind the confirmations that have come: a start that is not confirmed is taken back.
        let handler = handler
        _ = handler.storeWork.add { Self.endStarts(handler) }
    }

    private static func endStarts(_ handler: AppHandler) {
        do throws(StoreError) {
            try handler.startup?.judge { (judge, ledger) throws(StoreError) in
                try judge.end(ledger)
            }
        } catch {
            handler.notice("unable to take back a start that was not confirmed: \(error.message)")
        }
    }

    /// Returns when everything has ended, and no version is pinned any more.
    public func waitUntilStopped() async {
        await server.waitUntilStopped()
        await housekeeping.withLock { $0 }?.value
        Self.endStarts(handler)
        handler.shelf.clear()
    }

    /// Tells whether the app is in the foreground.
    ///
    /// In the background the time in which a page must confirm does not run.
    public func setForeground(_ isForeground: Bool) {
        handler.setForeground(isForeground)
    }
}

/// Leads from the bridge, which is made first, to the handler.
private final class LateHandler: Sendable {
    private let state = Mutex<AppHandler?>(nil)
    var handler: AppHandler? { state.withLock { $0 } }
    func resolve(_ handler: AppHandler) { state.withLock { $0 = handler } }
}

extension AppServer {
    /// Sees to it that the shell is there at the next start, too: nothing else says that it is needed.
    private static func protectShell(
        _ options: AppServerOptions, _ versions: VersionStore
    ) throws(StoreError) {
        guard let shell = options.shell else { return }
        do throws(StoreError) {
            guard try versions.protect(shell) else { return }
        } catch {
            // Nothing is retired there either.
            guard error.code == .readOnly else { throw error }
            return
        }
        options.notice(
            "version \(shell) is protected from now on, since it is served as the shell; castree unprotect "
                + "\(shell) lets it be retired")
    }
}
