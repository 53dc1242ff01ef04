package import Platform
import Synchronization

/// Why files are fetched.
package enum FetchDemand: Sendable {
    /// A change depends on them; nobody waits twice for one that does not come.
    case needed
    /// The storage below is known to have them.
    case listed
    /// A client asks for them: two at a time, and none after too many vain requests.
    case asked
}

extension CachedStorage {
    /// Fetches missing files in parallel, each once however many wait for it.
    /// - Parameter since: when they were asked for, by the cache's clock; a failure since then counts.
    /// - Throws: the first reason why one of them is unavailable: `.missingFromBucket`; `.tooLarge`, `.network` if
    ///   the storage is not even asked.
    package func fetch(
        _ files: [NamedFile], _ demand: FetchDemand, since: Int64? = nil
    ) throws(StoreError) {
        let since = since ?? options.clock()
        if files.count <= 1 {
            for file in files { try obtain(file, demand, since) }
            return
        }
        // The first error is thrown while other files still come.
        let outcome = Monitor<(failure: StoreError?, isOver: Bool)>((nil, false))
        Parallel.detach {
            // Errors are passed on below.
            try? self.inParallel(files.count) { (index) throws(StoreError) in
                do throws(StoreError) { try self.obtain(files[index], demand, since) } catch {
                    outcome.change { $0.failure = $0.failure ?? error }
                    throw error
                }
            }
            outcome.change { $0.isOver = true }
        }
        let failure = outcome.wait(until: { $0.failure != nil || $0.isOver }) { $0.failure }
        if let failure { throw failure }
    }

    private func obtain(
        _ file: NamedFile, _ demand: FetchDemand, _ since: Int64
    ) throws(StoreError) {
        if try proves(file) { return }
        let gate = state.withLock { state in
            let gate = state.fetches[file] ?? ThreadGate(limit: 1)
            state.fetches[file] = gate
            return gate
        }
        gate.enter()
        defer {
            state.withLock { $0.fetches[file] = nil }
            gate.leave(limit: 1)
        }
        if let failure = negatives.failure(of: file.key, since: since) { throw failure }
        if try proves(file) { return }
        if demand == .asked { strays.enter() }
        defer { if demand == .asked { strays.leave(limit: Self.strayCount) } }
        if demand != .needed { clients.enter() }
        defer { if demand != .needed { clients.leave(limit: clientCount) } }
        if demand == .asked, let refusal = negatives.strayRefusal { throw refusal }
        if let refusal = negatives.refusal { throw refusal }
        do throws(StoreError) {
            try changing { () throws(StoreError) in
                guard demand == .needed else { return try receive(file) }
                try negatives.asking(for: file.key) { () throws(StoreError) in try receive(file) }
            }
            negatives.note(nil, of: file.key)
        } catch {
            negatives.note(error, of: file.key, demand)
            throw error
        }
    }

    private func receive(_ file: NamedFile) throws(StoreError) {
        // A file of unknown size comes whole or not at all, and is never larger than the cache.
        let limit = file.byteCount ?? min(file.byteCountMax, options.byteCount)
        var byteCount: Int64 = 0
        do throws(StoreError) {
            try copies.receive(file.name, file.address) { (sink) throws(StoreError) in
                let request = ReadRequest(byteCountMax: limit)
                let outcome = try base.get(file.key, request) { (part) throws(StoreError) in
                    byteCount += Int64(part.count)
                    try sink(part)
                }
                guard case .found = outcome else { throw missing(file, "is not in \(place)") }
            } commit: { (name) throws(StoreError) in
                guard file.byteCount ?? byteCount == byteCount else {
                    throw StoreError.damaged(file.address)
                }
                turn.enter()
                defer { turn.leave(limit: 1) }
                try name()
                state.withLock {
                    $0.copies.add(file.name, byteCount: byteCount, isProven: true)
                }
            }
        } catch {
            let mends = "; castree fsck --repair mends it"
            switch error.code {
            case .damagedObject:
                throw missing(file, "in \(place) has other bytes than its name says" + mends)
            case .tooLarge where limit == file.byteCount ?? file.byteCountMax:
                throw missing(file, "in \(place) has more than \(limit) bytes" + mends)
            case .tooLarge:
                throw missing(
                    file, "in \(place) has more bytes than the cache may have (--cache-size)")
            default: throw error
            }
        }
        try trim()
    }

    private func missing(_ file: NamedFile, _ problem: String) -> StoreError {
        StoreError(.missingFromBucket, "\(file.key) \(problem)", object: file.address)
    }
}
