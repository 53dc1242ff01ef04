/// A span of time that runs only while an app is in the foreground: in the background its page may not
/// even run.
///
/// A value that knows no clock: it is told what time it is.
struct ForegroundTimer: Sendable, Hashable {
    /// What was left when it last stopped or began to run.
    private var left: Duration
    private var runsSince: Duration?

    /// Makes a timer of that length; it runs if the app is in the foreground.
    init(_ length: Duration, isForeground: Bool, now: Duration) {
        left = length
        runsSince = isForeground ? now : nil
    }

    /// What is left of it, not below zero.
    func remaining(now: Duration) -> Duration {
        let passed = runsSince.map { now - $0 } ?? .zero
        return max(.zero, left - max(.zero, passed))
    }

    /// Whether it is over.
    func isOver(now: Duration) -> Bool { remaining(now: now) == .zero }

    /// Whether time passes.
    var isRunning: Bool { runsSince != nil }

    /// Notes that the app has come to the foreground or left it.
    mutating func setForeground(_ isForeground: Bool, now: Duration) {
        guard isForeground != isRunning else { return }
        left = remaining(now: now)
        runsSince = isForeground ? now : nil
    }
}
