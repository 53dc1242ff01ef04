import WebTestSupport

@testable import ServeFromCAS
@testable import WebServer

// What a WebSocket receives. The first byte of an input says how the rest is cut; the verdict must be
// the same as for the whole, and the output one Close at most.

extension FuzzTarget {
    /// What a connection tells and sends, given bytes so many at a time.
    typealias FrameReading =
        @Sendable (ArraySlice<UInt8>, Int) -> (events: [WebSocketConnection.Event], sent: [UInt8])

    static let frames = frames { readFrames($0, pieces: $1) }

    static func frames(_ reading: @escaping FrameReading) -> FuzzTarget {
        FuzzTarget(
            name: "frames",
            words: ["\u{1}", "\u{2}", "\u{8}", "\u{9}", "\u{0}\u{0}\u{0}\u{0}", "~", "\u{7f}"]
        ) { try checkFrames($0, reading) }
    }

    private static func checkFrames(_ input: [UInt8], _ reading: FrameReading) throws {
        guard let first = input.first else { return }
        let bytes = input[1...]
        let whole = reading(bytes, .max >> 1)
        let cut = reading(bytes, Int(first) + 1)
        try hold(whole.events == cut.events && whole.sent == cut.sent, "cuts change the verdict")
        var ends = 0
        for event in whole.events {
            switch event {
            case .closed: ends += 1
            case .message(let message):
                try hold(ends == 0, "a message after the end")
                try hold(message.bytes.count <= 4096, "a message over the limit")
                let isText = String(validating: message.bytes, as: UTF8.self) != nil
                try hold(message.kind == .binary || isText, "a text that is not UTF-8")
            }
        }
        try hold(ends <= 1, "two ends")
        // What a server sends, a client must understand.
        var client = WebSocketClient(now: .zero)
        for case .closed(let reason) in client.receive(whole.sent, now: .zero) {
            try hold(reason.isClean, "the server's own frames are wrong")
        }
    }
}

func readFrames(
    _ bytes: ArraySlice<UInt8>, pieces: Int
) -> (events: [WebSocketConnection.Event], sent: [UInt8]) {
    var options = WebSocketConnection.Options()
    options.limits.messageByteCount = 4096
    options.limits.fragmentCount = 64
    var connection = WebSocketConnection(options: options, now: .zero)
    var events: [WebSocketConnection.Event] = []
    var sent: [UInt8] = []
    var start = bytes.startIndex
    while start < bytes.endIndex {
        let end = min(start + pieces, bytes.endIndex)
        events += connection.receive(Array(bytes[start..<end]), now: .zero)
        start = end
    }
    while connection.outputCount > 0 {
        connection.withOutput { output in
            sent += output
            return output.count
        }
    }
    return (events, sent)
}
