import Platform
import Storage

/// What a try means, by the table of S3's answers; ``RequestRunner`` acts on it.
enum Verdict {
    /// An answer that the verb knows what to do with.
    case done(S3Answer)
    /// Another try may succeed.
    case again(String, isUndecided: Bool, retryAfter: String?)
    case refused(Refusal)
    case failed(CarryFailure)

    init(_ sent: SentRequest, _ call: S3Call, wasUndecided: Bool) {
        if sent.isTooLarge {
            let failure = CarryFailure(
                .malformed, "the answer has more than \(call.answerByteCountMax) bytes")
            self = .failed(failure)
            return
        }
        if case .failed(let failure) = sent.end {
            self = Self.failure(failure, sent)
            return
        }
        guard let head = sent.head else {
            self = .failed(CarryFailure(.malformed, "an answer without a head"))
            return
        }
        self = Self.answer(head, sent, call, wasUndecided: wasUndecided)
    }

    private static func failure(_ failure: CarryFailure, _ sent: SentRequest) -> Verdict {
        // An answer that was cut, unless its status alone says that it is none.
        switch failure.kind {
        case .notSent: .again(failure.message, isUndecided: false, retryAfter: nil)
        case .noAnswer:
            .again(
                failure.message, isUndecided: true, retryAfter: sent.head?["retry-after"])
        case .untrusted, .useless, .malformed, .body, .stopped: .failed(failure)
        }
    }

    private static func answer(
        _ head: AnswerHead, _ sent: SentRequest, _ call: S3Call, wasUndecided: Bool
    ) -> Verdict {
        let answer = S3Answer(head: head, body: sent.body, isAfterUndecided: wasUndecided)
        let error = ErrorAnswer(head.status < 300 && !call.mayFailLate ? [] : sent.body)
        let passing = Verdict.again(
            "\(head.status) \(error.code)", isUndecided: true, retryAfter: head["retry-after"])
        switch head.status {
        case 200 where ["InternalError", "SlowDown"].contains(error.code): return passing
        case 200..<300, 304, 412, 416: return .done(answer)
        case let status where RetryPolicy.isWorthRetrying(status: status): return passing
        case 501, 405: return .done(answer)
        // Another write is under way: for a condition, that is an answer.
        case 409: return call.isConditional ? .done(answer) : passing
        case 404 where error.code != "NoSuchBucket": return .done(answer)
        case 400 where ["RequestTimeout", "IncompleteBody"].contains(error.code): return passing
        case 400 where error.code == "NotImplemented": return .done(answer)
        default: return .refused(Refusal(head, error, signedAt: sent.signedAt))
        }
    }
}

struct Refusal {
    let status: Int
    let error: ErrorAnswer
    let date: Int64?
    /// How far the server's clock is ahead of the time in the signature, if too far to be accepted.
    private let skew: Int64?
    /// The time in the signature is too far from it.
    let isClock: Bool
    let region: String?
    /// Where the bucket is, in the store's words; `nil` unless the answer redirects.
    private let elsewhere: String?

    /// Servers accept 15 minutes; with less than half of them, the clock is not the reason.
    private static let skewMin: Int64 = 450

    init(_ head: AnswerHead, _ error: ErrorAnswer, signedAt: Int64) {
        status = head.status
        self.error = error
        let date = AnswerTime.field(head["date"])
        self.date = date
        skew = date.map { $0 - signedAt }.flatMap { abs($0) > Self.skewMin ? $0 : nil }
        isClock =
            error.code == "RequestTimeTooSkewed"
            || head.status == 403 && error.code.isEmpty && skew != nil
        let hasMoved = [301, 307, 400].contains(head.status)
        region = hasMoved ? head["x-amz-bucket-region"] ?? error.region : nil
        let isRedirect = [301, 302, 303, 307, 308].contains(head.status)
        elsewhere = isRedirect ? error.endpoint ?? head["location"] ?? "" : nil
    }

    static func clock(_ skew: Int64, _ endpoint: BucketEndpoint) -> String {
        "the clock here is \(abs(skew)) s \(skew > 0 ? "behind" : "ahead of") that of \(endpoint)"
    }

    /// The keys have expired early.
    var isExpired: Bool { ["ExpiredToken", "TokenRefreshRequired"].contains(error.code) }

