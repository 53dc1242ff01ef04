/// How requests are passed on; durations are in milliseconds.
package struct ProxyOptions: Sendable {
    package var connect: Int64 = 5000
    /// The TLS handshake with an https upstream: above it 504.
    package var handshake: Int64 = 10_000
    /// A file of certificates (PEM) to trust in addition to the system's authorities.
    package var authorities: String?
    /// From the end of the request to the head of the answer: above it 504.
    package var head: Int64 = 60_000
    /// Between two pieces of a body, in either direction.
    package var stall: Int64 = 60_000
    /// How long a client waits for its 100 while the upstream sends none.
    package var continueWait: Int64 = 1000
    /// How long a connection is kept for the next request; servers keep theirs longer.
    package var poolIdle: Int64 = 4000
    package var poolSize = 64
    /// The longest idle time of a pooled connection that may carry an unrepeatable request.
    package var poolFresh: Int64 = 1000
    package var tunnelIdle: Int64 = 3_600_000
    /// Bytes in memory that may wait for one side before the other side has to wait.
    package var outputLimit = 128 << 10
    var lookUp: NameLookUp.Function = NameLookUp.addresses
    package var scheme = "http"
    /// Whether cookies for https alone stay so for a browser at an http address of this machine.
    package var keepsSecureCookies = false

    package init() {}
}
