import Platform
import Storage

/// One request of S3, before it has a host and a signature.
struct S3Call {
    var method: String
    /// The key in the bucket; `nil` for the bucket itself.
    var key: String?
    /// Not encoded.
    var query: [(name: String, value: String)] = []
    var fields: [(name: String, value: String)] = []
    var body: CarriedBody?
    /// The SHA-256 of what is sent, in hexadecimal digits.
    var digest = SignableRequest.emptyDigest
    /// The right that it needs, as in `s3:GetObject`.
    var action: String
    /// The largest answer that is kept in memory.
    var answerByteCountMax = 1 << 20
    /// The largest answer that the verb's own closure takes.
    var streamedByteCountMax: Int64 = 0
    /// `nil` for the bucket's.
    var stallSeconds: Int?
    /// Whether it has a condition, so that 409 and 501 are answers.
    var isConditional = false
    /// Whether the status comes before the operation ends, so that a 200 may hold an error.
    var mayFailLate = false
    /// How long a try may take, in milliseconds; `nil` for what its bytes need.
    var totalMilliseconds: Int?
    /// Whether it is sent even after a stop, to clean up.
    var isSentWhenStopped = false

    init(_ method: String, _ key: String?, action: String) {
        self.method = method
        self.key = key
        self.action = action
    }

    mutating func send(_ body: StorageBody) {
        self.body = CarriedBody(body)
        digest = body.address.description
    }

    /// What it does, for messages: `PUT of log/0000000043.json`.
    var operation: String {
        let operation = query.first.map { " (\($0.name))" } ?? ""
        return "\(method)\(operation) of \(key.map { printable($0) } ?? "the bucket")"
    }
}

/// The answer to a call that reached the store and was not a passing refusal.
struct S3Answer {
    var head: AnswerHead
    /// Empty if the caller took it.
    var body: [UInt8]
    /// Whether an earlier try of the call may have been applied.
    var isAfterUndecided: Bool

    var status: Int { head.status }

    var date: Int64? { AnswerTime.field(head["date"]) }
}

/// How a call ended that was not refused for good.
enum CallEnd {
    /// With an answer that means something to the verb.
    case answer(S3Answer)
    /// Without one: it may have been applied, or will be.
    case undecided(UnknownWrite)
}

enum BodyUse {
    /// It is kept in memory and handed over with the answer.
    case keep
    /// It goes to the verb's own closure.
    case stream
    /// The request is ended: the verb knows why.
    case refuse
}
