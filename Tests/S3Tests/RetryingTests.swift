import BucketTestSupport

@testable import S3
@testable import Storage

/// What becomes of a request by what is answered: the table of answers.
@Suite struct RetryingTests {
    typealias Step = ScriptedCarrier.Step
    static let stored = Step.answer(200, [("etag", "\"t\"")])
    static let passing: [Step] = [
        .answer(500), .answer(502), .answer(503), .answer(504), .answer(429), .fail(.noAnswer),
        .fail(.notSent), .cut(200, [("etag", "\"t\"")], "x"), .refusal(400, "RequestTimeout"),
        .refusal(503, "SlowDown"), .refusal(409, "OperationAborted"),
    ]

    @Test(arguments: passing)
    func `what passes is tried again, signed anew, after a wait`(_ step: Step) throws {
        let script = try ScriptedBucket([step, Self.stored])
        try expect(script.bucket.put("o", body("a"), .object), equals: .stored(EntityTag("t")))
        expect(script.carrier.requests.count, equals: 2)
        let waited = try require(script.waits.first)
        expect(script.waits.count == 1 && waited <= .milliseconds(500))
        let dates = script.fields("x-amz-date")
        expect(dates[0] != nil && dates[0] != dates[1])
        expect(script.fields("authorization")[0] != script.fields("authorization")[1])
        expect(script.bucket.figures.retryCount, equals: 1)
    }

    @Test func `after eight tries a write is unknown, and a read fails`() throws {
        let write = try ScriptedBucket([], then: .answer(500))
        guard
            case .unknown(let reason) = try write.bucket.putIfAbsent("log/1", body("a"), .logEntry)
        else { throw Unexpected("not unknown") }
        expect(write.carrier.requests.count, equals: 8)
        expect(reason.description.contains("8 tries") && reason.refusal == nil)
        let read = try ScriptedBucket([], then: .fail(.noAnswer))
        expectRefusal(.network) { try read.bucket.head("log/1") }
        expect(read.carrier.requests.count, equals: 8)
    }

    @Test func `each repetition is told: what failed, which try follows, and when`() throws {
        let told = Notices()
        let script = try ScriptedBucket([.answer(503), .fail(.noAnswer), Self.stored]) {
            $0.retries.failureCountMax = 5
            $0.retrying = { told.add($0) }
        }
        _ = try script.bucket.put("log/1", body("a"), .object)
        expect(told.all.count == 2 && script.waits.count == 2)
        for (line, what) in zip(told.all, ["503", "noAnswer"]) {
            expect(line.contains("PUT of app/log/1") && line.contains(what))
        }
        expect(told.all[0].contains("try 2 of 5 in ") && told.all[1].contains("try 3 of 5 in "))
        // Whoever gives up says so in an error.
        let last = Notices()
        let down = try ScriptedBucket([], then: .answer(500)) { $0.retrying = { last.add($0) } }
        _ = try down.bucket.put("o", body("a"), .object)
        expect(down.carrier.requests.count == 8 && last.all.count == 7)
    }

    @Test func `waits grow, within their limits`() throws {
        let script = try ScriptedBucket([], then: .answer(500)) { $0.retries.failureCountMax = 12 }
        _ = try script.bucket.put("o", body("a"), .object)
        for (index, wait) in script.waits.enumerated() {
            expect(wait <= min(.milliseconds(500) * (1 << index), .seconds(30)))
        }
        expect(script.waits.count, equals: 11)
    }

    @Test func `a server that names a time is given it`() throws {
        let script = try ScriptedBucket([.answer(503, [("retry-after", "7")]), Self.stored])
        _ = try script.bucket.put("o", body("a"), .object)
        expect(script.waits[0] >= .seconds(7) && script.waits[0] <= .milliseconds(7_500))
    }

    @Test func `a write that was never sent has failed, and is not unknown`() throws {
        let script = try ScriptedBucket([], then: .fail(.notSent))
        expectRefusal(.network) {
            try script.bucket.putIfAbsent("log/1", body("a"), .logEntry)
        }
    }