    /// The received bytes were not those that were signed.
    var isDigest: Bool {
        ["XAmzContentSHA256Mismatch", "BadDigest", "InvalidDigest"].contains(error.code)
    }

    func error(
        _ call: S3Call, _ endpoint: BucketEndpoint, _ keys: AccessKeys?,
        _ fileSystem: any FileSystem
    ) throws(StoreError) -> StoreError {
        // The server may repeat what it was sent, so secrets are hidden before a cut could leave the beginning of one.
        let said = [error.code.isEmpty ? "\(status)" : error.code, error.message]
            .filter { !$0.isEmpty }.map { keys?.hidden(in: $0) ?? $0 }
            .map { printable(String($0.prefix(200))) }.joined(separator: ": ")
        switch (status, error.code) {
        case (404, _):
            return StoreError(.noBucket, "\(endpoint) has no bucket \(endpoint.bucket) (\(said))")
        case (_, "QuotaExceeded"), (507, _):
            return StoreError(
                .outOfSpace,
                "\(endpoint) takes no more: \(said); raise the quota, and repeat the command (a prune frees what no "
                    + "release has, and needs space for some small files itself)")
        case _ where isDigest:
            return try damage(call, endpoint, said, fileSystem)
        case (_, "InvalidAccessKeyId"), (_, "SignatureDoesNotMatch"), (_, "InvalidToken"),
            (_, "ExpiredToken"), (_, "TokenRefreshRequired"):
            return StoreError(
                .accessDenied,
                "\(endpoint) does not take \(keys?.description ?? "requests without a key") "
                    + "(\(said)); check the access key and its secret")
        case _ where isClock:
            return StoreError(
                .accessDenied,
                "\(endpoint) refuses \(call.operation) for its time (\(said)): "
                    + (skew.map { "\(Self.clock($0, endpoint)); " } ?? "")
                    + "set the clock that is wrong, and repeat the command")
        case _ where elsewhere != nil:
            return StoreError(.bucketAnswer, redirection(call, endpoint, keys, said))
        case (401, _), (403, _):
            return StoreError(.accessDenied, denial(call, endpoint, keys, said))
        default:
            return StoreError(
                .bucketAnswer, "\(endpoint) answered \(status) to \(call.operation): \(said)")
        }
    }

    /// Redirects are not followed: signatures are for one host.
    private func redirection(
        _ call: S3Call, _ endpoint: BucketEndpoint, _ keys: AccessKeys?, _ said: String
    ) -> String {
        func shown(_ text: String) -> String {
            printable(String((keys?.hidden(in: text) ?? text).prefix(200)))
        }
        var places: [String] = []
        if let elsewhere, !elsewhere.isEmpty { places.append("at \(shown(elsewhere))") }
        if let region { places.append("in region \(shown(region))") }
        let place = places.isEmpty ? "elsewhere" : places.joined(separator: ", ")
        return "\(endpoint) says that bucket \(endpoint.bucket) is \(place) (\(said)); "
            + "\(call.operation) is not sent on: name the right --endpoint and --region"
    }

    private func denial(
        _ call: S3Call, _ endpoint: BucketEndpoint, _ keys: AccessKeys?, _ said: String
    ) -> String {
        let bucket = "arn:aws:s3:::\(endpoint.bucket)"
        let right =
            switch call.action {
            case "s3:ListBucket": "s3:ListBucket on \(bucket)"
            case "s3:GetObject":
                "s3:GetObject on \(bucket)/*, and s3:ListBucket on \(bucket): without it a missing file is "
                    + "refused, too"
            default: "\(call.action) on \(bucket)/*"
            }
        return "\(endpoint) refuses \(call.operation) to "
            + "\(keys.map { "key \($0.shortID)" } ?? "anonymous requests") (\(said)); "
            + "the policy needs \(right)"
    }

    /// Determines whether the file or the network changed the bytes.
    private func damage(
        _ call: S3Call, _ endpoint: BucketEndpoint, _ said: String, _ fileSystem: any FileSystem
    ) throws(StoreError) -> StoreError {
        if let body = call.body, try body.digest(fileSystem) != call.digest {
            return .damaged(body.body.address)
        }
        return StoreError(
            .bucketAnswer,
            "the bytes of \(call.operation) are altered on the way to \(endpoint) (\(said)); "
                + "a proxy between may do that")
    }
}
