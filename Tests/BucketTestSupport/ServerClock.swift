import Synchronization

/// The clock of a server in a test: it stands until the test moves it.
package final class ServerClock: Sendable {
    private let time: Mutex<Int64>

    /// A clock that shows so many seconds since 1970.
    package init(_ seconds: Int64 = 1_764_000_000) { time = Mutex(seconds) }

    /// Seconds since 1970.
    package var now: Int64 { time.withLock { $0 } }

    /// Lets time go by.
    package func advance(_ seconds: Int64) { time.withLock { $0 += seconds } }
}
