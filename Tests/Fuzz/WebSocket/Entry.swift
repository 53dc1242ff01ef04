// The entry of libFuzzer for what a WebSocket receives.
//
// `Tests/Fuzz/WebSocket/run [seconds]` compiles and runs it. The first byte of an input says how the
// rest is cut; the verdict must be the same as for the whole, and the output one Close at most.

private func verdict(
    _ bytes: ArraySlice<UInt8>, pieces: Int
) -> (events: [WebSocketConnection.Event], sent: [UInt8]) {
    var options = WebSocketConnection.Options()
    options.limits.messageByteCount = 4096
    options.limits.fragmentCount = 64
    var connection = WebSocketConnection(.server, options: options, now: .zero)
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

/// Called by libFuzzer with each input (llvm.org/docs/LibFuzzer.html).
@_cdecl("LLVMFuzzerTestOneInput")
public func fuzzOneInput(_ start: UnsafePointer<UInt8>?, _ count: Int) -> CInt {
    let input = Array(UnsafeBufferPointer(start: start, count: count))
    guard let first = input.first else { return 0 }
    let bytes = input[1...]
    let whole = verdict(bytes, pieces: .max >> 1)
    let cut = verdict(bytes, pieces: Int(first) + 1)
    precondition(whole.events == cut.events && whole.sent == cut.sent, "cuts change the verdict")
    var ends = 0
    for event in whole.events {
        switch event {
        case .closed: ends += 1
        case .message(let message):
            precondition(ends == 0, "a message after the end")
            precondition(message.bytes.count <= 4096, "a message over the limit")
            let isText = String(validating: message.bytes, as: UTF8.self) != nil
            precondition(message.kind == .binary || isText, "a text that is not UTF-8")
        case .pong(let payload):
            precondition(payload.count <= 125, "a pong over 125 bytes")
        }
    }
    precondition(ends <= 1, "two ends")
    // What a server sends, a client must understand.
    var client = WebSocketConnection(.client, now: .zero)
    for case .closed(let reason) in client.receive(whole.sent, now: .zero) {
        precondition(reason.isClean, "the server's own frames are wrong")
    }
    return 0
}
