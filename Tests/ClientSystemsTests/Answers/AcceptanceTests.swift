import Expectations

@testable import ClientSystems

@Suite("What a client takes") struct AcceptanceTests {
    /// RFC 9110, sections 12.4.2, 12.5.1 and 12.5.3.
    @Test func `is read with its weights, whatever else stands in the list`() {
        let gzip = ["gzip", "*"]
        let parts = ["multipart/mixed", "multipart/*", "*/*"]
        for (list, patterns, isTaken) in [
            ("gzip", gzip, true), ("GZip", gzip, true), ("br, gzip", gzip, true),
            ("br,gzip ; q=0.5", gzip, true), ("*", gzip, true), ("*;q=0", gzip, false),
            ("gzip;q=0, *", gzip, false), ("*;q=0, gzip", gzip, true), ("", gzip, false),
            ("gzip;q=0.001", gzip, true), ("gzip;q=0.000", gzip, false),
            ("gzip;q=1.000", gzip, true),
            ("gzip;q=1.5", gzip, false), ("gzip;q=x", gzip, false), ("gzip;q=0.0001", gzip, false),
            ("gzip;q=", gzip, true), ("identity", gzip, false), ("xgzip", gzip, false),
            (",,,gzip,", gzip, true), (";q=1", gzip, false), ("gzip;level=9", gzip, true),
            ("multipart/mixed,application/expo+json,application/json", parts, true),
            ("application/json", parts, false), ("multipart/*;q=0.1", parts, true),
            ("*/*", parts, true), ("multipart/mixed;q=0, */*", parts, false),
            ("multipart/mixed; boundary=x; q=0", parts, false),
        ] {
            expect(Acceptance(list).takes(patterns), equals: isTaken, "\(list)")
        }
    }
}
