import CASStore
import HotPush
import Platform
import Storage
import Synchronization

// Files come on threads of their own, each once, however many wait for it.
extension MirrorCache {
    /// Has files come that are not there.
    ///
    /// - Parameters:
    ///   - areKnown: whether the storage is known to have them: they go before those that are only asked for, which come two
    ///     at a time, and not at all for a minute when too many were asked for in vain.
    ///   - then: called once, on whatever thread, when all are there or one cannot be had.
    func fetch(
        _ files: [PlacedFile], areKnown: Bool, then: @escaping @Sendable (StoreError?) -> Void
    ) {
        guard !files.isEmpty else { return then(nil) }
        let errand = MirrorErrand(files.count, then)
        let threadCount = state.withLock {
            $0.fetches.add(
                files, areKnown, errand, threadMax: bucket.parallelCount - Self.lookingCount)
        }
        guard let threadCount else {
            return then(
                StoreError(.tooLarge, "more files are asked for than \(bucket.place) gives"))
        }
        for _ in 0..<threadCount {
            // If no thread can be started, this one does the work: late is better than never.
            Parallel.detach { self.work() }
        }
    }

    /// Whether a key was found missing a short time ago.
    func isAbsent(_ key: String) -> Bool {
        state.withLock { $0.absences.has(key, at: SystemClock.milliseconds) }
    }

    /// Notes that a key is missing, for a minute.
    func noteAbsence(_ key: String) {
        state.withLock { $0.absences.note(key, isStray: false, at: SystemClock.milliseconds) }
    }

    /// Forgets which keys are missing: the storage has changed.
    func forgetAbsences() { state.withLock { $0.absences.forgetKeys() } }

    /// So many requests at once are kept for what looks ask for: clients' files that hang must not keep news away.
    private static let lookingCount = 4

    private func work() {
        while let (file, isKnown) = state.withLock({ $0.fetches.next() }) {
            let failure = obtain(file, isKnown)
            let waiting = state.withLock { $0.fetches.end(file, isKnown) }
            for errand in waiting { errand.end(failure) }
        }
    }

    /// Makes a copy of a file, unless one is there.
    /// - Returns: why it has not come.
    private func obtain(_ file: PlacedFile, _ isKnown: Bool) -> StoreError? {
        let began = SystemClock.milliseconds
        do throws(StoreError) {
            if try proves(file.name) { return nil }
            if !isKnown, state.withLock({ $0.absences.isFull(at: SystemClock.milliseconds) }) {
                return StoreError(
                    .tooLarge,
                    "files that \(bucket.place) does not have are asked for over and over; those that no release lists are looked for "
                        + "again in a minute")
            }
            if let refusal = reach.refusal { return refusal }
            try changing { () throws(StoreError) in try receive(file) }
            state.withLock { $0.absences.forget(file.key.path) }
            reach.note(nil)
            return nil
        } catch {
            // What is known to be there is: a refusal may pass.
            if error.code == .missingFromBucket || !isKnown && error.code == .accessDenied {
                state.withLock {
                    $0.absences.note(file.key.path, isStray: !isKnown, at: SystemClock.milliseconds)
                }
            }
            // Looks wait for documents alone.
            if isKnown, ![.object, .twin, .pack].contains(file.name.kind) {
                laggards.note(file.key.path, error, since: began)
            }
            if reach.isLost(error) { reach.note(error) }
            return error
        }
    }

    private func receive(_ file: PlacedFile) throws(StoreError) {
        // What nobody says the size of comes whole or not at all: never more than the cache may have.
        let limit = file.byteCount ?? min(file.name.byteCountMax, self.limit.byteCount)
        var byteCount: Int64 = 0
        do throws(StoreError) {
            try copies.receive(file.name.path, file.name.address) { (sink) throws(StoreError) in
                let request = ReadRequest(byteCountMax: limit)
                let outcome = try bucket.get(file.key.path, request) { (part) throws(StoreError) in
                    byteCount += Int64(part.count)
                    try sink(part)
                }
                guard case .found = outcome else {
                    throw missing(file, "is not in \(bucket.place)")
                }
            } settle: { (name) throws(StoreError) in
                guard file.byteCount ?? byteCount == byteCount else {
                    throw StoreError.damaged(file.name.address)
                }
                turn.enter()
                defer { turn.leave(limit: 1) }
                try name()
                state.withLock { $0.index.add(file.name, byteCount: byteCount, .whole) }
            }
        } catch {
            let mends = "; castree fsck --repair mends it"
            switch error.code {
            case .damagedObject:
                throw missing(file, "in \(bucket.place) has other bytes than its name says" + mends)
            case .tooLarge where limit == file.byteCount ?? file.name.byteCountMax:
                throw missing(file, "in \(bucket.place) has more than \(limit) bytes" + mends)
            case .tooLarge:
                throw missing(
                    file, "in \(bucket.place) has more bytes than the cache may have (--cache-size)"
                )
            default: throw error
            }
        }
        try trim(to: self.limit)
    }

    private func missing(_ file: PlacedFile, _ problem: String) -> StoreError {
        StoreError(.missingFromBucket, "\(file.key.path) \(problem)", object: file.name.address)
    }
}
