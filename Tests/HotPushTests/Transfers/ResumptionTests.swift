import Expectations

@testable import HotPush

/// The rules of RFC 9110, sections 13 to 15, as far as a client that resumes is concerned.
@Suite("Resuming a download") struct ResumptionTests {
    static func head(_ status: Int, _ fields: (String, String)...) -> TransferHead {
        TransferHead(
            status: status, fields: fields.map { (name: $0.0, value: $0.1) }, url: "http://h/f")
    }

    static let tag = Validator(head(200, ("etag", "\"a\"")))

    /// 40 of 100 bytes are staged under the tag "a".
    static let part = StagedPart(
        byteCount: 40, wholeByteCount: 100, validator: tag, isProvable: false)

    @Suite("A validator") struct ValidatorTests {
        static let date = "Sun, 06 Nov 1994 08:49:37 GMT"

        @Test(
            "is a strong entity tag, or a date that is old enough",
            arguments: [
                ([("etag", "\"a\"")], "\"a\""),
                ([("etag", "\"\"")], "\"\""),
                // Section 8.8.3: weak tags do not promise equal bytes.
                ([("etag", "W/\"a\"")], nil),
                ([("etag", "a")], nil),
                ([("etag", "\"a")], nil),
                ([("etag", "\"a\"b\"")], nil),
                // Section 13.1.5: who has a tag must not send a date.
                (
                    [
                        ("etag", "W/\"a\""), ("last-modified", date),
                        ("date", "Mon, 07 Nov 1994 08:49:37 GMT"),
                    ],
                    nil
                ),
                ([("etag", "\"a\""), ("last-modified", date)], "\"a\""),
                // Section 8.8.2.2: a date is strong if the response is younger.
                ([("last-modified", date), ("date", "Sun, 06 Nov 1994 08:50:37 GMT")], date),
                ([("last-modified", date), ("date", "Sunday, 06-Nov-94 08:50:37 GMT")], date),
                ([("last-modified", date), ("date", "Sun, 06 Nov 1994 08:49:37 GMT")], nil),
                ([("last-modified", date), ("date", "Sun, 06 Nov 1994 08:49:36 GMT")], nil),
                ([("last-modified", date)], nil),
                ([("last-modified", "yesterday"), ("date", date)], nil),
                ([], nil),
            ] as [([(String, String)], String?)])
        func choice(_ fields: [(String, String)], _ value: String?) {
            let head = TransferHead(
                status: 200, fields: fields.map { (name: $0.0, value: $0.1) }, url: "")
            expect(Validator(head)?.fieldValue, equals: value)
        }
    }

    @Test(
        "asks for what is missing, if the parts are sure to fit or will be proved to",
        arguments: [
            (StagedPart(byteCount: 0, isProvable: true), .whole),
            (
                StagedPart(byteCount: 40, validator: tag, isProvable: false),
                .rest(offset: 40, ifRange: "\"a\"")
            ),
            (
                StagedPart(byteCount: 40, validator: tag, isProvable: true),
                .rest(offset: 40, ifRange: "\"a\"")
            ),
            (StagedPart(byteCount: 40, isProvable: true), .rest(offset: 40, ifRange: nil)),
            (StagedPart(byteCount: 40, isProvable: false), .whole),
            (StagedPart(byteCount: 40, wholeByteCount: 40, isProvable: false), .nothing),
            (
                StagedPart(byteCount: 41, wholeByteCount: 40, validator: tag, isProvable: true),
                .whole
            ),
            (StagedPart(byteCount: 0, wholeByteCount: 0, isProvable: true), .nothing),
        ] as [(StagedPart, StagedPart.Question)])
    func question(_ part: StagedPart, _ question: StagedPart.Question) {
        expect(part.question, equals: question)
    }

    /// What the response is good for, without the reason.
    enum Use: Equatable {
        case append, startOver, complete, unchanged, askForWhole, refuse, failure
    }

