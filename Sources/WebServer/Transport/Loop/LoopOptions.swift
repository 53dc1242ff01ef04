/// How a loop treats its streams.
package struct LoopOptions: Sendable {
    /// Milliseconds to read and drop what comes after the last answer.
    package var linger: Int64 = 2000
    /// The same in bytes.
    package var lingerByteCount = 1 << 20
    /// Milliseconds in which a peer must take something of what is queued for it.
    package var progressWindow: Int64 = 10_000
    /// What it must take in a window.
    package var minimumProgress: Int64 = 4096
    /// Bytes of a file for one system call.
    package var sliceByteCount = 2 << 20
    /// Bytes for one stream before others have their turn.
    package var turnByteCount = 4 << 20
    /// Connections accepted at a time: beyond it new ones wait in the system's queue.
    package var maximumConnections = 4096

    package init() {}
}
