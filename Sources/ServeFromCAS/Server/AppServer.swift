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
    private let late: AppHandler.Late
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
        late = AppHandler.Late()
        let parts = try AppHandler.Parts(versions, options, late)
        (server, handler) = try Self.bind(parts, connections, late)
        port = server.port
        url = parts.url(at: port)
        dashboardURL = parts.dashboardURL(at: port)
        bridge = parts.bridge
        try Self.refuseLoops(options.proxies, port)
        late.resolve(handler)
        handler.loopsToRead.withLock { [server] in $0 = server.loops }
        if options.port.app != nil, parts.memory.port(for: options.port) == nil {
            ServerMemory.remember(versions, parts.memoryTrouble) { [port] in
                $0.note(options.port, port)
            }
        }
        handler.follow()
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

    /// Takes the first port that is free.
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
        _ = handler.storeWork.add { Self.endStarts(handler, within: max(grace, Self.leastGrace)) }
    }

    /// How long the store is waited for at the end, if nothing else is.
    private static let leastGrace = Duration.seconds(2)

    private static func endStarts(_ handler: AppHandler, within grace: Duration) {
        do throws(StoreError) {
            try LockPatience.within(grace) { () throws(StoreError) in
                try handler.startup?.judge { (judge, ledger) throws(StoreError) in
                    try judge.end(ledger)
                }
            }
        } catch {
            handler.notice("unable to take back a start that was not confirmed: \(error.message)")
        }
    }

    /// Returns when everything has ended, and no version is pinned any more.
    public func waitUntilStopped() async {
        await server.waitUntilStopped()
        await housekeeping.withLock { $0 }?.value
        Self.endStarts(handler, within: Self.leastGrace)
        handler.shelf.clear()
    }

    /// Tells whether the app is in the foreground.
    ///
    /// In the background the time in which a page must confirm does not run.
    public func setForeground(_ isForeground: Bool) {
        handler.setForeground(isForeground)
    }
}
