package import Platform
import Synchronization

/// Why files are to come.
package enum FetchDemand: Sendable {
    /// What changes depends on them: they have requests of their own, and nobody waits for one twice that does not come.
    case needed
    /// The storage below is known to have them.
    case listed
    /// Somebody asks for them: two at a time, and not at all when too many were asked for in vain.
    case asked
}

/// A file that comes: others who want it wait for it, and share its failure.
final class Fetch: Sendable {
    let gate = ThreadGate(limit: 1)
    let failure = Mutex<StoreError?>(nil)
}

extension CachedStorage {
    /// Has files come that are not there, several at once, and each once, however many wait for it.
    ///
    /// - Throws: why the first of them cannot be had: `.missingFromBucket`; `.tooLarge`, `.network` where the storage is not
    ///   even asked.
    package func fetch(_ files: [NamedFile], _ demand: FetchDemand) throws(StoreError) {
        try inParallel(files.count) { (index) throws(StoreError) in
            try self.obtain(files[index], demand)
        }
    }

    /// Makes a copy of a file, unless one is there.
    private func obtain(_ file: NamedFile, _ demand: FetchDemand) throws(StoreError) {
        let fetch = state.withLock { state in
            let fetch = state.fetches[file] ?? Fetch()
            state.fetches[file] = fetch
            return fetch
        }
        fetch.gate.enter()
        defer {
            state.withLock { $0.fetches[file] = nil }
            fetch.gate.leave(limit: 1)
        }
        if let failure = fetch.failure.withLock({ $0 }) { throw failure }
        if try proves(file) { return }
        let began = options.clock()
        let isStray = demand == .asked
        do throws(StoreError) {
            if isStray, negatives.hasTooManyStrays {
                throw StoreError(
                    .tooLarge,
                    "files that \(place) does not have are asked for over and over; those that no release lists are looked for "
                        + "again in a minute")
            }
            try pass(demand) { () throws(StoreError) in
                if let refusal = negatives.refusal { throw refusal }
                try changing { () throws(StoreError) in try receive(file) }
            }
            negatives.forgetMissing(file.key)
            negatives.note(nil)
        } catch {
            fetch.failure.withLock { $0 = error }
            // What is known to be there is: a refusal may pass.
            if error.code == .missingFromBucket || isStray && error.code == .accessDenied {
                negatives.noteMissing(file.key, isStray: isStray)
            }
            if demand == .needed { negatives.noteLate(file.key, error, since: began) }
            if negatives.isLost(error) { negatives.note(error) }
            throw error
        }
    }

    /// Does what asks the storage below, when not too many others do.
    private func pass(
        _ demand: FetchDemand, _ work: () throws(StoreError) -> Void
    ) throws(StoreError) {
        if demand == .needed { return try work() }
        if demand == .asked { strays.enter() }
        defer { if demand == .asked { strays.leave(limit: Self.strayCount) } }
        gate.enter()
        defer { gate.leave(limit: gateCount) }
        try work()
    }

    private func receive(_ file: NamedFile) throws(StoreError) {
        // What nobody says the size of comes whole or not at all: never more than the cache may have.
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
            } settle: { (name) throws(StoreError) in
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

    func missing(_ file: NamedFile, _ problem: String) -> StoreError {
        StoreError(.missingFromBucket, "\(file.key) \(problem)", object: file.address)
    }
}
