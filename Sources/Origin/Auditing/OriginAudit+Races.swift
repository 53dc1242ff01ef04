import CASStore
import HotPush
import Storage
import Synchronization

extension OriginAudit {
    private static let (roundCount, creatorCount) = (10, 8)

    /// Tests whether the store lets exactly one of several creators succeed, which the log relies on.
    ///
    /// The races leave files under `probe/` until the next prune. A store that fails once is unsuitable.
    /// - Returns: the files that were raced for.
    /// - Throws: what the storage refuses; `.network` if no answer came.
    func race() throws(StoreError) -> [String] {
        var keys: [String] = []
        for round in 1...Self.roundCount {
            try throwIfInterrupted()
            keys.append(OriginLayout.probe(try LogEntry.drawAuthor()))
            guard let problem = try hold(keys[round - 1]) else { continue }
            try found(
                .unsuitableStore, nil,
                "\(storage.place) is not suitable for several publishers: in race \(round) \(problem); several publishers "
                    + "would overwrite each other's releases: publish to a directory and copy it")
            break
        }
        report.raceCount = keys.count
        return keys
    }

    /// - Returns: what went wrong; `nil` if exactly one creator won.
    private func hold(_ key: String) throws(StoreError) -> String? {
        var bodies: [StorageBody] = []
        for number in 0..<Self.creatorCount {
            bodies.append(try StorageBody(Array("creator \(number)\n".utf8)))
        }
        let outcomes = Mutex<[Int: WriteOutcome]>([:])
        let (storage, all) = (storage, bodies)
        try storage.inParallel(all.count) { (position) throws(StoreError) in
            let outcome = try storage.putIfAbsent(key, all[position], .logEntry)
            outcomes.withLock { $0[position] = outcome }
        }
        let ended = outcomes.withLock { $0 }
        if ended.values.contains(.unsupported) {
            return "it answered that it does not know If-None-Match: *"
        }
        let winners = ended.filter { $0.value.isStored }.map(\.key)
        guard winners.count <= 1 else {
            return "\(winners.count) of \(Self.creatorCount) creators of one file succeeded"
        }
        let (outcome, bytes) = try storage.bytes(key, ReadRequest(byteCountMax: 1_024))
        guard case .found = outcome else { return "the file that was created is not there" }
        let address = try ObjectID(of: bytes)
        // A creator that got no answer, and then a refusal, may have won.
        guard let place = all.firstIndex(where: { $0.address == address }) else {
            return "the file that was created has other bytes"
        }
        if let winner = winners.first, winner != place {
            return "the file of the one that succeeded was overwritten"
        }
        return nil
    }
}
