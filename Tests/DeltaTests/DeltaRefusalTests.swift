import Platform
import StorageTestSupport

@testable import Delta

/// Encodes the numbers of a body that no encoder would make.
struct ForgedBody {
    private let memory = ModelMemory()
    private var numbers: NumberModels
    private var coder = RangeEncoder()

    init() { numbers = NumberModels(memory) }

    mutating func step(_ copyByteCount: Int, _ literalByteCount: Int) {
        _ = numbers.copy.code(copyByteCount, context: numbers.seek.bitCount, &coder)
        _ = numbers.literal.code(literalByteCount, context: numbers.copy.bitCount, &coder)
    }

    mutating func equal(_ count: Int) {
        _ = numbers.equal.code(count, context: numbers.corrected.bitCount, &coder)
    }

    mutating func corrected(_ count: Int) {
        _ = numbers.corrected.code(count - 1, context: numbers.equal.bitCount, &coder)
    }

    mutating func seek(_ distance: Int) {
        _ = numbers.codeSign(distance < 0 ? 1 : 0, &coder)
        _ = numbers.seek.code(
            distance < 0 ? -distance - 1 : distance, context: numbers.literal.bitCount, &coder)
    }

    /// The frame with a head that says so many modelled bytes, below 128.
    mutating func frame(modelled: UInt8 = 0) -> [UInt8] {
        coder.finish()
        return [1, 0, modelled] + coder.bytes
    }
}

@Suite("Hostile deltas") struct DeltaRefusalTests {
    static let base = Array("0123456789".utf8)

