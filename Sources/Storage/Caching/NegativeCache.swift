package import Platform
import Synchronization

/// What a storage does not provide, for as long as that is believed, and what was reported of it.
///
/// Clients can ask a server for anything. A missing file is not requested again for a minute; after 64 vain requests,
/// only files known to exist are requested. A file that kept somebody waiting in vain is requested in the background
/// until it is answered. Any thread may use it.
package final class NegativeCache: Sendable {
    private struct State: Sendable {
        var failures: [String: Failure] = [:]
        /// When unknown files were found missing, oldest first.
        var strays: [Int64] = []
        /// Late files that are requested again in the background, the first two of them now.
        var line: [String] = []
        /// When the last request failed; `nil` if another one was answered since.
        var lostAt: Int64?
        /// Whether it was reported that the storage cannot be reached.
        var isLost = false
        var told: [String: String] = [:]
    }

    private struct Failure: Sendable {
        let error: StoreError
        let at: Int64
        var isMissing = false
        /// Whether somebody waited too long for it, so that it is requested in the background.
        var isLate = false
    }

    private let base: any ObjectStorage
    private let options: CachedStorage.Options
    private let state = Mutex(State())

    /// How many vain requests for unknown files are allowed in a minute.
    package static let strayCountMax = 64
    /// How long a file is believed to be missing, in milliseconds.
    private static let lifetime: Int64 = 60_000
    /// How long nobody else waits for a storage that has just not answered, in milliseconds.
    private static let respite: Int64 = 5_000
    private static let countMax = 1_024
    private static let askedAtOnce = 2

    init(_ base: any ObjectStorage, _ options: CachedStorage.Options) {
        self.base = base
        self.options = options
    }

    private var now: Int64 { options.clock() }

    // MARK: What is not there

    package func isMissing(_ key: String) -> Bool {
        let known = state.withLock { $0.failures[key] }
        return known.map { $0.isMissing && now - $0.at < Self.lifetime } ?? false
    }

    /// Forgets which files are missing, as the storage has changed.
    package func forgetMissing() {
        state.withLock { $0.failures = $0.failures.filter { !$0.value.isMissing } }
    }

    /// Why no unknown file is requested for a while, after too many vain requests.
    var strayRefusal: StoreError? {
        let strays = state.withLock { $0.strays }
        guard strays.count == Self.strayCountMax, now - strays[0] < Self.lifetime else {
            return nil
        }
        return StoreError(
            .tooLarge,
            "files that \(base.place) does not have are asked for over and over; those that no release lists are looked for "
                + "again in a minute")
    }

    // MARK: What does not come

    /// - Parameter isMissing: whether the file is missing, as far as the caller can tell.
    package func note(_ error: StoreError, of key: String, isMissing: Bool, isLate: Bool = false) {
        state.withLock { state in
            if state.failures.count >= Self.countMax {
                state.failures = state.failures.filter { state.line.contains($0.key) }
            }
            let isLate = isLate || state.failures[key]?.isLate ?? false
            state.failures[key] = Failure(
                error: error, at: now, isMissing: isMissing, isLate: isLate && error.isUnanswered)
        }
    }

    func note(_ error: StoreError, of key: String, _ demand: FetchDemand) {
        // For a file that is known to exist, a refusal may pass.
        let isMissing =
            error.code == .missingFromBucket || demand == .asked && error.code == .accessDenied
        note(error, of: key, isMissing: isMissing)
        if isMissing, demand == .asked {
            state.withLock { $0.strays = ($0.strays + [now]).suffix(Self.strayCountMax) }
        }
        if isLost(error) { note(error) }
    }

    /// Why a file has not come since it was asked for; `nil` if nobody has asked the storage since.
    func failure(of key: String, since asked: Int64) -> StoreError? {
        state.withLock { $0.failures[key].flatMap { $0.at > asked ? $0.error : nil } }
    }

    /// Asks for a file that is needed repeatedly, unless it has kept somebody waiting too long.
    func asking<Value>(
        for key: String, _ ask: () throws(StoreError) -> Value
    ) throws(StoreError) -> Value {
        if let failure = lateFailure(of: key) { throw failure }
        let began = now
        do throws(StoreError) {
            let value = try ask()
            // Other files are worth trying, too; whether the storage is reachable is noted separately.
            state.withLock { $0.lostAt = nil }
            return value
        } catch {
            note(error, of: key, isMissing: false, isLate: now - began >= options.timeout)
            throw error
        }
    }

    /// Why nobody need wait for a file that another thread requests; `nil` if the caller may ask.
    private func lateFailure(of key: String) -> StoreError? {
        let (failure, isFirst) = state.withLock { state -> (StoreError?, Bool) in
            guard let failure = state.failures[key], failure.isLate else { return (nil, false) }
            if state.line.contains(key) { return (failure.error, false) }
            state.line.append(key)
            return (failure.error, state.line.count <= Self.askedAtOnce)
        }
        if isFirst { Parallel.detach { self.ask(for: key) } }
        return failure
    }

    private func ask(for first: String) {
        var next: String? = first
        while let key = next {
            var failure: Failure?
            do throws(StoreError) {
                _ = try base.get(key, ReadRequest(byteCountMax: 1 << 30)) { _ in }
            } catch {
                if error.isUnanswered { failure = Failure(error: error, at: now, isLate: true) }
            }
            next = state.withLock { state in
                state.failures[key] = failure
                state.line.removeAll { $0 == key }
                // Those before it are being requested already.
                return state.line.dropFirst(Self.askedAtOnce - 1).first
            }
        }
    }

    // MARK: Whether it is reached

    /// Whether an error concerns the whole storage rather than one file; asks for another one.
    package func isLost(_ error: StoreError) -> Bool {
        guard error.mayMeanLoss else { return false }
        if refusal != nil { return true }
        let isReached = options.sentinels.contains { key in
            do throws(StoreError) {
                _ = try asking(for: key) { () throws(StoreError) in try base.head(key) }
                return true
            } catch {
                return !error.mayMeanLoss
            }
        }
        state.withLock { $0.lostAt = isReached || !error.isUnanswered ? nil : now }
        return !isReached
    }

    /// Why the storage need not be asked now; `nil` if it may be worth it.
    package var refusal: StoreError? {
        let isFresh = state.withLock { $0.lostAt.map { now - $0 < Self.respite } ?? false }
        return isFresh ? StoreError(.network, "\(base.place) cannot be reached") : nil
    }

    /// Notes whether the storage is reachable, and reports changes.
    /// - Parameter key: a file that has come.
    package func note(_ failure: StoreError?, of key: String? = nil) {
        if let failure, !failure.isUnanswered { return }
        let isNews = state.withLock { state in
            if let key { state.failures[key] = nil }
            state.lostAt = failure == nil ? nil : now
            defer { state.isLost = failure != nil }
            return state.isLost != (failure != nil)
        }
        guard isNews else { return }
        let loss = failure.map { "cannot be reached: \($0.message); " + Self.goesOn }
        options.notice("\(base.place) \(loss ?? "is reached again")")
    }

    package static let goesOn = "what is in the cache is still answered"

    /// Reports the state of a part once for as long as it lasts; `nil` means that it is well.
    /// - Parameter error: the problem. An unanswered request is identified by its code, as its message varies.
    package func tell(_ sentence: String?, of part: String, _ error: StoreError? = nil) {
        let code = error.flatMap { $0.isUnanswered ? $0.code.description : nil }
        let known = sentence.map { code ?? $0 }
        let isNews = state.withLock { state in
            if state.told.count >= Self.countMax { state.told = [:] }
            defer { state.told[part] = known }
            return state.told[part] != known
        }
        if isNews, let sentence { options.notice(sentence) }
    }
}

extension StoreError {
    /// Whether a storage has not answered, so that perhaps nothing of it is available.
    package var isUnanswered: Bool {
        [.network, .bucketAnswer, .noBucket, .credentials].contains(code)
    }
    /// The same, or that it accepts the keys no longer.
    package var mayMeanLoss: Bool { isUnanswered || code == .accessDenied }
}
