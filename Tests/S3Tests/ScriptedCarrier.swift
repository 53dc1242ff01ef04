import BucketTestSupport

/// Answers requests from a script, and remembers them; a request that is stopped fails.
final class ScriptedCarrier: BucketCarrier {
    /// What happens to one request.
    enum Step: Sendable {
        case answer(Int, [(String, String)] = [], String = "")
        /// The head and so much of the body come, then the connection breaks.
        case cut(Int, [(String, String)] = [], String)
        case fail(CarryFailure.Kind)

        static func refusal(
            _ status: Int, _ code: String, _ fields: [(String, String)] = [], _ more: String = ""
        ) -> Step {
            .answer(
                status, fields,
                "<?xml version=\"1.0\"?><Error><Code>\(code)</Code><Message>no</Message>\(more)"
                    + "</Error>")
        }
    }

    private let steps: Mutex<[Step]>
    private let last: Step?
    private let delay: Int32
    private let seen = Mutex<[CarriedRequest]>([])
    private let ended = Mutex(0)

    /// - Parameters:
    ///   - last: what happens to all requests after the script's end; nil: there may be none.
    ///   - delay: the milliseconds that each answer takes.
    init(_ steps: [Step], then last: Step? = nil, delay: Int32 = 0) {
        self.steps = Mutex(steps)
        (self.last, self.delay) = (last, delay)
    }

    var requests: [CarriedRequest] { seen.withLock { $0 } }

    var endedCount: Int { ended.withLock { $0 } }

    func carry(
        _ request: CarriedRequest, onHead: (AnswerHead) -> Bool,
        onBytes: (UnsafeRawBufferPointer) -> Bool
    ) -> CarryEnd {
        seen.withLock { $0.append(request) }
        if delay > 0 { pause(milliseconds: delay) }
        defer { ended.withLock { $0 += 1 } }
        if request.isStopped() { return .failed(CarryFailure(.stopped, "stopped")) }
        guard let step = steps.withLock({ $0.isEmpty ? nil : $0.removeFirst() }) ?? last else {
            preconditionFailure("no step is left for \(request.method) \(request.url)")
        }
        switch step {
        case .fail(let kind): return .failed(CarryFailure(kind, "\(kind.rawValue)"))
        case .answer(let status, let fields, let body):
            return pass(status, fields, body, onHead, onBytes) ? .finished : .refused
        case .cut(let status, let fields, let body):
            return pass(status, fields, body, onHead, onBytes)
                ? .failed(CarryFailure(.noAnswer, "cut")) : .refused
        }
    }

    private func pass(
        _ status: Int, _ fields: [(String, String)], _ body: String,
        _ onHead: (AnswerHead) -> Bool, _ onBytes: (UnsafeRawBufferPointer) -> Bool
    ) -> Bool {
        guard onHead(AnswerHead(status: status, fields: fields.map { (name: $0.0, value: $0.1) }))
        else { return false }
        return Array(body.utf8).withUnsafeBytes { $0.isEmpty || onBytes($0) }
    }
}

/// A bucket over a script, whose time goes by only when it waits.
struct ScriptedBucket {
    let carrier: ScriptedCarrier
    let bucket: S3Storage
    let notes = Notices()
    private let waited: Waited
    private final class Waited: Sendable {
        let times = Mutex<[Duration]>([])
    }

    static let keys = AccessKeys(
        id: "AKIAIOSFODNN7EXAMPLE", secret: "a secret that nobody sees", sessionToken: "t0ken")

    /// The waits between tries.
    var waits: [Duration] { waited.times.withLock { $0 } }

    /// - Parameter stoppedAfter: after so many requests everything is stopped.
    init(
        _ steps: [ScriptedCarrier.Step], then last: ScriptedCarrier.Step? = nil,
        endpoint: String? = "http://store:9000", keys: any KeySource = FixedKeys(keys),
        delay: Int32 = 0, stoppedAfter: Int? = nil,
        _ change: (inout BucketOptions) -> Void = { _ in }
    ) throws {
        let waited = Waited()
        self.waited = waited
        let carrier = ScriptedCarrier(steps, then: last, delay: delay)
        self.carrier = carrier
        let notes = notes
        var options = BucketOptions()
        if let stoppedAfter { options.isStopped = { carrier.endedCount >= stoppedAfter } }
        options.note = notes.sink
        options.pause = { time in waited.times.withLock { $0.append(time) } }
        // Each wait is over at once, and a second later.
        options.now = { 1_764_000_000 + waited.times.withLock { Int64($0.count) } }
        change(&options)
        bucket = try S3Storage(at: endpoint, keys: keys, carrier, options)
    }

    func fields(_ name: String) -> [String?] {
        carrier.requests.map { request in request.fields.first { $0.name == name }?.value }
    }

    /// Methods and URLs, without the endpoint.
    var targets: [String] {
        carrier.requests.map { "\($0.method) \($0.url.replacing("http://store:9000", with: ""))" }
    }
}

extension S3Storage {
    /// The prefix `app` of the bucket `updates`.
    convenience init(
        at endpoint: String?, keys: any KeySource = FixedKeys(nil), _ carrier: any BucketCarrier,
        _ options: BucketOptions
    ) throws {
        self.init(
            try BucketLocation(parsing: "s3://updates/app"),
            at: try BucketEndpoint(bucket: "updates", endpoint: endpoint, region: nil), keys: keys,
            carrier: carrier, options)
    }
}

extension CarryEnd {
    /// How it has failed; `nil` if it has not.
    var failure: CarryFailure.Kind? {
        if case .failed(let failure) = self { failure.kind } else { nil }
    }
}
