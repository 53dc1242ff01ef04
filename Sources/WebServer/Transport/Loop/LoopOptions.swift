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
