import Archives
import StorageTestSupport

@testable import ClientSystems
@testable import HotPush
@testable import Origin

@Suite struct OriginAnswersTests {
    private let place: ServedPlace

    init() throws { place = try ServedPlace() }

    @Test
    func `systems that are enabled answer, and a broken one does not silence the others`() throws {
        try place.publish("1", ["a": "one"])
        let answers = OriginAnswers(
            OriginReader(try place.origin()), feeds: [GreedyFeed.self, ModelFeed.self])
        var problems: [StoreError] = []
        func systems() -> [ClientSystem] {
            problems = []
            return answers.systems { problems.append($0) }
        }
        expect(systems() == [ModelFeed.system] && problems.isEmpty)
        try expect(answers.text("/elsewhere"), equals: "nothing")
        let greedy = OriginLayout.clientConfiguration(of: GreedyFeed.system.rawValue)
        try place.write(greedy, Array("{".utf8))
        try expect(answers.text("/model/KEY/check").hasPrefix("https://u.example.org"))
        #expect(throws: StoreError.self) { try answers.text("/elsewhere") }
        // Who starts a server serves the others, and says what is wrong.
        expect(systems(), equals: [ModelFeed.system])
        expect(problems.count == 1 && problems.first?.message.contains(greedy) == true)
        // Nor does one that cannot be read at all.
        try place.write(greedy, Array(repeating: 32, count: ClientConfiguration.byteCountMax + 1))
        try expect(answers.text("/model/KEY/check").hasPrefix("https://u.example.org"))
        #expect(throws: StoreError.self) { try answers.text("/elsewhere") }
        try place.write(
            greedy,
            ClientConfiguration(GreedyFeed.system, baseURL: "https://u.example.org").serialized()
        )
        try expect(answers.text("/elsewhere"), equals: "418")
        expect(systems() == [ModelFeed.system, GreedyFeed.system] && problems.isEmpty)
    }

    @Test func `an archive is planned once, and anew when what it depends on has changed`() throws {
        try place.publish("1", ["a": "one", "b/c": "two"])
        let answers = OriginAnswers(OriginReader(try place.origin()), feeds: [ModelFeed.self])
        let request = ClientRequest("GET", "/model/KEY/archive")
        func body(mayRead: Bool) throws -> (tag: ObjectID, plan: ServedAnswer.Plan?) {
            let answer = try require(try answers.answer(request, mayRead: mayRead))
            guard case .composed(let body) = answer.body else {
                throw StoreError(.mismatch, "no archive")
            }
            return (body.tag, answer.plan)
        }
        let first = try body(mayRead: true)
        let plan = try require(first.plan)
        // Until somebody has found its files sound, it is planned each time.
        #expect(throws: StoreError.self) { try body(mayRead: false) }
        answers.remember(plan)
        let second = try body(mayRead: false)
        expect(second.tag == first.tag && second.plan == nil)
        // Strangers can make up any number of queries.
        let asked = ClientRequest("GET", "/model/KEY/archive", query: "1")
        try expect(answers.answer(asked, mayRead: false) != nil)
        try place.publish("2", ["a": "three"])
        #expect(throws: StoreError.self) { try body(mayRead: false) }
        let third = try body(mayRead: true)
        expect(third.tag != first.tag && third.plan != nil)
        // The same content has the same tag, on whatever machine.
        let other = try ServedPlace()
        try other.publish("9", ["b/c": "two", "a": "one"])
        let others = OriginAnswers(OriginReader(try other.origin()), feeds: [ModelFeed.self])
        let answer = try require(try others.answer(request, mayRead: true))
        guard case .composed(let same) = answer.body else { return }
        expect(same.tag, equals: first.tag)
        expect(same.files.count, equals: 2)
    }