    private func refuse(
        _ frame: [UInt8], _ words: String, byteCount: Int = 10,
        line: Int = #line
    ) {
        let error = #expect(throws: StoreError.self, "line \(line)") {
            try DeltaDecoder.decode(frame, base: Self.base, byteCount: byteCount)
        }
        expect(error?.code == .badFrame, "line \(line)")
        expect(error?.message.contains(words) ?? false, "line \(line): \(error?.message ?? "")")
    }

    private func refuse(
        _ words: String, modelled: UInt8 = 0, line: Int = #line,
        _ forge: (inout ForgedBody) -> Void
    ) {
        var body = ForgedBody()
        forge(&body)
        refuse(body.frame(modelled: modelled), words, line: line)
    }

    @Test func `what is forged right is read`() throws {
        var body = ForgedBody()
        body.step(4, 0)
        body.equal(4)
        body.seek(-4)
        body.step(6, 0)
        body.equal(6)
        let content = try DeltaDecoder.decode(body.frame(), base: Self.base, byteCount: 10)
        expect(content == Array("0123012345".utf8))
    }

    @Test func `heads that say what none may say are refused`() {
        refuse([], "cut off")
        refuse([1, 0], "cut off")
        refuse([0, 0, 0], "version 0")
        refuse([2, 0, 0], "version 2")
        for bit in 3..<8 { refuse([1, 1 << UInt8(bit), 0, 0], "reserved") }
        refuse([1, 0, 0x80], "cut off")
        refuse([1, 0, 0x80, 0], "too long")
        refuse([1, 0, 0x85, 0x80, 0], "too long")
        refuse([1, 0, 0xFF, 0xFF, 0xFF, 0xFF, 0x7F], "too large")
        refuse([1, 0, 0x81, 0x80, 0x80, 0x04], "models 8388609 bytes")
    }

    @Test func `what models as much as is allowed, in the largest tables, is read`() throws {
        let frame: [UInt8] = [1, 6, 0x80, 0x80, 0x80, 0x04]
        let header = try frame.withUnsafeBytes { try DeltaHeader(of: $0) }
        expect(header.modelledByteCount, equals: DeltaLimits.modelledByteCountMax)
        // Enough is left for the largest tables that are made.
        expect(header.memoryByteCount < DeltaLimits.memoryByteCountMax - 1_000_000)
    }

    @Test func `tables that cannot be are refused`() {
        let good: [UInt8] = [8, 1, 0, 0, 32, 0, 1, 0, 1]
        self.refuse([1, 1, 0], "cut off")
        self.refuse([1, 1, 0, 0], "0 tables")
        self.refuse([1, 1, 0, 17], "17 tables")
        for end in good.indices { self.refuse([1, 1, 0, 1] + good[..<end], "cut off") }
        func refuse(
            changed change: (inout [UInt8]) -> Void, _ words: String, line: Int = #line
        ) {
            var table = good
            change(&table)
            self.refuse([1, 1, 0, 1] + table, words, line: line)
        }
        refuse(changed: { $0[0] = 0 }, "impossible fields")
        refuse(changed: { $0[0] = 65 }, "impossible fields")
        refuse(changed: { $0[1] = 0 }, "0 fields")
        refuse(changed: { $0[1] = 5 }, "5 fields")
        refuse(changed: { $0[2] = 5 }, "impossible fields")
        refuse(changed: { $0[3] = 8 }, "impossible fields")
        refuse(changed: { $0[3] = 1 }, "impossible fields")
        refuse(changed: { $0[4] = 0 }, "impossible fields")
        refuse(changed: { $0[4] = 33 }, "impossible fields")
        refuse(
            changed: { $0.replaceSubrange(1..<5, with: [2, 0, 0, 8, 0, 7, 8]) }, "impossible fields"
        )
        refuse(changed: { $0[5] = 3 }, "not within")
        refuse(changed: { $0[6] = 2 }, "not within")
        refuse(changed: { $0[7] = 3 }, "not within")
        refuse(changed: { $0[8] = 2 }, "not within")
        // Of 2^27 records of 8 bytes; of one million.
        refuse(changed: { $0.replaceSubrange(6..<7, with: [0x80, 0x80, 0x80, 0x40]) }, "too large")
        refuse(changed: { $0.replaceSubrange(6..<7, with: [0xC0, 0x84, 0x3D]) }, "bytes of memory")
    }

    @Test func `steps that leave the content or the base are refused`() {
        refuse("exceeds the content") { $0.step(11, 0) }
        refuse("exceeds the content") { $0.step(0, 11) }
        refuse("exceeds the content") { $0.step(5, 6) }
        refuse("exceeds the content") { $0.step((1 << 31) - 2, (1 << 31) - 2) }
        refuse("outside of the base") {
            $0.step(0, 0)
            $0.seek(1)
            $0.step(10, 0)
        }
        refuse("seeks outside") {
            $0.step(0, 0)
            $0.seek(11)
        }
        refuse("seeks outside") {
            $0.step(0, 0)
            $0.seek(-1)
        }
        refuse("seeks outside") {
            $0.step(0, 0)
            $0.seek(-(1 << 31) + 1)
        }
    }

    @Test func `runs that leave their step are refused`() {
        refuse("exceeds its step") {
            $0.step(5, 0)
            $0.equal(6)
        }
        refuse("exceeds its step", modelled: 9) {
            $0.step(5, 0)
            $0.equal(2)
            $0.corrected(4)
        }
    }

    @Test func `steps that do nothing twice running are refused`() {
        refuse("without effect") {
            $0.step(0, 0)
            $0.seek(1)
            $0.step(0, 0)
        }
    }

    @Test func `more steps than are allowed are refused`() throws {
        for isTooMuch in [false, true] {
            let count = DeltaLimits.stepCountMax + (isTooMuch ? 1 : 0)
            var body = ForgedBody()
            for number in 1...count {
                body.step(1, 0)
                body.equal(1)
                if number < count { body.seek(-1) }
            }
            let frame = body.frame()
            expect(frame.count < 1000)
            if isTooMuch {
                refuse(frame, "too many steps", byteCount: count)
            } else {
                let content = try DeltaDecoder.decode(frame, base: Self.base, byteCount: count)
                expect(content == [UInt8](repeating: UInt8(ascii: "0"), count: count))
            }
        }
    }

    @Test func `what models more or less than it says is refused`() {
        refuse("more than it says", modelled: 2) {
            $0.step(5, 0)
            $0.equal(2)
            $0.corrected(3)
        }
        refuse("more than it says", modelled: 9) { $0.step(0, 10) }
        refuse("less than it says", modelled: 1) {
            $0.step(10, 0)
            $0.equal(10)
        }
    }

    @Test func `what something follows is refused`() throws {
        for sample in DeltaSample.all {
            let frame = try sample.encoded()
            for tail in [[0], [1], [0, 0, 0, 0, 0]] as [[UInt8]] {
                let error = #expect(throws: StoreError.self) { try sample.decoded(frame + tail) }
                expect(error?.code == .badFrame)
            }
        }
    }

    @Test func `what is cut off is not read on as zeros`() throws {
        let sample = try require(DeltaSample.large.first { $0.testDescription == "noise" })
        let frame = Array(try sample.encoded()[..<5000])
        let error = #expect(throws: StoreError.self) { try sample.decoded(frame) }
        expect(error?.message.contains("cut off") ?? false, "\(String(describing: error))")
    }

    /// What comes out is wrong, or nothing does.
    private func tryDecoding(_ frame: [UInt8], _ sample: DeltaSample) throws {
        do {
            _ = try sample.decoded(frame)
        } catch let error as StoreError {
            expect(error.code, equals: .badFrame)
        }
    }

    @Test(arguments: DeltaSample.all)
    func `frames that are cut anywhere are refused or give bytes`(_ sample: DeltaSample) throws {
        let frame = try sample.encoded()
        let step = frame.count > 1000 ? 97 : 1
        for end in stride(from: 0, to: frame.count, by: step) {
            try tryDecoding(Array(frame[..<end]), sample)
        }
    }

    @Test(arguments: DeltaSample.all)
    func `frames with a bit turned are refused or give bytes`(_ sample: DeltaSample) throws {
        let frame = try sample.encoded()
        let share = TestShare(oneIn: frame.count > 1000 ? 400 : 1, of: sample.testDescription)
        for place in 0..<frame.count * 8 where share.takes(place) {
            var turned = frame
            turned[place / 8] ^= 1 << UInt8(place % 8)
            try tryDecoding(turned, sample)
        }
    }
}
