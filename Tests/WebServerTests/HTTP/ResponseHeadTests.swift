import WebTestSupport

@Suite("A response head")
struct ResponseHeadTests {
    @Test func `keeps its fields in order, and finds them whatever their case`() {
        var head = ResponseHead(304)
        head.add("ETag", "\"a\"")
        head.add("Vary", "Accept-Encoding")
        expect(head.status, equals: 304)
        expect(head.values("etag"), equals: ["\"a\""])
        expect(head.fields.map(\.name), equals: ["ETag", "Vary"])
        let text = String(decoding: head.bytes, as: UTF8.self)
        expect(
            text, equals: "HTTP/1.1 304 Not Modified\r\nETag: \"a\"\r\nVary: Accept-Encoding\r\n")
    }
}
