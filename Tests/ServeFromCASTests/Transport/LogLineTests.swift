import Expectations

@testable import ServeFromCAS

@Suite("What the log has of a request") struct LogLineTests {
    @Test func `is printable, without spaces and bounded, whatever was sent`() throws {
        let server = try TestServer()
        let ending = Array(" HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n".utf8)
        for byte: UInt8 in 0...255 {
            _ = try server.talk(Array("GET /a".utf8) + [byte, 91, 51, 49, 109] + ending)
            _ = try server.talk([71, byte, 84] + Array(" /m".utf8) + ending)
        }
        for count in [1000, 8000, 15_000, 17_000, 100_000] {
            let long = [UInt8](repeating: 97, count: count)
            _ = try server.talk(Array("GET /".utf8) + long + ending)
            _ = try server.talk(long + Array(" /".utf8) + ending)
        }
        // The last of them is in the log once the next request is.
        let end = ContinuousClock.now + .seconds(120)
        while !server.logSink.all.contains(where: { $0.target == "/end" }) {
            try require(ContinuousClock.now < end, "never came")
            _ = try server.talk(Array("GET /end".utf8) + ending)
        }
        let records = server.logSink.all
        expect(records.count > 100)
        for record in records {
            let isPrintable = (record.method + record.target).utf8.allSatisfy {
                (33...126).contains($0)
            }
            expect(
                isPrintable, "\(record.method.debugDescription) \(record.target.debugDescription)")
            expect(record.method.utf8.count + record.target.utf8.count <= 16_384)
        }
    }
}
