import WebTestSupport

@testable import WebServer

// docs/clients.md: X-Forwarded-For counts from its end, as far as servers that are named have written it.
@Suite("Who a request is from")
struct ForwardedClientsTests {
    /// What the log would say.
    private func client(
        from peer: String, by proxies: [String], _ lines: [String]
    ) throws -> String {
        let head = try RequestHead(
            method: "GET", target: "/", fields: lines.map { ("X-Forwarded-For", $0) })
        let clients = ForwardedClients(by: try proxies.map { try require(AddressBlock($0)) })
        return try require(
            clients.client(of: head, from: SocketAddress(literal: peer, port: 1))
        ).hostText
    }

    @Test
    func `is who is connected, whatever it says, unless that is a proxy that is named`() throws {
        for lines in [[], ["192.0.2.1"], ["127.0.0.1"], ["192.0.2.1, 127.0.0.1", "10.0.0.1"]] {
            for proxies in [[], ["10.0.0.2"], ["::1", "fe80::/10"], ["198.51.100.0/24"]] {
                for peer in ["127.0.0.1", "10.0.0.1", "2001:db8::1"] {
                    try expect(client(from: peer, by: proxies, lines), equals: peer)
                }
            }
        }
    }

    @Test func `is the last address that no named proxy has`() throws {
        let proxies = ["127.0.0.1", "::1", "10.0.0.0/8"]
        let cases: [(lines: [String], client: String)] = [
            ([], "127.0.0.1"), (["192.0.2.1"], "192.0.2.1"), (["2001:DB8::1"], "2001:db8::1"),
            (["203.0.113.9, 192.0.2.1"], "192.0.2.1"), (["192.0.2.1, 10.1.2.3"], "192.0.2.1"),
            (["192.0.2.1", "10.1.2.3,\t::1"], "192.0.2.1"), (["10.1.2.3, 10.1.2.4"], "10.1.2.3"),
            (["203.0.113.9", "192.0.2.1 ,10.1.2.3"], "192.0.2.1"),
            (["::ffff:192.0.2.1"], "192.0.2.1"), (["192.0.2.1, ::ffff:10.0.0.1"], "192.0.2.1"),
        ]
        for (lines, found) in cases {
            for peer in ["127.0.0.1", "::1"] {
                let wanted = lines.isEmpty ? peer : found
                try expect(client(from: peer, by: proxies, lines), equals: wanted, "\(lines)")
            }
        }
    }

    @Test func `is the proxy where what it passes on is no address`() throws {
        for text in [
            "", ",", "unknown", "_hidden", "192.0.2.1:80", "[2001:db8::1]", "fe80::1%eth0",
            "256.0.0.1",
            "1", "192.0.2.1 192.0.2.2", "\u{9b}31m", "\u{202e}1.2.0.291", "-",
            String(repeating: "1.", count: 4000), String(repeating: ":", count: 46),
        ] {
            try expect(client(from: "::1", by: ["::1"], [text]), equals: "::1", "\(text)")
            try expect(
                client(from: "::1", by: ["::1"], ["192.0.2.1, \(text)"]), equals: "::1", "\(text)")
            try expect(
                client(from: "::1", by: ["::1"], ["\(text), 192.0.2.1"]), equals: "192.0.2.1",
                "\(text)")
        }
    }

    @Test func `is told from others by as many bits as a block has`() throws {
        let address = try require(SocketAddress(literal: "10.255.3.129", port: 9))
        for bits in 0...32 {
            let kept = AddressBlock.masked(address.address, bits)
            let text = kept.map(String.init).joined(separator: ".") + "/\(bits)"
            let block = try require(AddressBlock(text), "\(text)")
            for bit in 0..<32 {
                var other = address.address
                other[bit / 8] ^= 128 >> UInt8(bit % 8)
                let isIn = block.contains(SocketAddress(address: other, port: 0))
                expect(isIn, equals: bit >= bits, "\(text) bit \(bit)")
            }
        }
        for text in [
            "", "/", "10.0.0.0/", "10.0.0.0/33", "::/129", "10.0.0.0/-1", "10.0.0.0/+8",
            "10.0.0.1/8",
            "localhost", "10.0.0.0/8/8", "[::1]", "10.0.0.0 /8", "10.0.0.0/99999999999999999999",
        ] {
            expect(AddressBlock(text) == nil, "\(text)")
        }
    }
}
