import Delta
import StorageTestSupport

@testable import DeltaSearch

/// `decode_delta.py` was written from docs/codec-3.md by somebody who had not seen castree's sources.
@Suite("A reader made from the description of codec 3 alone") struct IndependentReaderTests {
    struct Sample: CustomTestStringConvertible, Sendable {
        let testDescription: String
        let make: @Sendable (inout SeededRandom) -> (base: [UInt8], content: [UInt8])

        init(
            _ name: String,
            _ make: @escaping @Sendable (inout SeededRandom) -> (base: [UInt8], content: [UInt8])
        ) {
            testDescription = name
            self.make = make
        }
    }

    static let samples = [
        Sample("an equal object") { random in
            let bytes = random.bytes(5_000)
            return (bytes, bytes)
        },
        Sample("bytes that change here and there") { random in
            let base = DeltaMakingTests.text(&random, words: 1000)
            var content = base
            for place in stride(from: 0, to: content.count, by: 40) { content[place] &+= 3 }
            return (base, content)
        },
        Sample("blocks that change places, with text between them") { random in
            let base = DeltaMakingTests.text(&random, words: 1500)
            let other = DeltaMakingTests.text(&random, words: 200)
            return (base, base[6000...] + other + base[..<4000] + other + other[..<300])
        },
        Sample("text that has nothing from the base") { random in
            (random.bytes(2_000), DeltaMakingTests.text(&random, words: 500))
        },
        Sample("words that all grow by the same") { _ in
            func words(_ more: UInt32) -> [UInt8] {
                (0..<3000).flatMap { number in
                    withUnsafeBytes(of: (UInt32(number) * 977 + more).littleEndian) { Array($0) }
                }
            }
            return (words(0), words(12_345))
        },
        Sample("the tables of bytecode") { _ in
            let old = HermesFile(version: 96)
            var new = old
            new.functions[30] += 7
            new.strings.insert(40, at: 11)
            return (old.bytes, new.bytes)
        },
        Sample("the tables of newer bytecode, of which one is empty") { _ in
            var old = HermesFile(version: 98)
            old.expressions = []
            var new = old
            new.functions.insert(31, at: 50)
            new.longStrings[1] += 5
            return (old.bytes, new.bytes)
        },
    ]

    @Test(arguments: samples)
    func `gives the content that castree does:`(_ sample: Sample) throws {
        var random = SeededRandom(seed: 21)
        let (base, content) = sample.make(&random)
        let frame = try require(try DeltaMakingTests.frame(of: content, from: base))
        if sample.testDescription.contains("tables") { expect(frame[1] & 1 == 1) }
        let directory = TemporaryDirectory()
        func file(_ name: String) -> URL { URL(filePath: directory.appending(name)) }
        try Data(frame).write(to: file("frame"))
        try Data(base).write(to: file("base"))
        let process = Process()
        process.executableURL = URL(filePath: "/usr/bin/env")
        process.arguments = [
            "python3",
            URL(filePath: #filePath).deletingLastPathComponent().path + "/decode_delta.py",
            file("frame").path, file("base").path, String(content.count),
        ]
        try Data().write(to: file("content"))
        process.standardOutput = try FileHandle(forWritingTo: file("content"))
        try process.run()
        process.waitUntilExit()
        expect(process.terminationStatus, equals: 0)
        try expect([UInt8](Data(contentsOf: file("content"))) == content)
    }
}
