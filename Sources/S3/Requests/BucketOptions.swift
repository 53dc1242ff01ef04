package import Platform

package struct BucketOptions: Sendable {
    /// The most requests at once (`--jobs`).
    package var jobCount = 16
    package var retries = RetryPolicy()
    /// Larger bodies go in parts.
    package var wholeByteCountMax: Int64 = 64 << 20
    /// The size of a part, unless there would be more than 10,000 of them.
    package var partByteCount: Int64 = 16 << 20
    package var partJobCount = 4
    /// How long nothing may move, in seconds.
    package var stallSeconds = 30

    package var fileSystem: any FileSystem = POSIXFileSystem()
    /// Polled often; `true` ends every request.
    package var isStopped: @Sendable () -> Bool = { Cancellation.isRequested }
    /// Told what the user should know though nothing failed: the clock is wrong, say.
    package var note: @Sendable (String) -> Void = { _ in }
    /// Told what failed and how long the next try waits, from many threads.
    package var retrying: @Sendable (String) -> Void = { _ in }
    /// Seconds since 1970.
    package var now: @Sendable () -> Int64 = { secondsNow() }
    /// Waits; `nil` to sleep and look at ``isStopped`` ten times a second.
    package var pause: (@Sendable (Duration) -> Void)?

    package init() {}

    func wait(_ duration: Duration) {
        if let pause { return pause(duration) }
        var left = duration.milliseconds
        while left > 0, !isStopped() {
            Platform.pause(milliseconds: Int32(min(left, 100)))
            left -= 100
        }
    }
}
