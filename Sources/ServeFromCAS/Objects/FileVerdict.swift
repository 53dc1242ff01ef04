import CASStore

/// The result of reading a file.
struct FileVerdict: Sendable {
    var stamp: FileStamp
    /// `nil`: the bytes match.
    var failure: StoreError?
}

/// What is known of the files that should have one object's bytes: nearly always one sound file.
struct FileVerdicts: Sendable {
    /// More than the files that are tried for one object.
    private static let countMax = ObjectCopy.triedMax + 2
    /// The file last found sound, apart from the others, because that takes no allocation.
    private var sound: FileStamp?
    private var others: [FileVerdict] = []

    var isEmpty: Bool { sound == nil && others.isEmpty }

    subscript(stamp: FileStamp) -> FileVerdict? {
        sound == stamp ? FileVerdict(stamp: stamp) : others.first { $0.stamp == stamp }
    }

    mutating func note(_ verdict: FileVerdict) {
        forget(verdict.stamp)
        if verdict.failure == nil {
            if let sound { add(FileVerdict(stamp: sound)) }
            sound = verdict.stamp
        } else {
            add(verdict)
        }
    }

    /// A changed file counts as a new one: the oldest verdict is the likeliest to be obsolete.
    private mutating func add(_ verdict: FileVerdict) {
        if others.count >= Self.countMax { others.removeFirst() }
        others.append(verdict)
    }

    mutating func forget(_ stamp: FileStamp) {
        if sound == stamp { sound = nil }
        others.removeAll { $0.stamp == stamp }
    }

    mutating func forgetFailedReads() {
        others.removeAll { verdict in
            verdict.failure.map { $0.code != .damagedObject || $0.cause != nil } ?? false
        }
    }
}

extension ContentCache.State {
    mutating func note(_ verdict: FileVerdict, on address: ObjectID) {
        var verdicts = verdicts.value(of: address) ?? FileVerdicts()
        verdicts.note(verdict)
        self.verdicts.insert(address, verdicts, cost: 1)
    }

    mutating func forget(_ stamp: FileStamp, of address: ObjectID) {
        change(address) { $0.forget(stamp) }
    }

    mutating func forgetFailedReads(of address: ObjectID) {
        change(address) { $0.forgetFailedReads() }
    }

    private mutating func change(_ address: ObjectID, _ change: (inout FileVerdicts) -> Void) {
        guard var verdicts = verdicts.value(of: address) else { return }
        change(&verdicts)
        if verdicts.isEmpty {
            self.verdicts.remove(address)
        } else {
            self.verdicts.insert(address, verdicts, cost: 1)
        }
    }
}
