package import Platform
import Synchronization

/// One thread that serves many sockets.
///
/// Everything but ``submit(_:)`` belongs to that thread. `@unchecked`: no lock protects the state, because only one
/// thread touches it.
package final class EventLoop: @unchecked Sendable {
    package let options: LoopOptions
    package let number: Int
    /// Milliseconds; read once for each round of events.
    package internal(set) var now: Int64
    @exclusivity(unchecked) var dateField: [UInt8] = []
    var dateSecond: Int64 = -1
    let receiveBuffer: UnsafeMutableRawBufferPointer
    @exclusivity(unchecked) var sendBuffer = SendBuffer(capacity: 128 << 10)
    /// Where pieces are gathered to be encrypted together; empty without TLS.
    @exclusivity(unchecked) var gatherBuffer: [UInt8] = []

    let poller: Poller
    @exclusivity(unchecked) var streams: [Stream?] = []
    @exclusivity(unchecked) var generations: [UInt32] = []
    var freeSlots: [Int] = []
    @exclusivity(unchecked) var deadlines = DeadlineQueue()
    @exclusivity(unchecked) var turns: [Stream] = []
    @exclusivity(unchecked) var failures: [(Stream, Int32)] = []
    @exclusivity(unchecked) var afterCalls: [() -> Void] = []
    package internal(set) var streamCount = 0
    private(set) var outboundCount = 0
    /// Whether the loop may connect another stream.
    ///
    /// Each is made for a client that also has a place, and half of all places stay free for clients that need no
    /// other server, however slow these are. With few places, a page may need them all at once.
    var mayConnect: Bool {
        outboundCount * 4 < options.maximumConnections || options.maximumConnections < 256
    }
    /// Connections in the order in which they were accepted, as far as a first request may not have come.
    @exclusivity(unchecked) var awaited: [Stream.Token] = []
    var awaitedStart = 0
    var clients = ClientCounts()
    var acceptors: [Acceptor] = []
    var acceptsAgainAt = DeadlineQueue.never
    var isFull = false
    var isAccepting = true
    package internal(set) var isStopping = false
    var stopDeadline = DeadlineQueue.never
    /// What others keep for this loop alone (a pool of connections), by owner.
    package var attachments: [ObjectIdentifier: AnyObject] = [:]
    let onDamage: (@Sendable (StoreError) -> Void)?

    private let submitted = Mutex(Submitted())
    private struct Submitted {
        var work: [@Sendable (EventLoop) -> Void] = []
        var hasEnded = false
    }
    /// The thread that runs the loop; 0 before it does.
    private let thread = Atomic<UInt>(0)
    /// Whether the loop's own thread has submitted something, which needs no wake-up.
    var hasOwnWork = false

    struct Acceptor {
        let listener: Int32
        /// `nil` for plain connections.
        let tls: TLSContext?
        let begin: (Stream) -> Void
    }

    package init(
        options: LoopOptions = LoopOptions(), number: Int = 0,
        onDamage: (@Sendable (StoreError) -> Void)? = nil
    ) throws(StoreError) {
        self.options = options
        self.number = number
        self.onDamage = onDamage
        poller = try Poller()
        now = SystemClock.milliseconds
        receiveBuffer = .allocate(byteCount: 64 << 10, alignment: 64)
    }

    deinit { receiveBuffer.deallocate() }

    /// Runs `work` on the loop's thread, soon; from any thread.
    /// - Returns: `false` if the loop has ended, so that the work will never run.
    @discardableResult
    package func submit(_ work: @escaping @Sendable (EventLoop) -> Void) -> Bool {
        let (wasEmpty, hasEnded) = submitted.withLock { submitted in
            guard !submitted.hasEnded else { return (false, true) }
            submitted.work.append(work)
            return (submitted.work.count == 1, false)
        }
        if hasEnded { return false }
        if LoopThread.current == thread.load(ordering: .relaxed) {
            hasOwnWork = true
        } else if wasEmpty {
            poller.wake()
        }
        return true
    }

    func takeThread() { thread.store(LoopThread.current, ordering: .relaxed) }

    func takeSubmitted() -> [@Sendable (EventLoop) -> Void] {
        submitted.withLock { submitted in
            let work = submitted.work
            submitted.work = []
            return work
        }
    }

    func endSubmitting() { submitted.withLock { $0.hasEnded = true } }

    package func stream(_ token: Stream.Token) -> Stream? {
        let slot = Int(token.slot)
        guard slot < streams.count, generations[slot] == token.generation else { return nil }
        return streams[slot]
    }

    /// Takes over a connected socket; `nil` if the system refuses it, and then the socket is closed.
    func adopt(_ socket: Int32, isConnecting: Bool = false) -> Stream? {
        let slot: Int
        if let free = freeSlots.popLast() {
            slot = free
        } else {
            slot = streams.count
            streams.append(nil)
            generations.append(0)
        }
        let token = Stream.Token(slot: UInt32(slot), generation: generations[slot])
        guard poller.add(stream: socket, token: token.raw) else {
            freeSlots.append(slot)
            Socket.close(socket)
            return nil
        }
        let stream = Stream(socket, token, self, isConnecting: isConnecting)
        streams[slot] = stream
        streamCount += 1
        if isConnecting { outboundCount += 1 }
        return stream
    }

    /// Starts a connection to `address`; the handler's `connected` or `closed` is called.
    /// - Parameter secure: the TLS to use, and the host that the peer must prove to be.
    /// - Throws: `.io` if the system refuses at once.
    package func connect(
        to address: SocketAddress, handler: any StreamHandler,
        secure: (context: TLSContext, host: String)? = nil
    ) throws(StoreError) -> Stream {
        let socket = try Socket.connect(address)
        guard let stream = adopt(socket, isConnecting: true) else {
            throw StoreError(.io, "unable to watch a connection to \(address)")
        }
        guard stream.encrypt(by: secure?.context, peer: secure?.host) else {
            stream.close()
            throw StoreError(.io, "unable to set up TLS for a connection to \(address)")
        }
        stream.handler = handler
        return stream
    }

    func remove(_ stream: Stream) {
        let slot = Int(stream.token.slot)
        streams[slot] = nil
        generations[slot] &+= 1
        freeSlots.append(slot)
        deadlines.set(slot, to: DeadlineQueue.never)
        streamCount -= 1
        if stream.isOutbound { outboundCount -= 1 }
        if let client = stream.client { clients.remove(client) }
        // close(2) takes the socket out of the poller.
        Socket.close(stream.socket)
        stream.channel.socket = -1
        if isFull {
            isFull = false
            acceptsAgainAt = DeadlineQueue.never
        }
        acceptAgainIfPossible()
    }

    func setDeadline(of stream: Stream, _ time: Int64) {
        deadlines.set(Int(stream.token.slot), to: time)
    }

    func queueTurn(_ stream: Stream) {
        guard !stream.isQueuedForTurn else { return }
        stream.isQueuedForTurn = true
        turns.append(stream)
    }

    /// Ends a stream after the current call, because its handler is still running.
    func failLater(_ stream: Stream, _ number: Int32) { failures.append((stream, number)) }

    /// Runs `work` after the current event, before the loop waits for the next one.
    func afterCall(_ work: @escaping () -> Void) { afterCalls.append(work) }

    func reportDamage(_ error: StoreError) { onDamage?(error) }
}

