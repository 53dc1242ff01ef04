import Buckets
import HotPush
import Platform
import Synchronization

/// Whether the bucket is reached: says when that changes, and once only.
final class MirrorReach: Sendable {
    private struct State: Sendable {
        var isLost = false
        /// When the last request failed, by the monotonic clock; `nil` if another one was answered since.
        var lostAt: Int64?
        /// What was said of each channel.
        var told: [String: String] = [:]
    }

    private let place: String
    private let notice: @Sendable (String) -> Void
    private let state = Mutex(State())

    /// So long nobody else has to wait for a bucket that has just not answered, in milliseconds.
    private static let respite: Int64 = 5_000
    private static let toldMax = 256

    init(_ place: String, notice: @escaping @Sendable (String) -> Void) {
        self.place = place
        self.notice = notice
    }

    /// Whether an error says that nothing of the bucket can be had now.
    static func isLoss(_ error: StoreError) -> Bool {
        [.network, .bucketAnswer, .noBucket, .credentials].contains(error.code)
    }

    /// Notes how a request has ended.
    func note(_ failure: StoreError?) {
        guard let failure else {
            let isNews = state.withLock { state in
                defer { (state.isLost, state.lostAt) = (false, nil) }
                return state.isLost
            }
            if isNews { notice("\(place) is reached again") }
            return
        }
        guard Self.isLoss(failure) else { return }
        let isNews = state.withLock { state in
            state.lostAt = SystemClock.milliseconds
            defer { state.isLost = true }
            return !state.isLost
        }
        if isNews {
            notice(
                "\(place) cannot be reached: \(failure.message); what is in the cache goes on being answered"
            )
        }
    }

    /// Notes that a request of a look was answered, so others are worth trying.
    ///
    /// Whether the bucket is reached, the whole look says.
    func noteAnswer() { state.withLock { $0.lostAt = nil } }

    /// Why a request need not be tried now; `nil` if it may be worth it.
    var refusal: StoreError? {
        let isFresh = state.withLock { state in
            state.lostAt.map { SystemClock.milliseconds - $0 < Self.respite } ?? false
        }
        return isFresh ? StoreError(.network, "\(place) cannot be reached") : nil
    }

    /// Says something about a part of the origin, once as long as it stays so; `nil`: it is well.
    func tell(_ sentence: String?, of part: String) {
        let isNews = state.withLock { state in
            if state.told.count >= Self.toldMax { state.told = [:] }
            defer { state.told[part] = sentence }
            return sentence != nil && state.told[part] != sentence
        }
        if isNews, let sentence { notice(sentence) }
    }
}
