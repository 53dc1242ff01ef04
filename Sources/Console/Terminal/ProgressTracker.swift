import Synchronization

/// Feeds a progress bar from someone who says how much is done, not how much more.
///
/// Any thread may call. Reports that overtake each other move the bar back and forth, and the sum is
/// right again with the last one.
package final class ProgressTracker: Sendable {
    private let bar: ProgressBar
    private let reported = Atomic<Int>(0)

    package init(_ bar: ProgressBar) {
        self.bar = bar
    }

    /// Notes how much is done by now, and of how much if that has become known.
    package func report(_ done: some BinaryInteger, of total: (some BinaryInteger)? = Int?.none) {
        let done = Int(clamping: done)
        let before = reported.exchange(done, ordering: .relaxed)
        if let total { bar.update(total: Int(clamping: total)) }
        bar.advance(by: done - before)
    }

    /// Removes the bar.
    package func finish() {
        bar.finish()
    }
}
