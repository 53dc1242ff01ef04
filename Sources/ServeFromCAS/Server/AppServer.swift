public import CASStore
import Synchronization
public import VersionTree
package import WebServer

/// Serves the current version of a store over HTTP, to the browsers and web views of this machine.
///
/// A page keeps the version it was loaded from. If this or another process makes another version current, the next
/// navigation shows it.
///
///     let server = try AppServer(versions)
///     try server.start()
///     print(server.url)
///     await server.waitUntilStopped()
public final class AppServer: Sendable {
    /// The port.
    public let port: UInt16
    /// The app's URL: `http://localhost:PORT/`, with the token if one is required.
    ///
    /// With a certificate, it is https, with the first of the server's names that is in the certificate.
    public let url: String
    /// The dashboard's URL, with its token; `nil` if there is none.
    ///
    /// Over http it is at `127.0.0.1`, for browsers another origin than the app's `localhost`: the app's own scripts
    /// cannot read it.
    package let dashboardURL: String?
    /// The app's end of the conversation with its pages.
    public let bridge: Bridge
    private let server: HTTPServer
    let handler: AppHandler
    // Nothing else keeps it alive.
    private let late: AppHandler.Late
    private let housekeeping = Mutex<Task<Void, Never>?>(nil)
    /// Until when the store is waited for at the end; `nil` until ``stop(within:)``.
    private let endOfGrace = Mutex<SuspendingClock.Instant?>(nil)

    /// Takes the port; requests are answered after ``start()``.
    ///
    /// The first time, it writes the port and the token to the store's `server.json`, so that the web origin is the
    /// same at the next start. No version need be current.
    /// - Throws: `.portInUse`, naming the port; `.badOption`; `.badCertificate`; `.badServerFile`; `.notOwner`;
    ///   `.noVersion` for a missing shell; what reading the store throws.
    public convenience init(
        _ versions: VersionStore, options: AppServerOptions = AppServerOptions()
    ) throws(StoreError) {
        try self.init(ServedStore(versions), options)
    }

    package init(
        _ store: ServedStore, _ options: AppServerOptions,
        connections: ConnectionOptions = ConnectionOptions()
    ) throws(StoreError) {
        late = AppHandler.Late()
        let parts = try AppHandler.Parts(store, options, late)
        (server, handler) = try Self.bind(parts, connections, late)
        port = server.port
        url = parts.url(at: port)
        dashboardURL = parts.dashboardURL(at: port)
        bridge = parts.bridge
        try Self.refuseLoops(options.proxies, port)
        late.resolve(handler)
        if options.port.app != nil, parts.memory.port(for: options.port) == nil {
            ServerMemory.remember(store.versions, parts.memoryFailure) { [port] in
                $0.note(options.port, port)
            }
        }
        handler.follow()
    }

