import ProgramTestSupport

#if os(Linux)
    import Foundation
    import Glibc
    import SocketTestSupport
    import Expectations
    import Testing

    @Suite struct FloodTests {
        private func peakMemory(_ process: Int32) throws -> Int {
            let status = try String(contentsOfFile: "/proc/\(process)/status", encoding: .utf8)
            let line = try require(status.split(separator: "\n").first { $0.hasPrefix("VmHWM:") })
            return try require(Int(line.filter(\.isNumber))) << 10
        }

        @Test func `a flood of requests whose answers nobody reads takes bounded memory`() throws {
            let place = Workplace()
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
            for _ in 0..<100 { clients.append(try TestSocket.connected(to: served.port)) }
            // In turn, and never waiting: 100 clients ask for 16 MB and more each.
            var asked = 0
            for _ in 0..<4 {
                for client in clients {
                    let count = send(
                        client, requests, requests.count, Int32(MSG_NOSIGNAL | MSG_DONTWAIT))
                    asked += max(count, 0) / request.utf8.count
                }
                // Who reads is served meanwhile, so the server has seen the others.
                for _ in 0..<20 { try expect(served.get().body, equals: "page") }
            }
            expect(asked > 100 * 100)
            let taken = try peakMemory(served.processIdentifier) - before
            // All answers would be 1.6 GB and more; a connection may have some that are not sent.
            expect(taken < 100 << 20, "\(taken >> 20) MB for \(asked) requests")
        }
    }
#endif
