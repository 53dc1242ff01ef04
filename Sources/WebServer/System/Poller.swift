import CSystem
import Platform

#if canImport(Glibc)
    import Glibc
#elseif canImport(Darwin)
    import Darwin
#endif

/// Waits for many sockets at once: epoll(7), or kqueue(2) on Apple systems.
///
/// Tokens name sockets, never pointers: a late event finds a token that no longer means anything. Any thread may call
/// ``wake()``, only the loop's thread everything else.
struct Poller: ~Copyable {
    struct Event {
        var token: UInt64
        var isReadable: Bool
        var isWritable: Bool
        /// The peer has closed its sending side, or the connection is broken.
        var isClosing: Bool
    }

    static let wakeToken = UInt64.max

    private let raw: Int32
    private let wakeReading: Int32
    private let wakeWriting: Int32
    private let events: UnsafeMutableBufferPointer<castree_event>

    init() throws(StoreError) {
        let raw = castree_poller_create()
        guard raw >= 0 else {
            throw StoreError(systemCall: "create a poller", errno: errno, path: "")
        }
        var reading: Int32 = -1
        var writing: Int32 = -1
        guard castree_waker_create(&reading, &writing) == 0,
            castree_poller_add_listener(raw, reading, Self.wakeToken) == 0
        else {
            let number = errno
            for open in Set([raw, reading, writing]) where open >= 0 { Socket.close(open) }
            throw StoreError(systemCall: "create a waker", errno: number, path: "")
        }
        self.raw = raw
        events = .allocate(capacity: 128)
        wakeReading = reading
        wakeWriting = writing
    }

    deinit {
        events.deallocate()
        for open in Set([raw, wakeReading, wakeWriting]) { Socket.close(open) }
    }

    /// Edge-triggered in both directions until the socket is closed.
    func add(stream: Int32, token: UInt64) -> Bool {
        castree_poller_add_stream(raw, stream, token) == 0
    }

    func add(listener: Int32, token: UInt64) -> Bool {
        castree_poller_add_listener(raw, listener, token) == 0
    }

    func remove(_ socket: Int32) { _ = castree_poller_remove(raw, socket) }

    /// Waits for events, at most `milliseconds`; -1 waits without a limit.
    /// - Returns: how many events came; the subscript gives each.
    func wait(milliseconds: Int32) -> Int {
        let count = castree_poller_wait(
            raw, events.baseAddress, Int32(events.count), milliseconds)
        // EINTR: a signal came; the loop checks its state and waits again.
        return max(0, Int(count))
    }

    /// Makes the current or the next call of `wait` return.
    func wake() { castree_wake(wakeWriting) }

    func clearWake() { castree_waker_drain(wakeReading) }

    subscript(_ index: Int) -> Event {
        let event = events[index]
        return Event(
            token: event.token, isReadable: event.flags & CASTREE_READABLE != 0,
            isWritable: event.flags & CASTREE_WRITABLE != 0,
            isClosing: event.flags & CASTREE_CLOSING != 0)
    }
}
