package import Platform
import Synchronization

/// An HTTP/1.1 server: listening sockets and the loops that serve them.
package final class HTTPServer: Sendable {
    package struct Options: Sendable {
        /// Where to listen; by default only on this machine, on both address families.
        ///
        /// All addresses with port 0 get the same port: the one that the system chooses for the first.
        package var addresses: [SocketAddress] = [.loopback4(0), .loopback6(0)]
        package var loops = 1
        package var loop = LoopOptions()
        package var connection = ConnectionOptions()
        package var tls: TLSContext?
        /// Called for every answered request, on the loops' threads; costs nothing if absent.
        package var accessLog: (@Sendable (AccessRecord) -> Void)?
        /// The servers in front whose `X-Forwarded-For` is trusted.
        package var forwarded = ForwardedClients()
        /// Called for every object that could not be served, on the loops' threads.
        package var onDamage: (@Sendable (StoreError) -> Void)?

        package init() {}
    }

    private struct State {
        var running = 0
        var hasStarted = false
        var waiting: [CheckedContinuation<Void, Never>] = []
        var listeners: [Int32] = []
        /// The loops that no longer look at the listeners.
        var closed: Set<Int> = []

        mutating func closeListeners() {
            for listener in listeners { Socket.close(listener) }
            listeners = []
        }
    }

    package let port: UInt16
    package let loops: [EventLoop]
    private let handler: any RequestHandler
    private let objects: any ObjectSource
    private let options: Options
    private let bodies: BodyBudget
    private let state: Mutex<State>

    /// Binds the addresses; requests are answered after ``start()``.
    /// - Parameter handler: makes the handler, which may need to know the port and the number of loops.
    /// - Throws: `.portInUse`, naming the port; `.permission`; `.io`.
    package init(
        _ options: Options, objects: any ObjectSource,
        handler: (_ port: UInt16, _ loops: Int) -> any RequestHandler
    ) throws(StoreError) {
        let (listeners, port) = try Self.listen(options.addresses)
        var loops: [EventLoop] = []
        var loopOptions = options.loop
        loopOptions.progressWindow = options.connection.progressWindow
        loopOptions.minimumProgress = options.connection.minimumProgress
        let (isUnbound, forwarded) = (loopOptions.isUnbound, options.forwarded)
        loopOptions.isUnbound = { isUnbound($0) || forwarded.isProxy($0) }
        let count = min(max(1, options.loops), 256)
        // The other half of the files that the process may open is for what it serves.
        loopOptions.maximumConnections = min(
            loopOptions.maximumConnections, max(2, (FileLimit.current / 2 - 16) / count))
        do throws(StoreError) {
            for number in 0..<count {
                loops.append(
                    try EventLoop(
                        options: loopOptions, number: number, onDamage: options.onDamage))
            }
        } catch {
            for listener in listeners { Socket.close(listener) }
            throw error
        }
        self.port = port
        self.loops = loops
        self.handler = handler(port, loops.count)
        self.objects = objects
        self.options = options
        bodies = BodyBudget(options.connection.heldBodiesLimit)
        state = Mutex(State(listeners: listeners))
    }

    deinit { state.withLock { state in for each in state.listeners { Socket.close(each) } } }

    /// One socket for each address; an address family that this machine does not have is left out.
    ///
    /// A port that the system chose as free for the first may be in use for the next: then it tries again.
    private static func listen(
        _ addresses: [SocketAddress]
    ) throws(StoreError) -> ([Int32], UInt16) {
        let isChosen = addresses.contains { $0.port == 0 }
        for _ in 0..<(isChosen ? 15 : 0) {
            do throws(StoreError) {
                return try listenOnce(addresses)
            } catch {
                guard error.code == .portInUse else { throw error }
            }
        }
        return try listenOnce(addresses)
    }

    private static func listenOnce(
        _ addresses: [SocketAddress]
    ) throws(StoreError) -> ([Int32], UInt16) {
        var listeners: [Int32] = []
        var port: UInt16 = 0
        do throws(StoreError) {
            for address in addresses {
                let wanted = address.port == 0 && !listeners.isEmpty ? port : address.port
                do throws(StoreError) {
                    let listener = try Socket.listen(
                        SocketAddress(address: address.address, port: wanted))
                    if listeners.isEmpty { port = Socket.port(of: listener) }
                    listeners.append(listener)
                } catch {
                    guard Socket.isFamilyMissing(error), addresses.count > 1 else { throw error }
                }
            }
            guard !listeners.isEmpty else {
                throw StoreError(.unsupported, "there is no address to listen on")
            }
        } catch {
            for listener in listeners { Socket.close(listener) }
            throw error
        }
        return (listeners, port)
    }

    /// Tasks need at least two threads that work, and one that keeps their time; without one of them they would wait
    /// endlessly.
    private static let taskThreadCount = 3

    /// Starts the loops' threads.
    /// - Throws: `.io` if the system can start no thread.
    package func start() throws(StoreError) {
        let listeners = state.withLock { state -> [Int32]? in
            guard !state.hasStarted else { return nil }
            state.hasStarted = true
            state.running = loops.count
            return state.listeners
        }
        guard let listeners else { return }
        for (index, loop) in loops.enumerated() {
            let server = self
            let isStarted = Parallel.start {
                server.serve(loop, listeners)
                server.loopEnded()
            }
            guard isStarted else {
                for _ in index..<loops.count { loopEnded() }
                stop(within: 0)
                throw Self.lackOfThreads
            }
        }
        guard Parallel.canStart(Self.taskThreadCount) else {
            stop(within: 0)
            throw Self.lackOfThreads
        }
    }

    private static var lackOfThreads: StoreError {
        StoreError(
            .io,
            "unable to start a thread; there are too many (ulimit -u, or the service's TasksMax)")
    }

    private func serve(_ loop: EventLoop, _ listeners: [Int32]) {
        let context = ConnectionContext(
            handler: handler, objects: objects, options: options.connection,
            bodies: bodies, log: options.accessLog, forwarded: options.forwarded)
        for listener in listeners {
            _ = loop.accept(from: listener, tls: options.tls) { stream in
                stream.handler = HTTPConnection(stream, context)
            }
        }
        loop.run()
    }

    private func loopEnded() {
        let waiting = state.withLock { state -> [CheckedContinuation<Void, Never>] in
            state.running -= 1
            guard state.running == 0 else { return [] }
            state.closeListeners()
            let waiting = state.waiting
            state.waiting = []
            return waiting
        }
        for each in waiting { each.resume() }
    }

    /// Stops: releases the port, answers requests in flight, closes idle connections, and cuts what is left after
    /// `milliseconds`.
    ///
    /// Returns at once; see ``waitUntilStopped()``.
    package func stop(within milliseconds: Int64 = 10_000) {
        // Weak: in a server that was never started, none of this runs.
        for loop in loops {
            loop.submit { [weak self] loop in
                loop.stop(within: milliseconds)
                self?.stoppedAccepting(loop.number)
            }
        }
    }

    /// Closes the listeners when no loop can use them again, since others may then get their numbers.
    private func stoppedAccepting(_ number: Int) {
        state.withLock { state in
            state.closed.insert(number)
            if state.closed.count == loops.count { state.closeListeners() }
        }
    }

    package func waitUntilStopped() async {
        await withCheckedContinuation { continuation in
            let isOver = state.withLock { state -> Bool in
                guard state.running > 0 else { return true }
                state.waiting.append(continuation)
                return false
            }
            if isOver { continuation.resume() }
        }
    }
}