    /// Refuses routes that lead back here: requests would circulate endlessly.
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
        _ parts: AppHandler.Parts, _ connections: ConnectionOptions, _ late: AppHandler.Late
    ) throws(StoreError) -> (HTTPServer, AppHandler) {
        let choice = parts.options.port
        var options = parts.serverOptions(connections)
        var first: StoreError?
        for port in try choice.candidates(remembered: parts.memory.port(for: choice)) {
            options.addresses = [.loopback4(port), .loopback6(port)]
            do throws(StoreError) {
                var handler: AppHandler?
                let server = try HTTPServer(options, objects: parts.objects) { port, loops in
                    let made = AppHandler(parts, port: port, workers: loops, late)
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

    /// Runs tasks on a serving thread, so that answering a page's message wakes no other thread.
    ///
    ///     Task.detached(executorPreference: server.executor) {
    ///         for await message in server.bridge.messages { … }
    ///     }
    ///
    /// All requests wait while a step of such a task runs, so it must not block or compute for long.
    public var executor: any TaskExecutor { server.loops[0] }

    /// The version that new pages get; `nil` if none is current.
    public var currentVersion: String? { handler.cache.current?.site.version.description }
    /// Whether the lifecycle could be followed so far; if not, the operator was told why.
    package var isFollowing: Bool { handler.cache.isFollowing }

    /// Starts serving.
    /// - Throws: `.io` if the system can start no thread.
    public func start() throws(StoreError) {
        try startUnattended()
        let handler = handler
        housekeeping.withLock { task in
            guard task == nil else { return }
            task = Task.detached { [server] in await Housekeeping.run(handler, server.loops) }
        }
    }

    /// Starts serving without background checks: the caller checks starts with ``lookAtStarts(now:)``.
    package func startUnattended() throws(StoreError) { try server.start() }

    /// Checks once whether the time of a start is over, and if so rolls its version back.
    /// - Parameter now: the time of ``SystemClock``, or later.
    package func lookAtStarts(now: Duration) { Housekeeping.lookAtStarts(handler, now: now) }

    /// Announces changes of the lifecycle now; from any thread; may wait for other processes.
    package func follow() { handler.follow() }

    /// Stops: answers requests in flight, closes idle connections, and cuts what is left after `grace`.
    ///
    /// Returns at once; see ``waitUntilStopped()``.
    public func stop(within grace: Duration = .seconds(10)) {
        bridge.finish()
        handler.endPolls()
        server.stop(within: grace.milliseconds)
        // After the confirmations that have come: takes back a start that is not confirmed.
        let handler = handler
        let end = SuspendingClock.now + max(grace, Self.leastGrace)
        endOfGrace.withLock { $0 = $0 ?? end }
        // If no thread is available, no other one will do it later.
        if !handler.storeWork.add({ Self.endStarts(handler, by: end) }) {
            Self.endStarts(handler, by: end)
        }
        // Last, because resuming a task may need a thread.
        housekeeping.withLock { $0?.cancel() }
    }

    private static let leastGrace = Duration.seconds(2)

    private static func endStarts(_ handler: AppHandler, by end: SuspendingClock.Instant) {
        do throws(StoreError) {
            try LockDeadline.until(end) { () throws(StoreError) in
                try handler.startup?.judge { (judge, ledger) throws(StoreError) in
                    try judge.end(ledger)
                }
            }
        } catch {
            handler.notice("unable to take back a start that was not confirmed: \(error.message)")
        }
    }

    /// Returns when everything has ended and no version is pinned any longer.
    public func waitUntilStopped() async {
        await server.waitUntilStopped()
        await housekeeping.withLock { $0 }?.value
        let end = endOfGrace.withLock { $0 } ?? SuspendingClock.now + Self.leastGrace
        Self.endStarts(handler, by: end)
        handler.cache.clear()
    }

    /// Whether the next page starts what is pending, as far as can be known.
    package func startsPending(_ lifecycle: Lifecycle) -> Bool {
        handler.startup?.ask { $0.startsPending(lifecycle) } ?? false
    }

    package func setSwitching(_ rule: SwitchingRule) { handler.starts.setSwitching(rule) }

    /// Tells whether the app is in the foreground.
    ///
    /// In the background, the time in which a page must confirm does not run.
    public func setForeground(_ isForeground: Bool) {
        handler.starts.setForeground(isForeground)
    }
}

// How a server listens, and its URLs.
extension AppHandler.Parts {
    func serverOptions(_ connections: ConnectionOptions) -> HTTPServer.Options {
        var listening = HTTPServer.Options()
        listening.tls = tls
        listening.loops = options.workers
        listening.connection = connections
        // More than browsers keep for a host: 180 cookies of 4 KiB (RFC 6265, section 6.1).
        listening.connection.parser.cookies = 768 << 10
        listening.accessLog = options.accessLog.map { log in
            let log = AccessRecord.masking(
                ReservedRoute.allSecretParameters, below: ReservedRoute.directory + "/",
                tokens: [AppHandler.tokenPrefix, DashboardHandler.tokenPrefix], in: log)
            let secrets = [token, dashboardToken].compactMap { $0 }
            return secrets.reduce(log) { AccessRecord.masking($1, in: $0) }
        }
        listening.onDamage = { [notice = options.notice, record = DamageRecord(store)] failure in
            notice(failure.message)
            record.add(failure)
        }
        return listening
    }

    func url(at port: UInt16) -> String {
        let query = token.map { "?\(AppHandler.tokenName(port: port))=\($0)" }
        // The name for which browsers accept the certificate, if there is one.
        let name = tls.flatMap { tls in (["localhost"] + options.hosts).first { tls.names($0) } }
        return "\(scheme)://\(name ?? "localhost"):\(port)/\(query ?? "")"
    }

    func dashboardURL(at port: UInt16) -> String? {
        dashboardToken.map { token in
            let name = tls.map { $0.names("127.0.0.1") ? "127.0.0.1" : "localhost" } ?? "127.0.0.1"
            return "\(scheme)://\(name):\(port)\(DashboardHandler.path)/"
                + "?\(DashboardHandler.tokenName(port: port))=\(token)"
        }
    }

    private var scheme: String { tls == nil ? "http" : "https" }
}