    @Test func `two hundred failures in a row end all requests`() throws {
        let script = try ScriptedBucket([], then: .answer(500)) {
            $0.retries.pullFailureCountMax = 20
        }
        for _ in 0..<2 { _ = try script.bucket.put("o", body("a"), .object) }
        expect(script.carrier.requests.count, equals: 16)
        _ = try script.bucket.put("o", body("a"), .object)
        _ = try script.bucket.put("o", body("a"), .object)
        expect(script.carrier.requests.count, equals: 21)
    }

    @Test(arguments: [CarryFailure.Kind.useless, .malformed])
    func `what another try does not help is tried once`(_ kind: CarryFailure.Kind) throws {
        let script = try ScriptedBucket([.fail(kind), .fail(.malformed)])
        #expect(throws: StoreError.self) { try script.bucket.head("o") }
        expect(script.carrier.requests.count, equals: 1)
        // An answer that is none leaves a write unknown.
        try expect(!script.bucket.put("o", body("a"), .object).isStored)
    }

    @Test func `a try has time for its bytes on a slow line, and no more`() throws {
        let script = try ScriptedBucket([], then: .answer(404))
        func seconds(_ call: () throws -> Void) rethrows -> Int {
            try call()
            return (script.carrier.requests.last?.totalMilliseconds ?? .max) / 1_000
        }
        let entry = try seconds {
            _ = try script.bucket.bytes("log/1", ReadRequest(byteCountMax: 1 << 20))
        }
        expect((3_600...7_200).contains(entry))
        let object = seconds {
            let body = StorageBody(file: -1, byteCount: 64 << 20, address: .zero)
            #expect(throws: StoreError.self) { try script.bucket.put("o", body, .object) }
        }
        // 64 MiB at 256 bytes a second.
        expect(object >= 262_144)
        let all = try seconds { _ = try script.bucket.bytes("o", ReadRequest(byteCountMax: .max)) }
        expect((262_144...1_728_000).contains(all))
    }

    // MARK: conditions

    @Test(
        arguments: [
            ([.answer(412)], .conditionFailed),
            ([.refusal(409, "ConditionalRequestConflict")], .conflict),
            ([.refusal(501, "NotImplemented")], .unsupported),
            ([.refusal(400, "NotImplemented")], .unsupported),
            ([.fail(.noAnswer), .answer(412)], .conditionFailed),
        ] as [([Step], WriteOutcome)])
    func `a condition's answer is its outcome, also after a lost one`(
        _ steps: [Step], _ outcome: WriteOutcome
    ) throws {
        let script = try ScriptedBucket(steps)
        try expect(script.bucket.putIfAbsent("log/1", body("a"), .logEntry), equals: outcome)
        expect(script.fields("if-none-match").allSatisfy { $0 == "*" })
    }

    @Test func `a tag is sent in the spelling that is asked for`() throws {
        let script = try ScriptedBucket([], then: .refusal(404, "NoSuchKey"))
        for (spelling, text) in [(TagSpelling.quoted, "\"t\""), (.bare, "t")] {
            let outcome = try script.bucket.putIf(
                "c", body("a"), .pointer, matching: EntityTag("t"), spelling)
            expect(outcome, equals: .conditionFailed)
            expect(script.fields("if-match").last, equals: text)
        }
    }

    // MARK: refusals

