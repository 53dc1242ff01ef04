#if os(Linux)
    import Foundation
    import Glibc
    import Testing

    @Suite struct FloodTests {
        private func connected(_ port: UInt16) throws -> Int32 {
            let raw = socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0)
            try #require(raw >= 0)
            var address = sockaddr_in()
            address.sin_family = sa_family_t(AF_INET)
            address.sin_port = port.bigEndian
            address.sin_addr.s_addr = UInt32(0x7F00_0001).bigEndian
            let result = withUnsafePointer(to: &address) {
                $0.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                    connect(raw, $0, socklen_t(MemoryLayout<sockaddr_in>.size))
                }
            }
            try #require(result == 0)
            return raw
        }

        private func peakMemory(_ process: Int32) throws -> Int {
            let status = try String(contentsOfFile: "/proc/\(process)/status", encoding: .utf8)
            let line = try #require(status.split(separator: "\n").first { $0.hasPrefix("VmHWM:") })
            return try #require(Int(line.filter(\.isNumber))) << 10
        }

        @Test func `a flood of requests whose answers nobody reads takes bounded memory`() throws {
            let place = try Workplace()
            let large = String(repeating: "0123456789abcdef", count: 1 << 10)
            try place.add("1", ["index.html": "page", "large.txt": large])
            try place.castree("activate", "1")
            let served = try Served(place)
            _ = try served.get("/large.txt")
            let before = try peakMemory(served.processIdentifier)
            let request = "GET /large.txt HTTP/1.1\r\nHost: localhost:\(served.port)\r\n\r\n"
            let requests = Array(String(repeating: request, count: 1000).utf8)
            var clients: [Int32] = []
            defer { for client in clients { close(client) } }
            for _ in 0..<100 { clients.append(try connected(served.port)) }
            // In turn, and never waiting: 100 clients ask for 16 MB and more each.
            var asked = 0
            for _ in 0..<4 {
                for client in clients {
                    let count = send(
                        client, requests, requests.count, Int32(MSG_NOSIGNAL | MSG_DONTWAIT))
                    asked += max(count, 0) / request.utf8.count
                }
                // Who reads is served meanwhile, so the server has seen the others.
                for _ in 0..<20 { #expect(try served.get().body == "page") }
            }
            #expect(asked > 100 * 100)
            let taken = try peakMemory(served.processIdentifier) - before
            // All answers would be 1.6 GB and more; a connection may have some that are not sent.
            #expect(taken < 100 << 20, "\(taken >> 20) MB for \(asked) requests")
        }
    }
#endif
