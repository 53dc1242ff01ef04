import SocketTestSupport
import Synchronization

/// One connection of a ``FaultyOrigin``: reads requests and plays their faults, on its own thread.
final class OriginConnection {
    private let raw: Int32
    private let number: Int
    private let state: OriginState
    private let peer: TestPeer

    init(_ raw: Int32, _ number: Int, _ state: OriginState) {
        self.raw = raw
        self.number = number
        self.state = state
        peer = TestPeer(raw, closes: false)
    }

    func serve() {
        var ending: Fault.Ending?
        while ending == nil, let request = peer.head().flatMap(parse) {
            let (content, fault) = state.take(request)
            ending = play(fault, OriginAnswer(request, content, fault))
            if ending == nil, request["connection"]?.lowercased() == "close" { ending = .closed }
        }
        state.end(raw, ending ?? .closed)
    }

    private func parse(_ head: String) -> OriginRequest? {
        let lines = head.split(separator: "\r\n")
        let words = lines.first?.split(separator: " ") ?? []
        guard words.count == 3 else { return nil }
        var fields: [(name: String, value: String)] = []
        for line in lines.dropFirst() {
            guard let colon = line.firstIndex(of: ":") else { return nil }
            fields.append(
                (
                    line[..<colon].lowercased(),
                    String(line[line.index(after: colon)...].drop { $0 == " " })
                ))
        }
        return OriginRequest(
            method: String(words[0]), target: String(words[1]), fields: fields, connection: number)
    }

    // MARK: Playing

    /// Answers, rightly or not; how the connection ends, nil if it continues.
    private func play(_ fault: Fault, _ answer: OriginAnswer) -> Fault.Ending? {
        let body = answer.body[...]
        switch fault {
        case .hangUp(let ending):
            return ending
        case .silence:
            waitUntilGone()
            return .closed
        case .raw(let text):
            _ = send(Array(text.utf8)[...])
            return .closed
        case .cut(let count, let ending):
            guard send(answer.head), send(body.prefix(count)) else { return .closed }
            return ending
        case .stall(let count):
            guard send(answer.head), send(body.prefix(count)) else { return .closed }
            waitUntilGone()
            return .closed
        case .drip(let milliseconds):
            guard send(answer.head) else { return .closed }
            for place in body.indices {
                guard peer.pause(milliseconds: milliseconds),
                    send(body[place...place])
                else { return .closed }
            }
            return nil
        case .announce:
            // What follows the body would be read as the next response's head.
            _ = send(answer.head) && send(body)
            return .closed
        case .chunked(let isCut):
            return sendChunks(answer, isCut: isCut)
        case .interim:
            return sendInterims(1, milliseconds: 0, answer)
        case .interims(let count, let milliseconds):
            return sendInterims(count, milliseconds: milliseconds, answer)
        case .dripHead(let milliseconds):
            for line in answer.head.split(separator: 10, omittingEmptySubsequences: false) {
                guard peer.pause(milliseconds: milliseconds),
                    send(line.isEmpty ? line : line + [10])
                else { return .closed }
            }
            return send(body) ? nil : .closed
        case .switchAll(let count, let contents):
            let isSent = send(answer.head) && send(body.prefix(count))
            state.shared.withLock { $0.contents = contents }
            return isSent ? .closed : .reset
        default:
            return send(answer.head) && send(body) ? nil : .closed
        }
    }

    private func sendInterims(
        _ count: Int, milliseconds: Int32, _ answer: OriginAnswer
    ) -> Fault.Ending? {
        let interim =
            "HTTP/1.1 103 Early Hints\r\nLink: </x>; rel=preload\r\nX-Interim: 1\r\n\r\n"
        for _ in 0..<count {
            if milliseconds > 0 {
                guard peer.pause(milliseconds: milliseconds) else { return .closed }
            }
            guard send(Array(interim.utf8)[...]) else { return .closed }
        }
        return send(answer.head) && send(answer.body[...]) ? nil : .closed
    }

    private func sendChunks(_ answer: OriginAnswer, isCut: Bool) -> Fault.Ending? {
        guard send(answer.head) else { return .closed }
        var rest = answer.body[...]
        while !rest.isEmpty {
            let chunk = rest.prefix(1000)
            rest = rest.dropFirst(1000)
            let size = Array(String(chunk.count, radix: 16).utf8)
            guard send((size + [13, 10] + chunk + [13, 10])[...]) else { return .closed }
        }
        if isCut { return .closed }
        return send(Array("0\r\nX-Trailer: 1\r\n\r\n".utf8)[...]) ? nil : .closed
    }

    private func send(_ bytes: ArraySlice<UInt8>) -> Bool { peer.send(bytes) }

    private func waitUntilGone() { while peer.fill() {} }
}