    @Test(arguments: [
        (Step.refusal(403, "AccessDenied"), "accessDenied"),
        (.refusal(403, "SignatureDoesNotMatch"), "accessDenied"),
        (.refusal(403, "InvalidAccessKeyId"), "accessDenied"), (.answer(403), "accessDenied"),
        (.answer(401), "accessDenied"), (.refusal(403, "QuotaExceeded"), "outOfSpace"),
        (.answer(507), "outOfSpace"), (.refusal(404, "NoSuchBucket"), "noBucket"),
        (.refusal(400, "InvalidArgument"), "bucketAnswer"), (.answer(418), "bucketAnswer"),
        (.answer(302, [("location", "http://elsewhere/")]), "bucketAnswer"),
    ])
    func `a refusal ends a request at once`(_ step: Step, _ code: String) throws {
        let script = try ScriptedBucket([step])
        let error = #expect(throws: StoreError.self) {
            try script.bucket.put("o", body("a"), .object)
        }
        expect(error?.code.description, equals: code)
    }

    @Test func `a refused read names the right to list, since the file may be missing`() throws {
        let script = try ScriptedBucket([], then: .refusal(403, "AccessDenied"))
        expectRefusal(
            saying: "s3:GetObject on arn:aws:s3:::updates/*",
            "s3:ListBucket on arn:aws:s3:::updates:"
        ) { try script.bucket.text("origin.json") }
        let write = expectRefusal(saying: "s3:PutObject on arn:aws:s3:::updates/*") {
            try script.bucket.put("o", body("a"), .object)
        }
        expect(write?.message.contains("ListBucket"), equals: false)
    }

    /// What is said of an entry of which nobody knows whether it was written, after a lost answer and that one.
    private func refusal(_ step: Step) throws -> StoreError.Code? {
        let script = try ScriptedBucket([.fail(.noAnswer), step])
        let outcome = try script.bucket.putIfAbsent("log/1", body("a"), .logEntry)
        guard case .unknown(let reason) = outcome else { return try require(nil, "\(outcome)") }
        return reason.refusal
    }

    @Test(arguments: [
        Step.refusal(403, "AccessDenied"), .refusal(403, "QuotaExceeded"), .answer(418),
        .fail(.useless),
    ])
    func `after a lost answer, a refusal leaves the write unknown`(_ step: Step) throws {
        try expect(refusal(step) != nil)
    }

    @Test(arguments: [
        (Step.answer(404), "bucketAnswer"), (.answer(405), "bucketAnswer"),
        (.answer(304), "bucketAnswer"), (.refusal(501, "NotImplemented"), "unsuitableStore"),
        (.refusal(400, "NotImplemented"), "unsuitableStore"),
    ])
    func `after a lost answer, what decides nothing leaves the entry unknown`(
        _ step: Step, _ code: String
    ) throws {
        try expect(refusal(step)?.description, equals: code)
    }

    @Test func `after a lost answer, a refused read is refused`() throws {
        let script = try ScriptedBucket([.fail(.noAnswer), .refusal(403, "AccessDenied")])
        expectRefusal(.accessDenied) { try script.bucket.text("o") }
    }

    @Test func `altered bytes are sent once more, then the file is looked at`() throws {
        let mismatch = Step.refusal(400, "XAmzContentSHA256Mismatch")
        let mended = try ScriptedBucket([mismatch, Self.stored])
        try expect(mended.bucket.put("o", body("a"), .object).isStored)
        let onTheWay = try ScriptedBucket([mismatch, mismatch])
        expectRefusal(.bucketAnswer) { try onTheWay.bucket.put("o", body("a"), .object) }
        let damaged = try ScriptedBucket([mismatch, mismatch])
        let wrong = StorageBody(Array("b".utf8), address: try body("a").address)
        let file = #expect(throws: StoreError.self) { try damaged.bucket.put("o", wrong, .object) }
        expect(file?.code.description == "damagedObject" && file?.object == wrong.address)
    }

    @Test func `no message holds a secret`() throws {
        let steps: [Step] = [
            .refusal(403, "AccessDenied"), .refusal(403, "SignatureDoesNotMatch"), .answer(418),
            .refusal(404, "NoSuchBucket"), .refusal(403, "QuotaExceeded"), .fail(.useless),
            .fail(.malformed), .refusal(400, "XAmzContentSHA256Mismatch"),
        ]
        for step in steps {
            for hasTried in [false, true] {
                let script = try ScriptedBucket(hasTried ? [.fail(.noAnswer)] : [], then: step)
                var text = ""
                do {
                    text = "\(try script.bucket.put("o", body("a"), .object))"
                } catch { text = "\(error)" }
                expect(!text.contains(ScriptedBucket.keys.secret))
                expect(!text.contains("t0ken"))
                expect(!text.contains(ScriptedBucket.keys.id))
            }
        }
    }

    @Test func `nothing is sent once everything is stopped`() throws {
        let script = try ScriptedBucket([]) { $0.isStopped = { true } }
        expectRefusal(.interrupted) { try script.bucket.head("o") }
        expect(script.carrier.requests.isEmpty)
    }
}
