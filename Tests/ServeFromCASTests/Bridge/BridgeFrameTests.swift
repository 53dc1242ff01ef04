import Expectations
import ServeFromCAS

/// docs/bridge-protocol.md, Frames.
@Suite("A frame of the bridge")
struct BridgeFrameTests {
    static let id = "00112233445566778899aabbccddeeff"

    static let good = [
        "H 1 -", "H 1 \(id) 0", "H 1 \(id) 17", "W 1 \(id) 9007199254740991", "A 0", "A 12", "P",
        "C",
        "M 1 0\n", "M 1 0\nhello\nworld", "M 2 7 again\nx", "E 1 0 progress\n{}",
    ]

    @Test(arguments: good)
    func `is written as it is read`(_ text: String) throws {
        let frame = try BridgeFrame(Array(text.utf8)[...], isBinary: false)
        expect(String(decoding: frame.bytes, as: UTF8.self), equals: text)
    }

    @Test func `of bytes keeps them all`() throws {
        let bytes = Array("B 3 2\n".utf8) + [0, 10, 255, 10]
        let frame = try BridgeFrame(bytes[...], isBinary: true)
        expect(frame, equals: .numbered(3, acknowledged: 2, .binary([0, 10, 255, 10])))
        expect(frame.bytes, equals: bytes)
    }

    static let bad = [
        "", " ", "\n", "X", "h 1 -", "H", "H 1", "H 2 -", "H 1 - 0", "H 1 \(id)", "H 1 \(id) 01",
        "H 1 \(id.uppercased()) 0", "H 1 \(id)0 0", "W 1 \(id)", "A", "A -1", "A 01", "A 1 2",
        "A +1",
        "A 9007199254740992", "A 99999999999999999999", "P 1", "C 1", "M 1 0", "M 0 0\n", "M 1\n",
        "M 1 0 twice\n", "M  1 0\n", "M 1 0 \n", "E 1 0\n{}", "B 1 0\n", "P\npayload", "A 1\nx",
        String(repeating: "M", count: 500), "MM 1 0\nx",
    ]

    @Test(arguments: bad)
    func `of another form is refused`(_ text: String) {
        #expect(throws: BridgeViolation.self) {
            try BridgeFrame(Array(text.utf8)[...], isBinary: false)
        }
    }

    @Test func `of text is refused in a binary message`() {
        #expect(throws: BridgeViolation.self) {
            try BridgeFrame(Array("M 1 0\nx".utf8)[...], isBinary: true)
        }
    }

    @Test func `goes into batches and comes out again`() throws {
        let frames: [BridgeFrame] = [
            .acknowledgement(4), .numbered(1, acknowledged: 0, .text(Array("é\n3\n".utf8)[...])),
            .numbered(2, acknowledged: 0, .binary([0xFF, 10, 0])), .probe,
        ]
        let body = BridgeBatch.bytes(frames)
        expect(
            String(decoding: body.prefix(6), as: UTF8.self), equals: "3\nA 4\u{31}".prefix(5) + "1")
        try expect(BridgeBatch.frames(body[...]), equals: frames)
        try expect(BridgeBatch.frames([]), equals: [])
        for end in 1..<body.count {
            let whole = (try? BridgeBatch.frames(body[..<end]))?.count
            expect(whole == nil || whole! < frames.count)
        }
        for bad in ["4\nA 4", "0\n", "-1\nA", "3 A 4", "03\nA 4", "7\nM 1 0\n\u{FFFD}"] {
            #expect(throws: BridgeViolation.self) { try BridgeBatch.frames(Array(bad.utf8)[...]) }
        }
        #expect(throws: BridgeViolation.self) {
            try BridgeBatch.frames((Array("7\nM 1 0\n".utf8) + [0xFF])[...])
        }
    }
}

@Suite("A page's end of the bridge")
struct BridgeClientTests {
    @Test("sends again what a lost session did not acknowledge, marked if it was ever sent")
    func newSession() throws {
        let other = String(BridgeFrameTests.id.reversed())
        func frame(_ text: String) throws -> BridgeFrame {
            try BridgeFrame(Array(text.utf8)[...], isBinary: false)
        }
        func next(_ page: inout BridgeClient) -> String? {
            page.nextFrame(now: .zero).map { String(decoding: $0.bytes, as: UTF8.self) }
        }
        var page = BridgeClient()
        try page.send(.text([97]))
        expect(next(&page) == nil, "nothing leaves before the welcome")
        try expect(
            page.receive(frame("W 1 \(BridgeFrameTests.id) 0"), now: .zero),
            equals: [.opened(resumed: false)])
        expect(next(&page), equals: "M 1 0\na")
        try page.send(.text([98]))
        expect(next(&page), equals: "M 2 0\nb")
        _ = try page.receive(frame("A 1"), now: .zero)
        page.disconnect()
        try page.send(.text([99]))
        expect(page.greeting, equals: (try frame("H 1 \(BridgeFrameTests.id) 0")))
        try expect(
            page.receive(frame("W 1 \(other) 0"), now: .zero), equals: [.opened(resumed: false)])
        expect(next(&page), equals: "M 1 0 again\nb")
        expect(next(&page), equals: "M 2 0\nc")
        expect(next(&page) == nil)
    }
}