// Swift's tasks on a loop's thread.
extension EventLoop: TaskExecutor {
    /// Runs a step of a task on the loop's thread, soon; from any thread.
    ///
    /// If a handler on that thread causes the step (by a message that a task waits for), the step runs in the same
    /// turn and wakes no other thread. A step must not block.
    package func enqueue(_ job: consuming ExecutorJob) {
        let job = UnownedJob(job)
        let executor = asUnownedTaskExecutor()
        // A loop that has ended runs nothing, but a task must still end.
        if !submit({ _ in job.runSynchronously(on: executor) }) {
            job.runSynchronously(on: executor)
        }
    }
}

/// Whether a stream waits for its client, which decides whether it gives way when all places are taken.
package enum ClientSilence: Sendable {
    /// Something is under way.
    case no
    /// Its first request has not come.
    case beforeFirst
    /// Since then, no further request or part of a body has come.
    case between(since: Int64)
    /// It was answered then and drops the rest of its request, or may not ask; or it became a WebSocket without a
    /// session.
    case answered(since: Int64)
}

// Which connection gives way when all places are taken. Otherwise anyone who opens connections and sends nothing
// could keep all others out.
extension EventLoop {
    func noteAccepted(_ stream: Stream) {
        _ = longestAwaited()
        awaited.append(stream.token)
    }

    /// Ends a connection that waits for its client; returns whether there was one.
    ///
    /// First the one that has waited longest for its first request; then one that may not ask, or was answered long
    /// ago and still sends its request; then the one that has been silent longest after an answer or within a body.
    /// Each must have waited for a while, because a request takes a moment to come, and one that has come is answered;
    /// the first needs only a moment. If none has waited so long, new connections wait in the system's queue.
    func makeSpace() -> Bool {
        let first = longestAwaited()
        func gives(after timeout: Int64) -> Stream? {
            first.flatMap { self.gives($0, since: $0.beganAt, after: timeout) ? $0 : nil }
        }
        let giving =
            gives(after: options.timeout) ?? longestSilent() ?? gives(after: options.timeout / 4)
        giving?.close()
        return giving != nil
    }

