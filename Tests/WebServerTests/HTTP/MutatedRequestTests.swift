import SocketTestSupport
import StorageTestSupport

@testable import WebServer

@Suite("A parser under random changes of requests")
struct MutatedRequestTests {
    private let interesting: [UInt8] = [0, 9, 10, 13, 32, 34, 35, 37, 44, 47, 58, 59, 63, 127, 255]

    private func mutate(_ bytes: [UInt8], _ random: inout SeededRandom) -> [UInt8] {
        var bytes = bytes
        for _ in 0..<Int.random(in: 1...4, using: &random) {
            let position = Int.random(in: 0..<max(1, bytes.count), using: &random)
            guard position < bytes.count else { continue }
            switch Int.random(in: 0..<5, using: &random) {
            case 0: bytes[position] = UInt8.random(in: 0...255, using: &random)
            case 1: bytes[position] = interesting.randomElement(using: &random) ?? 0
            case 2: bytes.remove(at: position)
            case 3: bytes.insert(interesting.randomElement(using: &random) ?? 0, at: position)
            default: bytes.insert(contentsOf: bytes[position...].prefix(20), at: position)
            }
        }
        return bytes
    }

    @Test func `says the same however the bytes are split, and what it accepts is in bounds`() {
        let seeds = RequestCase.all.filter { $0.bytes.count < 400 }
        var random = SeededRandom(seed: 20_260_101)
        var accepted = 0
        for round in 0..<60_000 {
            let bytes = mutate(seeds[round % seeds.count].bytes, &random)
            guard !bytes.isEmpty else { continue }
            var whole = RequestParser()
            let expected = whole.parse(bytes.span)
            var split = RequestParser()
            var outcome = RequestParser.Outcome.needMore
            var count = 0
            while outcome == .needMore, count < bytes.count {
                count = min(bytes.count, count + Int.random(in: 1...40, using: &random))
                outcome = split.parse(bytes.span.extracting(..<count))
            }
            expect(outcome, equals: expected, "round \(round): \(bytes)")
            guard case .head(let consumed, _) = expected else { continue }
            accepted += 1
            let head = whole.head
            expect(head.bytes == split.head.bytes && head.fields == split.head.fields)
            expect(consumed <= bytes.count && head.bytes.count <= consumed)
            // Nothing that two readers could take differently is left in what was accepted.
            let inner = head.bytes
            for index in inner.indices {
                if inner[index] == 10 { expect(index > 0 && inner[index - 1] == 13) }
                if inner[index] == 13 { expect(inner[index + 1], equals: 10) }
                expect(inner[index] != 0)
            }
            expect(!head.path.isEmpty && inner.indices.contains(head.path.upperBound))
        }
        expect(accepted > 1000)
    }

    @Test func `and so does the decoder of chunks`() {
        let seed = Array("3;a=b\r\nabc\r\nA\r\n0123456789\r\n0\r\nT: v\r\n\r\n".utf8)
        var random = SeededRandom(seed: 7)
        for round in 0..<10_000 {
            let bytes = mutate(seed, &random)
            func read(_ cuts: [Int]) -> String {
                var decoder = ChunkedDecoder()
                var content: [UInt8] = []
                var position = 0
                do throws(MessageFailure) {
                    for cut in cuts + [bytes.count] where cut > position && !decoder.isDone {
                        position += try decoder.decode(
                            bytes.span.extracting(position..<cut), into: &content, limit: 1000)
                    }
                    return "\(position) \(decoder.isDone) \(content)"
                } catch {
                    return "\(error.status)"
                }
            }
            let cut = Int.random(in: 0...bytes.count, using: &random)
            expect(read([]), equals: read([cut]), "round \(round): \(bytes) cut at \(cut)")
        }
    }
}
