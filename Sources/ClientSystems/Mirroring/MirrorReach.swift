import HotPush
import Platform
import Storage
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
    private let probe: @Sendable () throws(StoreError) -> Void
    private let notice: @Sendable (String) -> Void
    private let state = Mutex(State())

    /// So long nobody else has to wait for a bucket that has just not answered, in milliseconds.
    private static let respite: Int64 = 5_000
    private static let toldMax = 256

    /// - Parameters:
    ///   - place: the bucket, for messages.
    ///   - probe: asks for files that every origin has; throws if no answer comes to any of them.
    init(
        _ place: String, probe: @escaping @Sendable () throws(StoreError) -> Void,
        notice: @escaping @Sendable (String) -> Void
    ) {
        self.place = place
        self.probe = probe
        self.notice = notice
    }

    /// Whether an error may mean that nothing of the bucket can be had now.
    static func isLoss(_ error: StoreError) -> Bool {
        [.network, .bucketAnswer, .noBucket, .credentials].contains(error.code)
    }

    /// Whether an error means that, and not only that one file cannot be had: asks for another one.
    func isLost(_ error: StoreError) -> Bool {
        guard Self.isLoss(error) else { return false }
        if refusal != nil { return true }
        do throws(StoreError) {
            try probe()
            noteAnswer()
            return false
        } catch {
            guard Self.isLoss(error) else { return false }
            state.withLock { $0.lostAt = SystemClock.milliseconds }
            return true
        }
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

    /// Says what is wrong with a part of the origin, in a sentence with the error's message.
    func tell(_ error: StoreError, of part: String, _ sentence: (String) -> String) {
        // How an answer fails to come differs from one try to the next.
        let known = Self.isLoss(error) ? error.code.description : nil
        tell(sentence(error.message), of: part, known: known)
    }

    /// Says something about a part of the origin, once as long as it stays so; `nil`: it is well.
    /// - Parameter known: what stays, where the sentence does not.
    func tell(_ sentence: String?, of part: String, known: String? = nil) {
        let known = sentence.map { known ?? $0 }
        let isNews = state.withLock { state in
            if state.told.count >= Self.toldMax { state.told = [:] }
            defer { state.told[part] = known }
            return state.told[part] != known
        }
        if isNews, let sentence { notice(sentence) }
    }
}