    private func gives(_ stream: Stream, since: Int64, after timeout: Int64) -> Bool {
        now - since >= timeout && !stream.hasUnread
    }

    /// The connection that has waited longest for its first request; drops those before it whose request has come.
    private func longestAwaited() -> Stream? {
        while awaitedStart < awaited.count {
            if let stream = self.stream(awaited[awaitedStart]),
                case .beforeFirst = stream.handler?.silence(of: stream) ?? .no
            {
                return stream
            }
            awaitedStart += 1
            guard awaitedStart >= 1024, awaitedStart * 2 > awaited.count else { continue }
            awaited.removeFirst(awaitedStart)
            awaitedStart = 0
        }
        awaited.removeAll(keepingCapacity: true)
        awaitedStart = 0
        return nil
    }

    private func longestSilent() -> Stream? {
        var longest: (stream: Stream, since: Int64)?
        for case let stream? in streams {
            switch stream.handler?.silence(of: stream) ?? .no {
            case .answered(let since) where now - since >= options.timeout: return stream
            case .between(let since)
            where since < longest?.since ?? .max
                && gives(stream, since: since, after: options.timeout):
                longest = (stream, since)
            default: continue
            }
        }
        return longest?.stream
    }

    /// Counts a connection for its client; returns whether that client may have it.
    func admit(_ stream: Stream) -> Bool {
        guard let limit = options.clientConnections, let peer = stream.peer,
            !options.isUnbound(peer.unmapped)
        else { return true }
        let client = ClientCounts.client(at: peer)
        stream.client = client
        return clients.add(client) <= limit || streamCount * 2 <= options.maximumConnections
    }

    /// Serves on this thread until the last stream after ``stop(within:)`` has ended; call it once.
    package func run() {
        Socket.blockBrokenPipeSignal()
        takeThread()
        while !isStopping || streamCount > 0 {
            let count = poller.wait(milliseconds: timeout())
            look()
            // Read what has come before a new connection replaces one that seems to be silent.
            for isListener in [false, true] {
                for index in 0..<count where Self.isListener(poller[index]) == isListener {
                    handle(poller[index])
                }
            }
            workThroughSubmitted()
            takeTurns()
            expire()
            doPostponed()
        }
        endSubmitting()
        for work in takeSubmitted() { work(self) }
        // Break a cycle: the holder of an unanswered request holds the loop, whose acceptors and attachments may hold
        // that holder.
        acceptors = []
        attachments = [:]
    }

    /// Does the submitted work, and a few rounds of what that work submits.
    private func workThroughSubmitted() {
        for _ in 0..<4 {
            let work = takeSubmitted()
            hasOwnWork = false
            for each in work { each(self) }
            if !hasOwnWork { return }
        }
    }

    private func timeout() -> Int32 {
        guard turns.isEmpty, failures.isEmpty, !hasOwnWork else { return 0 }
        let next = min(deadlines.next, min(acceptsAgainAt, stopDeadline))
        guard next != DeadlineQueue.never else { return -1 }
        return Int32(clamping: max(0, next - SystemClock.milliseconds))
    }

    private func look() {
        now = SystemClock.milliseconds
        let second = SystemClock.seconds
        guard second != dateSecond else { return }
        dateSecond = second
        dateField.removeAll(keepingCapacity: true)
        dateField.append(contentsOf: "Date: ".utf8)
        HTTPDate(seconds: second).append(to: &dateField)
        dateField.append(contentsOf: [13, 10])
    }

    func handle(_ event: Poller.Event) {
        if event.token == Poller.wakeToken {
            poller.clearWake()
            return
        }
        let slot = Int(truncatingIfNeeded: event.token & 0xFFFF_FFFF)
        let generation = UInt32(truncatingIfNeeded: event.token >> 32)
        if Self.isListener(event) {
            accept(slot)
            return
        }
        guard slot < streams.count, generations[slot] == generation, let stream = streams[slot]
        else { return }
        stream.take(event)
    }

    /// Does the work that was postponed until no handler is running.
    func doPostponed() {
        while !afterCalls.isEmpty {
            let work = afterCalls
            afterCalls.removeAll(keepingCapacity: true)
            for each in work { each() }
        }
        while let (stream, number) = failures.popLast() { stream.sendFailed(number) }
    }

    func takeTurns() {
        guard !turns.isEmpty else { return }
        let current = turns
        turns.removeAll(keepingCapacity: true)
        for stream in current {
            stream.isQueuedForTurn = false
            if !stream.isClosed { stream.turn() }
        }
    }

    func expire() {
        while let slot = deadlines.popExpired(now: now) { streams[slot]?.deadlineReached() }
        if acceptsAgainAt <= now {
            acceptsAgainAt = DeadlineQueue.never
            isFull = false
            acceptAgainIfPossible()
        }
        if stopDeadline <= now {
            stopDeadline = DeadlineQueue.never
            for stream in streams { stream?.close() }
        }
    }

