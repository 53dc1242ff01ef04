import Expectations

@testable import WebServer

@Suite("A reader of request bodies")
struct BodyReaderTests {
    /// Reads `text` cut at `cut`; the content, and how many bytes were used, or the status.
    private func read(
        _ text: String, _ framing: BodyFraming = .chunked, limit: Int = 1000, cut: Int = 0
    ) -> Result<String, MessageFailure> {
        let bytes = Array(text.utf8)
        do throws(MessageFailure) {
            let reader = try BodyReader(framing, limit: limit)
            var used = try reader.read(bytes.span.extracting(..<cut))
            if !reader.isComplete { used += try reader.read(bytes.span.extracting(cut...)) }
            let state = reader.isComplete ? "\(bytes.count - used) left" : "incomplete"
            return .success(String(decoding: reader.content, as: UTF8.self) + "|" + state)
        } catch {
            return .failure(error)
        }
    }

    @Test(
        "joins the chunks, drops extensions and trailers, and stops at the end",
        arguments: [
            ("5\r\nhello\r\n0\r\n\r\n", "hello|0 left"),
            ("5\r\nhello\r\n0\r\n\r\nGET", "hello|3 left"),
            (
                "3;a=b;c=\"d\"\r\nabc\r\nA\r\n0123456789\r\n00\r\nT: v\r\n\r\n",
                "abc0123456789|0 left"
            ),
            ("0\r\n\r\n", "|0 left"),
            ("5\r\nhel", "hel|incomplete"),
        ])
    func wellFormed(_ text: String, _ result: String) {
        for cut in 0...text.utf8.count {
            expect(read(text, cut: cut), equals: .success(result), "cut at \(cut)")
        }
    }

    @Test(arguments: [
        ("zz\r\n", 400), ("\r\n", 400), ("5\nhello", 400), ("5 \r\nhello", 400),
        ("-5\r\n", 400), ("0x5\r\n", 400), ("5\r\nhelloo\r\n", 400), ("5\r\nhello\n", 400),
        ("5;a\u{0}\r\n", 400), ("0\r\nA: \u{1}\r\n", 400), ("0\r\n\r!", 400),
        ("ffffffffffffffff0\r\n", 413),
        ("0\r\n" + String(repeating: "a", count: 9000), 431),
    ])
    func `refuses what is malformed (RFC 9112, section 7.1)`(_ text: String, _ status: Int) {
        for cut in [0, 1, text.utf8.count / 2, text.utf8.count] {
            guard case .failure(let failure) = read(text, cut: cut) else {
                Issue.record("accepted"); continue
            }
            expect(failure.status, equals: status)
        }
    }

    @Test func `takes exactly the length that the head names`() {
        expect(read("helloGET", .length(5)), equals: .success("hello|3 left"))
        expect(read("hel", .length(5), cut: 2), equals: .success("hel|incomplete"))
        expect(read("", .none), equals: .success("|0 left"))
    }

    @Test func `refuses a body over the limit, and takes one of just that size`() {
        let chunks = "5\r\nhello\r\n0\r\n\r\n"
        for cut in 0...chunks.utf8.count {
            expect(read(chunks, limit: 5, cut: cut), equals: .success("hello|0 left"))
            guard case .failure(let failure) = read(chunks, limit: 4, cut: cut) else {
                Issue.record("accepted"); continue
            }
            expect(failure.status, equals: 413)
        }
        expect(read("hello", .length(5), limit: 5), equals: .success("hello|0 left"))
        guard case .failure(let failure) = read("", .length(6), limit: 5) else {
            Issue.record("accepted"); return
        }
        expect(failure.status, equals: 413)
    }
}
