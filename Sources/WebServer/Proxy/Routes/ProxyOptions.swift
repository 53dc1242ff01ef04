/// How requests are passed on; durations in milliseconds.
package struct ProxyOptions: Sendable {
    /// Connecting to one address.
    package var connect: Int64 = 5000
    /// The TLS handshake with an https upstream: beyond it 504.
    package var handshake: Int64 = 10_000
    /// A file of certificates (PEM) whose holders are trusted besides the system's authorities.
    package var authorities: String?
    /// From the end of the request to the head of the answer: beyond it 504.
    package var head: Int64 = 60_000
    /// Between two pieces of a body, of either side.
    package var stall: Int64 = 60_000
    /// How long a client that waits for a 100 is left to an upstream that sends none.
    package var continueWait: Int64 = 1000
    /// How long a connection is kept for the next request; shorter than servers close theirs.
    package var poolIdle: Int64 = 4000
    /// Connections kept for each upstream and loop.
    package var poolSize = 64
    /// The longest idleness of a pooled connection that may carry a request which cannot be repeated.
    package var poolFresh: Int64 = 1000
    /// A tunnel through which nothing moves.
    package var tunnelIdle: Int64 = 3_600_000
    /// Bytes in memory that may wait for one side before the other is held back.
    package var outputLimit = 128 << 10
    /// How names become addresses.
    var lookUp: NameLookUp.Function = NameLookUp.addresses
    /// The scheme for X-Forwarded-Proto.
    package var scheme = "http"

    package init() {}
}
