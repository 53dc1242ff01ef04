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
