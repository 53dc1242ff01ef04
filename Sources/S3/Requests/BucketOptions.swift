package import Platform

/// How a bucket is worked with.
package struct BucketOptions: Sendable {
    /// The most requests at once (`--jobs`).
    package var jobCount = 16
    /// Failures in a row after which a request is given up.
    package var failureCountMax = 8
    /// Failures in a row over all requests, after which everything is.
    package var allFailureCountMax = 200
    /// How long to wait between tries.
    package var backoff = Backoff()
    /// Bodies with more bytes go in parts.
    package var wholeByteCountMax: Int64 = 64 << 20
    /// The bytes of a part, unless there would be more than 10,000 of them.
    package var partByteCount: Int64 = 16 << 20
    /// The parts of one body that are sent at once.
    package var partJobCount = 4
    /// How long nothing may move, in seconds.
    package var stallSeconds = 30

    /// What reads the files of bodies.
    package var fileSystem: any FileSystem = POSIXFileSystem()
    /// Asked often; `true` ends every request.
    package var isStopped: @Sendable () -> Bool = { false }
    /// Told what the user should know though nothing failed: the clock is wrong, say.
    package var note: @Sendable (String) -> Void = { _ in }
    /// Told of each try that is about to be repeated, from many threads: what failed, and how long it waits.
    package var retrying: @Sendable (String) -> Void = { _ in }
    /// Seconds since 1970.
    package var now: @Sendable () -> Int64 = { secondsNow() }
    /// Waits; nil to sleep, looking at ``isStopped`` ten times a second.
    package var pause: (@Sendable (Duration) -> Void)?

    /// Makes the usual options.
    package init() {}

    /// Waits, or until everything is stopped.
    func wait(_ duration: Duration) {
        if let pause { return pause(duration) }
        var left = duration.milliseconds
        while left > 0, !isStopped() {
            Platform.pause(milliseconds: Int32(min(left, 100)))
            left -= 100
        }
    }
}