    static func use(_ use: ResponseUse) -> Use {
        switch use {
        case .append: .append
        case .startOver: .startOver
        case .complete: .complete
        case .askForWhole: .askForWhole
        case .refuse: .refuse
        case .failure: .failure
        }
    }

    @Test(
        arguments: [
            // 200: the server does not do ranges, or the validator is another's (13.1.5, 14.2).
            (head(200, ("content-length", "100")), .startOver),
            (head(200), .startOver),
            (head(200, ("etag", "\"b\""), ("content-length", "100")), .startOver),
            (head(200, ("content-length", "99")), .refuse),
            (head(200, ("content-length", "50"), ("content-encoding", "br")), .startOver),
            // 206 (14.4, 15.3.7).
            (head(206, ("content-range", "bytes 40-99/100"), ("etag", "\"a\"")), .append),
            (head(206, ("content-range", "bytes 40-99/*"), ("etag", "\"a\"")), .append),
            (head(206, ("content-range", "Bytes 40-99/100"), ("etag", "\"a\"")), .append),
            (head(206, ("content-range", "bytes 40-59/100"), ("etag", "\"a\"")), .append),
            (
                head(
                    206, ("content-range", "bytes 40-99/100"), ("etag", "\"a\""),
                    ("content-length", "60")), .append
            ),
            (
                head(
                    206, ("content-range", "bytes 40-99/100"), ("etag", "\"a\""),
                    ("content-length", "59")), .askForWhole
            ),
            (head(206, ("content-range", "bytes 41-99/100"), ("etag", "\"a\"")), .askForWhole),
            (head(206, ("content-range", "bytes 0-99/100"), ("etag", "\"a\"")), .askForWhole),
            (head(206, ("content-range", "bytes 40-99/101"), ("etag", "\"a\"")), .refuse),
            (head(206, ("content-range", "bytes 40-100/*"), ("etag", "\"a\"")), .refuse),
            (head(206, ("etag", "\"a\"")), .askForWhole),
            (head(206, ("content-range", "bytes */100"), ("etag", "\"a\"")), .askForWhole),
            (head(206, ("content-range", "bytes 40-39/100"), ("etag", "\"a\"")), .askForWhole),
            (head(206, ("content-range", "bytes 40-99/99"), ("etag", "\"a\"")), .askForWhole),
            (head(206, ("content-range", "bytes 40-99/100 "), ("etag", "\"a\"")), .askForWhole),
            (head(206, ("content-range", "bytes 40-/100"), ("etag", "\"a\"")), .askForWhole),
            (head(206, ("content-range", "bytes=40-99/100"), ("etag", "\"a\"")), .askForWhole),
            (head(206, ("content-range", "lines 40-99/100"), ("etag", "\"a\"")), .askForWhole),
            (head(206, ("content-range", "bytes 40-99999999999999999999/100")), .askForWhole),
            (head(206, ("content-range", "bytes 40-9223372036854775807/*")), .askForWhole),
            (
                head(206, ("content-type", "multipart/byteranges; boundary=x"), ("etag", "\"a\"")),
                .askForWhole
            ),
            // Parts of other bytes, or that do not say of which (15.3.7.3).
            (head(206, ("content-range", "bytes 40-99/100"), ("etag", "\"b\"")), .askForWhole),
            (head(206, ("content-range", "bytes 40-99/100"), ("etag", "W/\"a\"")), .askForWhole),
            (head(206, ("content-range", "bytes 40-99/100")), .askForWhole),
            // 416 (15.5.17).
            (head(416, ("content-range", "bytes */100")), .askForWhole),
            (head(416, ("content-range", "bytes */40")), .refuse),
            (head(416), .askForWhole),
            (head(416, ("content-range", "bytes 0-1/40")), .askForWhole),
            // Neither was asked for.
            (head(304), .refuse), (head(203), .refuse), (head(204), .refuse), (head(202), .refuse),
            (head(302), .refuse), (head(404), .failure), (head(503), .failure),
            (head(412), .failure),
        ] as [(TransferHead, Use)])
    func `takes from a response what it is good for`(_ head: TransferHead, _ use: Use) {
        let part = Self.part
        expect(Self.use(Resumption.use(of: head, for: part, asked: part.question)), equals: use)
    }