    @Test
    func `an archive is planned only where that may be, and sent only once it is proven`() throws {
        try place.publish("1", ["a": "one"])
        let answers = OriginAnswers(OriginReader(try place.origin()), feeds: [ModelFeed.self])
        let request = ClientRequest("GET", "/model/KEY/archive")
        func code(mayRead: Bool) -> StoreError.Code? {
            #expect(throws: StoreError.self) {
                try answers.answer(request, mayRead: mayRead, mayPlan: false)
            }?.code
        }
        expect(code(mayRead: true), equals: .unplanned)
        let plan = try require(try answers.answer(request, mayRead: true)?.plan)
        // For a head alone nobody reads the files: then who sends them has to.
        answers.remember(plan, isProven: false)
        let known = try require(try answers.answer(request, mayRead: false)?.plan)
        answers.remember(known)
        try expect(answers.answer(request, mayRead: false)?.plan == nil)
        try place.publish("2", ["a": "two"])
        expect(code(mayRead: false), equals: .unread)
        expect(code(mayRead: true), equals: .unplanned)
    }

    @Test func `an archive has one spelling, or strangers would have it planned once for each`() {
        let content = String(repeating: "a1", count: 32)
        let names = ["\(content).zip", "\(content).id.zip", "\(content).id.from.\(content).zip"]
        func name(_ text: String) -> String? {
            ClientRequest("GET", "/a/\(text)").archiveName(below: "/a/")?.description
        }
        for text in names {
            expect(name(text), equals: text)
            for other in [
                "%61" + text.dropFirst(), "A" + text.dropFirst(), "/" + text, "./" + text,
                text + "/", text + ".", text + "%20", text.replacing(".zip", with: "%2Ezip"),
                text.replacing(".zip", with: ".ZIP"),
            ] {
                expect(name(other) == nil, "\(other)")
            }
        }
    }

    @Test func `bytes that a target holds as they are become escapes, and what is escaped stays`() {
        for (raw, normalized) in [
            ("/a/b.txt", "/a/b.txt"), ("/a%20b", "/a%20b"), ("/ü.txt", "/%C3%BC.txt"),
            ("/%C3%BC", "/%C3%BC"), ("/😀%2f", "/%F0%9F%98%80%2f"), ("", ""),
        ] {
            expect(ClientRequest.normalized(Array(raw.utf8)), equals: normalized)
        }
    }

    /// RFC 1952, sections 2.2 and 2.3.
    @Test
    func
        `a deflated copy between a gzip header and trailer is a gzip file, and so is each range of it`()
        throws
    {
        let content = Array("hello hello hello hello hello".utf8)
        var deflatedCopy: [UInt8] = []
        let deflater = try Deflater()
        try content.withUnsafeBytes { bytes in
            try deflater.add(bytes) { (piece) throws(StoreError) in deflatedCopy += Array(piece) }
        }
        _ = try deflater.finish { (piece) throws(StoreError) in deflatedCopy += Array(piece) }
        let address = try address(of: deflatedCopy)
        let crc32 = try Digester.digest(.crc32, of: content).reduce(UInt32(0)) {
            $0 << 8 | UInt32($1)
        }
        let body = try require(
            try AnswerBody(
                .gzip(
                    deflatedCopy: address, deflatedByteCount: Int64(deflatedCopy.count),
                    crc32: crc32,
                    byteCount: Int64(content.count))))
        func bytes(_ range: Range<Int64>) -> [UInt8] {
            body.pieces(in: range).flatMap { piece -> [UInt8] in
                switch piece {
                case .bytes(let bytes): return bytes
                case .object: return []
                case .deflatedCopy(let found, let range, let size):
                    expect(found == address && size == Int64(deflatedCopy.count) && !range.isEmpty)
                    return Array(deflatedCopy[Int(range.lowerBound)..<Int(range.upperBound)])
                }
            }
        }
        let whole = bytes(0..<body.byteCount)
        let size = UInt32(content.count)
        let tail = [crc32, size].flatMap { word in
            (0..<4).map { UInt8(truncatingIfNeeded: word >> (8 * $0)) }
        }
        expect(whole, equals: [0x1f, 0x8b, 8, 0, 0, 0, 0, 0, 0, 255] + deflatedCopy + tail)
        expect(Int64(whole.count) == body.byteCount && body.tag == address)
        var wrong: [Range<Int64>] = []
        for lower in 0..<body.byteCount {
            for upper in lower...body.byteCount
            where bytes(lower..<upper) != Array(whole[Int(lower)..<Int(upper)]) {
                wrong.append(lower..<upper)
            }
        }
        expect(wrong.isEmpty)
    }
}
