import StorageTestSupport

/// The short part of fuzzing: every sample, and mutations of them that the seed of the run chooses.
///
/// 2,000 mutations a target, 20,000 in a whole run; `CASTREE_FUZZ_INPUTS` asks for another number.
@Suite("Bytes from strangers")
struct SeededFuzzTests {
    static let corpora = URL(filePath: #filePath).deletingLastPathComponent()
        .appending(path: "Corpora")

    static func samples(_ target: FuzzTarget) throws -> [[UInt8]] {
        let folder = corpora.appending(path: target.name)
        return try FileManager.default.contentsOfDirectory(atPath: folder.path).sorted().map {
            Array(try Data(contentsOf: folder.appending(path: $0)))
        }
    }

    static let inputCount =
        ProcessInfo.processInfo.environment["CASTREE_FUZZ_INPUTS"].flatMap { Int($0) }
        ?? (TestShare.isWhole ? 20_000 : 2_000)

    /// Mutations of a target's samples; those of a whole run are always the same.
    static func mutations(of target: Int) -> Mutation {
        Mutation(seed: UInt64(target) &+ (TestShare.isWhole ? 0 : TestShare.seed << 8))
    }

    @Test(arguments: FuzzTarget.all.indices)
    func `are read or refused, whatever they are`(_ index: Int) throws {
        let target = FuzzTarget.all[index]
        let samples = try Self.samples(target)
        try require(!samples.isEmpty, "\(target.name) has no samples")
        for sample in samples { try check(target, sample, "a sample") }
        var mutation = Self.mutations(of: index)
        for number in 0..<Self.inputCount {
            let input = mutation.mutated(samples, words: target.words)
            try check(target, input, "mutation \(number)")
        }
    }

    private func check(_ target: FuzzTarget, _ input: [UInt8], _ origin: String) throws {
        do {
            try target.check(input)
        } catch {
            let text = Data(input).base64EncodedString()
            Issue.record("\(target.name): \(error), given \(origin), in base 64: \(text)")
            throw error
        }
    }

    @Test(arguments: FuzzTarget.all.indices)
    func `are cut anywhere, and every part is read or refused`(_ index: Int) throws {
        let target = FuzzTarget.all[index]
        for sample in try Self.samples(target) {
            for end in sample.indices { try check(target, Array(sample[..<end]), "cut at \(end)") }
        }
    }

    @Test(arguments: FuzzTarget.all.indices)
    func `have a bit turned anywhere, and are read or refused`(_ index: Int) throws {
        let target = FuzzTarget.all[index]
        for sample in try Self.samples(target) {
            try forEachTurnedBit(of: sample, TestShare(oneIn: 6, of: "turned bits")) {
                bytes, place in
                try check(target, bytes, place)
            }
        }
    }

    @Test(arguments: FuzzTarget.broken.indices)
    func `are found wrong by the suite itself, if a reader is`(_ index: Int) throws {
        let (wrong, target) = FuzzTarget.broken[index]
        let number = try require(FuzzTarget.all.firstIndex { $0.name == target.name })
        let samples = try Self.samples(target)
        // Of these very inputs the real reader is given a share: the first that tells is enough.
        struct Complaint: Error { let place: String }
        func complain(_ input: [UInt8], _ place: String) throws {
            do { try target.check(input) } catch { throw Complaint(place: place) }
        }
        let complaint = #expect(throws: Complaint.self, "\(target.name) that \(wrong)") {
            for sample in samples {
                try forEachTurnedBit(of: sample, TestShare(oneIn: 1, of: "all bits"), complain)
            }
            var mutation = Self.mutations(of: number)
            for count in 0..<Self.inputCount {
                let input = mutation.mutated(samples, words: target.words)
                try complain(input, "mutation \(count)")
            }
        }
        print(
            "fuzz, \(target.name) that \(wrong): the first complaint is of \(complaint?.place ?? "none")"
        )
    }

    private func forEachTurnedBit(
        of sample: [UInt8], _ share: TestShare, _ body: ([UInt8], _ place: String) throws -> Void
    ) rethrows {
        for position in sample.indices.prefix(2048) {
            for bit in 0..<8 where share.takes(position * 8 + bit) {
                var bytes = sample
                bytes[position] ^= 1 << UInt8(bit)
                try body(bytes, "bit \(bit) of byte \(position)")
            }
        }
    }
}