    @Test(
        arguments: [
            (head(206, ("content-range", "bytes 40-99/100")), .append),
            (head(206, ("content-range", "bytes 40-99/100"), ("etag", "\"b\"")), .append),
            (head(206, ("content-range", "bytes 41-99/100")), .askForWhole),
            (head(206, ("content-range", "bytes 40-99/200")), .refuse),
        ] as [(TransferHead, Use)])
    func `trusts a digest where a validator is missing`(_ head: TransferHead, _ use: Use) {
        let part = StagedPart(byteCount: 40, wholeByteCount: 100, isProvable: true)
        expect(Self.use(Resumption.use(of: head, for: part, asked: part.question)), equals: use)
    }

    @Test(
        arguments: [
            (
                head(
                    206, ("content-range", "bytes 40-99/100"),
                    ("last-modified", "Sun, 06 Nov 1994 08:49:37 GMT")), .append
            ),
            (
                head(
                    206, ("content-range", "bytes 40-99/100"),
                    ("last-modified", "Sun, 06 Nov 1994 08:49:38 GMT")), .askForWhole
            ),
            // A response to If-Range need not repeat it (15.3.7).
            (head(206, ("content-range", "bytes 40-99/100")), .append),
            (head(206, ("content-range", "bytes 40-99/100"), ("etag", "\"new\"")), .askForWhole),
        ] as [(TransferHead, Use)])
    func `takes a date for what it is`(_ head: TransferHead, _ use: Use) throws {
        let validator = try require(
            Validator(
                Self.head(
                    200, ("last-modified", "Sun, 06 Nov 1994 08:49:37 GMT"),
                    ("date", "Tue, 08 Nov 1994 08:49:37 GMT"))))
        let part = StagedPart(byteCount: 40, validator: validator, isProvable: false)
        expect(part.question, equals: .rest(offset: 40, ifRange: "Sun, 06 Nov 1994 08:49:37 GMT"))
        expect(Self.use(Resumption.use(of: head, for: part, asked: part.question)), equals: use)
    }

    @Test(
        "learns from a 416 that nothing is missing, if the size was not known",
        arguments: [
            (head(416, ("content-range", "bytes */40")), .complete),
            (head(416, ("content-range", "bytes */40"), ("etag", "\"a\"")), .complete),
            (head(416, ("content-range", "bytes */40"), ("etag", "\"b\"")), .askForWhole),
            (head(416, ("content-range", "bytes */39")), .askForWhole),
            (head(416, ("content-range", "bytes */41")), .askForWhole),
        ] as [(TransferHead, Use)])
    func unknownSize(_ head: TransferHead, _ use: Use) {
        let part = StagedPart(byteCount: 40, validator: Self.tag, isProvable: false)
        expect(Self.use(Resumption.use(of: head, for: part, asked: part.question)), equals: use)
    }

    @Test(
        arguments: [
            (head(200, ("content-length", "100")), .startOver),
            (head(206, ("content-range", "bytes 0-99/100")), .refuse),
            (head(206), .refuse), (head(416, ("content-range", "bytes */100")), .failure),
        ] as [(TransferHead, Use)])
    func `never asks for the whole when it has`(_ head: TransferHead, _ use: Use) {
        let part = StagedPart(byteCount: 0, wholeByteCount: 100, isProvable: true)
        expect(Self.use(Resumption.use(of: head, for: part, asked: .whole)), equals: use)
    }

    @Test func `refuses a 304 that nobody asked for`() {
        let part = StagedPart(isProvable: false)
        expect(
            Self.use(Resumption.use(of: Self.head(304), for: part, asked: .whole)), equals: .refuse)
    }
}
