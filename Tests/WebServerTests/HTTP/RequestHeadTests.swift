import WebTestSupport

@testable import WebServer

@Suite("The fields of a request")
struct RequestHeadTests {
    private static let names: [StaticString] = [
        "a", "te", "via", "host", "range", "accept", "referer", "if-range", "priority!",
        "sec-fetch-mode", "accept-encoding", "if-modified-since", "x~y", "x~yyyyyyyyyyyyyyyyyyyyyy",
    ]

    @Test("are found whatever the case of their letters")
    func anyCase() throws { for name in Self.names { try findAnyCase(name) } }

    private func findAnyCase(_ wanted: StaticString) throws {
        let name = "\(wanted)"
        for spelled in [name, name.uppercased(), name.capitalized(at: name.utf8.count - 1)] {
            let head = try RequestHead(
                method: "GET", target: "/", fields: [("x-other", "1"), (spelled, "localhost")])
            expect(head.text(of: wanted), equals: "localhost")
        }
    }

    @Test("are not found under a name that differs in one byte")
    func otherName() throws { for name in Self.names { try missOthers(name) } }

    private func missOthers(_ wanted: StaticString) throws {
        let name = Array("\(wanted)".utf8)
        for position in name.indices {
            // The bytes that differ from a token's own in the bit that tells the case, and another one.
            for byte in [name[position] ^ 0x20, name[position] == 122 ? 121 : 122] {
                var other = name
                other[position] = byte
                let isSame =
                    String(decoding: other, as: UTF8.self).lowercased().utf8
                    .elementsEqual(String(decoding: name, as: UTF8.self).lowercased().utf8)
                guard !isSame, other.allSatisfy(ByteClass.isToken) else { continue }
                let head = try RequestHead(
                    method: "GET", target: "/",
                    fields: [("Host", "h"), (String(decoding: other, as: UTF8.self), "1")])
                expect(head.text(of: wanted) != "1")
            }
        }
    }
}

@Suite("A long target")
struct LongTargetTests {
    private func outcome(_ target: [UInt8]) -> RequestParser.Outcome {
        var parser = RequestParser()
        let bytes = Array("GET ".utf8) + target + Array(" HTTP/1.1\r\nHost: h\r\n\r\n".utf8)
        return parser.parse(bytes.span)
    }

    @Test func `is refused for one bad byte, wherever it stands`() {
        for length in 2..<40 {
            for position in 1..<length {
                for byte: UInt8 in [1, 31, 32, 35, 127, 128, 160, 163, 255] {
                    var target = [47] + [UInt8](repeating: 97, count: length - 1)
                    target[position] = byte
                    guard case .failure = outcome(target) else {
                        Issue.record("\(byte) at \(position) of \(length) was let through")
                        return
                    }
                }
            }
        }
    }

    @Test func `has its query after the first question mark, and its escapes checked`() throws {
        for position in 1..<40 {
            var target = [47] + [UInt8](repeating: 97, count: 40)
            target[position] = 63
            let head = try RequestHead(
                method: "GET", target: String(decoding: target, as: UTF8.self))
            expect(head.path.count, equals: position)
            expect(head.query?.count, equals: 40 - position)
            guard position < 39 else { continue }
            target[position] = 37
            if case .head = outcome(target) {} else { Issue.record("%aa at \(position) refused") }
            target[position + 1] = 103
            guard case .failure = outcome(target) else {
                throw Unexpected("%ga at \(position) was let through")
            }
        }
    }
}

extension String {
    /// With what begins there in upper case.
    fileprivate func capitalized(at position: Int) -> String {
        let index = utf8.index(startIndex, offsetBy: position)
        return self[..<index] + self[index...].uppercased()
    }
}
