import WebTestSupport

@Suite("An echo over a WebSocket, by the cases of the Autobahn test suite")
struct AutobahnTests {
    /// A server that sends every message back.
    private struct Echo {
        var connection = WebSocketConnection(now: .zero)
        var decoder = MessageDecoder()
        var mask = FrameMask()
        var replies: [AutobahnCase.Reply] = []
        var codes: [Int] = []

        mutating func receive(_ bytes: [UInt8]) throws {
            for event in connection.receive(bytes, now: .zero) {
                guard case .message(let message) = event else { continue }
                connection.send(message.kind, message.bytes)
            }
            var sent: [UInt8] = []
            connection.withOutput { bytes in
                sent += bytes
                return bytes.count
            }
            var outputs: [MessageDecoder.Output] = []
            try mask.masked(sent).withUnsafeBytes { try decoder.decode($0, into: &outputs) }
            for output in outputs {
                switch output {
                case .message(let message):
                    replies.append(
                        message.kind == .text ? .text(message.bytes) : .binary(message.bytes))
                case .pong(let payload): replies.append(.pong(payload))
                case .close(let code, _): codes.append(Int(code.value))
                case .ping: Issue.record("a ping that nobody asked for")
                }
            }
        }
    }

    @Test func `are all of groups 1 to 7 and 10`() {
        expect(AutobahnCase.all.count, equals: 247)
        expect(Set(AutobahnCase.all.map(\.number)).count, equals: 247)
        for (group, count) in [
            ("1.", 16), ("2.", 11), ("3.", 7), ("4.", 10), ("5.", 20), ("6.", 145), ("7.", 37),
            ("10.", 1),
        ] {
            expect(AutobahnCase.all.count { $0.number.hasPrefix(group) }, equals: count, "\(group)")
        }
    }

    @Test(
        "gives back what was sent, or ends with the code for what is wrong, however it is chopped",
        arguments: AutobahnCase.all)
    func echo(_ test: AutobahnCase) throws {
        // The suite chops by frames, by octets, and a long message by 997.
        for size in [Int.max, 997, 1] where size != 1 || test.frames.count(above: 5000) == 0 {
            var echo = Echo()
            for (index, frame) in test.frames.enumerated() {
                var start = 0
                while start < frame.count {
                    let end = start + min(size, frame.count - start)
                    try echo.receive(Array(frame[start..<end]))
                    start = end
                }
                if let place = test.closesAt {
                    expect(echo.codes.isEmpty, equals: (index < place), "frame \(index)")
                }
            }
            expect(echo.codes, equals: [test.code])
            let isSame = echo.replies == test.replies
            expect(isSame)
            expect(echo.connection.isFinished)
        }
    }
}

extension [[UInt8]] {
    /// How many are longer.
    fileprivate func count(above size: Int) -> Int { count { $0.count > size } }
}
