@testable import ServeFromCAS
@testable import WebServer

// What a page sends over the bridge, as the body of a request: a batch of frames.

extension FuzzTarget {
    static let bridgeFrames = FuzzTarget(
        name: "bridgeFrames",
        words: [
            "H 1 -", "H 1 ", "M 1 0\n", "M 1 0 again\n", "B 1 0\n", "E 1 0 ready\n{}", "A 1", "P",
            "C",
            "9007199254740991", "9007199254740992", "5\n", "W 1 ",
        ]
    ) { input in
        let frames: [BridgeFrame]
        do throws(BridgeViolation) {
            frames = try BridgeBatch.frames(input[...])
        } catch {
            return
        }
        let again = try BridgeBatch.frames(BridgeBatch.bytes(frames)[...])
        try hold(again == frames, "frames are others when they are written and read")
        for case .numbered(let sequence, let acknowledged, let content, _) in frames {
            try hold(sequence > 0 && sequence <= 1 << 53, "a message numbered \(sequence)")
            try hold(acknowledged <= 1 << 53, "an acknowledgement of \(acknowledged)")
            if case .text(let text) = content {
                try hold(String(validating: text, as: UTF8.self) != nil, "a text that is not UTF-8")
            }
        }
    }
}