    // MARK: Accepting

    /// No stream has this generation long enough to be confused with a listener.
    static let listenerGeneration = UInt32.max

    /// Accepts connections of `listener`, which the loop does not own; `begin` gives each one a handler.
    func accept(
        from listener: Int32, tls: TLSContext? = nil, begin: @escaping (Stream) -> Void
    ) -> Bool {
        acceptors.append(Acceptor(listener: listener, tls: tls, begin: begin))
        return poller.add(listener: listener, token: Self.token(acceptors.count - 1))
    }

    private static func isListener(_ event: Poller.Event) -> Bool {
        event.token != Poller.wakeToken && event.token >> 32 == listenerGeneration
    }

    private static func token(_ acceptor: Int) -> UInt64 {
        UInt64(listenerGeneration) << 32 | UInt64(acceptor)
    }

    private func accept(_ index: Int) {
        guard isAccepting, index < acceptors.count else { return }
        // A few at a time, so that other loops get some.
        for number in 0..<16 {
            if streamCount >= options.maximumConnections, number > 0 { return }
            // Only the first one certainly exists; nothing may be closed for the others.
            guard streamCount < options.maximumConnections || makeSpace() else {
                pauseAccepting()
                // Until a connection ends, or waits and gives way.
                isFull = true
                acceptsAgainAt = now + 100
                return
            }
            switch Socket.accept(acceptors[index].listener) {
            case nil: return
            case .success(let socket):
                guard let stream = adopt(socket) else { continue }
                guard admit(stream), stream.encrypt(by: acceptors[index].tls) else {
                    stream.close()
                    continue
                }
                acceptors[index].begin(stream)
                noteAccepted(stream)
            case .failure(let failure):
                if failure.isOutOfFiles, makeSpace() { continue }
                // Too many open files, or no memory: waiting connections keep waiting.
                pauseAccepting()
                acceptsAgainAt = now + 100
                return
            }
        }
    }

    private func pauseAccepting() {
        guard isAccepting else { return }
        isAccepting = false
        for acceptor in acceptors { poller.remove(acceptor.listener) }
    }

    func acceptAgainIfPossible() {
        guard !isAccepting, !isStopping, acceptsAgainAt == DeadlineQueue.never else { return }
        isAccepting = true
        for (index, acceptor) in acceptors.enumerated() {
            _ = poller.add(listener: acceptor.listener, token: Self.token(index))
        }
    }

    /// Stops accepting, lets each stream finish, and ends those that are left after `milliseconds`.
    package func stop(within milliseconds: Int64) {
        guard !isStopping else { return }
        pauseAccepting()
        isStopping = true
        stopDeadline = now + milliseconds
        for stream in streams {
            guard let stream, !stream.isEnding else { continue }
            stream.handler?.stopping(stream)
        }
    }
}

/// How many connections each client has: an address, or one host's network of 64 bits in IPv6 (RFC 6177).
struct ClientCounts {
    typealias Client = [UInt8]

    private var counts: [Client: Int] = [:]

    static func client(at peer: SocketAddress) -> Client {
        let address = peer.unmapped.address
        return address.count == 16 ? Array(address[..<8]) : address
    }

    /// Counts one more connection of a client; returns how many it has now.
    mutating func add(_ client: Client) -> Int {
        let count = counts[client, default: 0] + 1
        counts[client] = count
        return count
    }

    mutating func remove(_ client: Client) {
        guard let count = counts[client] else { return }
        counts[client] = count > 1 ? count - 1 : nil
    }
}

/// How a loop treats its streams.
package struct LoopOptions: Sendable {
    /// How many milliseconds it reads and drops what comes after the last answer.
    package var linger: Int64 = 2000
    /// The same limit in bytes.
    package var lingerByteCount = 1 << 20
    /// Milliseconds in which a peer must take some of what is queued for it.
    package var progressWindow: Int64 = 10_000
    /// The bytes it must take in a window.
    package var minimumProgress: Int64 = 4096
    /// Bytes of a file in one system call.
    package var sliceByteCount = 2 << 20
    /// Bytes for one stream before others get a turn.
    package var turnByteCount = 4 << 20
    /// Connections open at a time.
    ///
    /// Above it, one that waits for its client gives way to a new one; if none does, new ones wait in the system's
    /// queue.
    package var maximumConnections = 4096
    /// Milliseconds that a connection may wait for its client before it may give way.
    package var timeout: Int64 = 1000
    /// Connections of one client while more than half of all places are taken; `nil` for any number.
    package var clientConnections: Int?
    /// Addresses exempt from that: this machine's, and those of servers in front of this one.
    package var isUnbound: @Sendable (SocketAddress) -> Bool = { $0.isLoopback }

    package init() {}
}
