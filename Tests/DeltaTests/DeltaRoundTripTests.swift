import Platform
import StorageTestSupport

@testable import Delta

@Suite("Deltas") struct DeltaRoundTripTests {
    @Test(arguments: DeltaSample.all)
    func `give their content back`(_ sample: DeltaSample) throws {
        let frame = try sample.encoded()
        expect(try sample.decoded(frame) == sample.content)
    }

    @Test(arguments: DeltaSample.all)
    func `are the same bytes each time`(_ sample: DeltaSample) throws {
        expect(try sample.encoded() == sample.encoded())
    }

    @Test func `of what hardly changed are small`() throws {
        let limits = [
            "the same": 16, "one byte changed": 24, "blocks that were moved": 32,
            "small shifts": 200, "words that grew": 300, "names that changed": 300,
            "one byte again and again": 100, "noise": 20_500,
        ]
        for sample in DeltaSample.large {
            guard let limit = limits[sample.testDescription] else { continue }
            let count = try sample.encoded().count
            expect(count <= limit, "\(sample.testDescription): \(count) bytes")
        }
    }

    // These bytes are in packs: a change of the format or of a model must not go unnoticed.
    @Test(arguments: [
        ("nothing from nothing", "010000"), ("one byte", "010000f7fe80"),
        ("another byte", "010001f7fffff8"),
        ("something from nothing", "01000bff1d6ebf880c9b63373619"),
        ("the end before the beginning", "010004fffc7af5ad27a73f885ec10e6318"),
        ("words that grew", "0100de5d9447bff94487a7fe00000000000000af4e4998a6"),
    ])
    func `have the bytes that they always had`(_ name: String, _ hex: String) throws {
        let sample = try require(DeltaSample.all.first { $0.testDescription == name })
        expect(try sample.encoded().map { String(format: "%02x", $0) }.joined(), equals: hex)
    }

    // All models at work: by FNV-1a of the frames.
    @Test(arguments: [
        ("text", 7_234_126_773_944_866_053 as UInt64),
        ("names that changed", 12_079_847_171_407_336_240),
        ("small shifts", 13_404_950_867_719_974_532),
        ("noise over noise", 1_989_593_909_643_852_742),
    ])
    func `that are long have the bytes that they always had`(_ name: String, _ hash: UInt64) throws
    {
        let sample = try require(DeltaSample.all.first { $0.testDescription == name })
        let found = try sample.encoded().reduce(0xCBF2_9CE4_8422_2325 as UInt64) {
            ($0 ^ UInt64($1)) &* 0x0000_0100_0000_01B3
        }
        expect(found, equals: hash)
    }

    @Test func `with runs longer than a window, and at the base's ends, come back`() throws {
        var random = SeededRandom(seed: 5)
        let base = random.bytes(3 * BaseView.windowByteCount + 1)
        let content = base.map { $0 &+ ($0 & 1) }
        for start in [0, 1, BaseView.margin, BaseView.margin + 1] {
            let count = base.count - start
            let sample = DeltaSample(
                "from \(start)", base: base, content: Array(content[start...]),
                [(0, 0, start), (count, 0, 0)])
            expect(try sample.decoded(try sample.encoded()) == sample.content)
        }
    }

    @Test func `of which too much would be modelled are not made`() throws {
        let content = [UInt8](repeating: 1, count: DeltaLimits.modelledByteCountMax + 1)
        let sample = DeltaSample("too much", base: [], content: content, [(0, content.count, 0)])
        let error = #expect(throws: StoreError.self) { try sample.encoded() }
        expect(error?.code, equals: .tooLarge)
    }

    @Test func `larger than is useful are not made`() throws {
        let sample = try require(DeltaSample.large.first { $0.testDescription == "text" })
        let count = try sample.encoded().count
        for (limit, isMade) in [(count, true), (count - 1, false), (0, false)] {
            let frame = try? sample.content.withUnsafeBytes { content in
                try sample.base.withUnsafeBytes { base in
                    try DeltaEncoder.encode(
                        content, base: base, steps: sample.steps, limit: limit)
                }
            }
            expect((frame != nil) == isMade, "\(limit) of \(count)")
        }
    }

    @Test func `say what decoding them takes`() throws {
        for sample in DeltaSample.all {
            let frame = try sample.encoded()
            let header = try frame.withUnsafeBytes { try DeltaHeader(of: $0) }
            expect(header.memoryByteCount <= DeltaLimits.memoryByteCountMax)
            expect(header.modelledByteCount <= sample.content.count)
        }
    }
}
