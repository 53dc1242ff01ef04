import CASStore
import CCurl
public import HotPush
public import Platform
package import S3
import Storage
import Synchronization

/// Carries the requests of a bucket with libcurl, each on the calling thread.
///
/// Many threads may call at once. Each request has a handle while it lasts; handles and their open connections are
/// reused. Proxies come from the environment, unless the options name one.
package final class CurlBucketCarrier: BucketCarrier {
    private let options: TransportOptions
    private let free = Mutex<[CarryHandle]>([])

    /// Creates a carrier without connections.
    /// - Parameter options: only the connect timeout, the proxy, the certificates and the program's name matter.
    /// - Throws: `.transport` if libcurl cannot start or an option is bad.
    package init(_ options: TransportOptions = TransportOptions()) throws(StoreError) {
        try options.start()
        var options = options
        // Each concurrent request has a connection, so HTTP/2 has nothing to share.
        options.isHTTP2Allowed = false
        self.options = options
    }

    package func carry(
        _ request: CarriedRequest, onHead: (AnswerHead) -> Bool,
        onBytes: (UnsafeRawBufferPointer) -> Bool
    ) -> CarryEnd {
        let handle: CarryHandle
        do throws(StoreError) {
            let idle = free.withLock { $0.popLast() }
            if let idle { handle = idle } else { handle = try CarryHandle(options) }
        } catch { return .failed(CarryFailure(.useless, error.message)) }
        defer { free.withLock { $0.append(handle) } }
        return withoutActuallyEscaping(onHead) { onHead in
            withoutActuallyEscaping(onBytes) { onBytes in
                handle.carry(request, onHead, onBytes)
            }
        }
    }
}

/// One of libcurl's easy handles, and the bucket request that occupies it.
///
/// `@unchecked Sendable`: one thread at a time uses it, and it is handed on only between requests, under the lock of
/// ``CurlBucketCarrier``.
final class CarryHandle: @unchecked Sendable {
    private static let bufferByteCount = 262_144

    private let easy: EasyHandle
    private let files = POSIXFileSystem()
    private var reader = HeadReader()
    private var request = CarriedRequest(method: "GET", url: "")
    private var onHead: (AnswerHead) -> Bool = { _ in false }
    private var onBytes: (UnsafeRawBufferPointer) -> Bool = { _ in false }
    private var hasHead = false
    private var offset: Int64 = 0
    private var drip = DripWatch(nil)
    /// This side's decision, which replaces the error that libcurl then reports.
    private var verdict: CarryEnd?

    init(_ options: TransportOptions) throws(StoreError) {
        easy = try EasyHandle()
        let context = Unmanaged.passUnretained(self).toOpaque()
        try easy.setUp(
            options, chunkByteCount: Self.bufferByteCount, context: context,
            onHeader: { bytes, size, count, context in
                guard let context else { return 0 }
                let handle = Unmanaged<CarryHandle>.fromOpaque(context).takeUnretainedValue()
                let line = UnsafeRawBufferPointer(start: bytes, count: size * count)
                return handle.takeLine(line) ? size * count : 0
            },
            onBody: { bytes, size, count, context in
                guard let context else { return -1 }
                let handle = Unmanaged<CarryHandle>.fromOpaque(context).takeUnretainedValue()
                let part = UnsafeRawBufferPointer(start: bytes, count: size * count)
                return handle.takeBytes(part) ? size * count : -1
            })
        try easy.set(CURLOPT_READDATA, context)
        try easy.set(
            CURLOPT_READFUNCTION,
            { target, size, count, context in
                guard let context else { return castree_curl_abort_code() }
                let handle = Unmanaged<CarryHandle>.fromOpaque(context).takeUnretainedValue()
                return handle.giveBytes(
                    UnsafeMutableRawBufferPointer(start: target, count: size * count))
            })
        try easy.set(CURLOPT_XFERINFODATA, context)
        try easy.set { context, _, _, _, _ in
            guard let context else { return 1 }
            return Unmanaged<CarryHandle>.fromOpaque(context).takeUnretainedValue().isStopped
                ? 1 : 0
        }
        try easy.set(CURLOPT_NOPROGRESS, 0)
        try easy.set(CURLOPT_UPLOAD_BUFFERSIZE, Self.bufferByteCount)
        // The signature covers the path as it is, so no segment may be removed.
        try easy.set(CURLOPT_PATH_AS_IS, 1)
        try easy.set(CURLOPT_LOW_SPEED_LIMIT, 1)
    }

    func carry(
        _ request: CarriedRequest, _ onHead: @escaping (AnswerHead) -> Bool,
        _ onBytes: @escaping (UnsafeRawBufferPointer) -> Bool
    ) -> CarryEnd {
        self.request = request
        self.onHead = onHead
        self.onBytes = onBytes
        // The caller's closures must not outlive the call.
        defer {
            self.request = CarriedRequest(method: "GET", url: "")
            self.onHead = { _ in false }
            self.onBytes = { _ in false }
        }
        (hasHead, verdict, drip) = (false, nil, DripWatch(request.dripLimit))
        offset = request.body?.range.lowerBound ?? 0
        reader.reset()
        easy.clearError()
        do throws(StoreError) { return end(try perform()) } catch {
            return .failed(CarryFailure(.useless, error.message))
        }
    }

    private func perform() throws(StoreError) -> CURLcode {
        try prepare()
        guard let list = LineList(try lines()) else { throw EasyHandle.noMemory }
        try easy.set(CURLOPT_HTTPHEADER, UnsafeMutableRawPointer(list.first))
        let code = curl_easy_perform(easy.raw)
        // The list ends with this call.
        try easy.set(CURLOPT_HTTPHEADER, nil as UnsafeMutableRawPointer?)
        return code
    }

    private func prepare() throws(StoreError) {
        try easy.set(CURLOPT_URL, request.url)
        try easy.set(CURLOPT_CUSTOMREQUEST, nil as String?)
        // Also undoes the settings of the previous request.
        try easy.set(CURLOPT_HTTPGET, 1)
        switch request.method {
        case "GET": break
        case "HEAD": try easy.set(CURLOPT_NOBODY, 1)
        case "PUT", "POST":
            try easy.set(CURLOPT_UPLOAD, 1)
            try easy.set(CURLOPT_INFILESIZE_LARGE, offset: request.body?.byteCount ?? 0)
            if request.method == "POST" { try easy.set(CURLOPT_CUSTOMREQUEST, "POST") }
        default: try easy.set(CURLOPT_CUSTOMREQUEST, request.method)
        }
        try easy.set(CURLOPT_LOW_SPEED_TIME, request.stallSeconds)
        try easy.set(CURLOPT_CONNECTTIMEOUT_MS, request.connectMilliseconds)
        try easy.set(CURLOPT_TIMEOUT_MS, request.totalMilliseconds ?? 0)
        try easy.set(CURLOPT_NOPROXY, request.usesProxy ? nil as String? : "*")
    }

    private func lines() throws(StoreError) -> [String] {
        // No proxy in between may encode on its own, and no server is asked whether it wants a body.
        var lines = ["Accept-Encoding: identity", "Expect:"]
        for (name, value) in request.fields {
            guard RequestFields.isToken(name), RequestFields.isFieldValue(value) else {
                throw StoreError(.transport, "a header field of the request is invalid")
            }
            lines.append(value.isEmpty ? "\(name);" : "\(name): \(value)")
        }
        return lines
    }

    // MARK: called by libcurl

    private var isStopped: Bool {
        guard request.isStopped() else { return false }
        verdict = verdict ?? .failed(CarryFailure(.stopped, "interrupted"))
        return true
    }

    private func takeLine(_ line: UnsafeRawBufferPointer) -> Bool {
        switch hasHead ? reader.readTrailer(line) : reader.read(line) {
        case .more: return true
        case .malformed(let text):
            verdict = .failed(failure(.malformed, text))
            return false
        case .whole(let status, let fields):
            hasHead = true
            if onHead(AnswerHead(status: status, fields: fields)) { return true }
            verdict = .refused
            return false
        }
    }

    private func takeBytes(_ bytes: UnsafeRawBufferPointer) -> Bool {
        guard hasHead, onBytes(bytes) else {
            verdict = .refused
            return false
        }
        if drip.pace(bytes.count) != .dripping { return true }
        verdict = .failed(failure(.noAnswer, "the answer comes too slowly to finish"))
        return false
    }

    private func giveBytes(_ target: UnsafeMutableRawBufferPointer) -> Int {
        guard let body = request.body, offset < body.range.upperBound else { return 0 }
        let count = Int(min(Int64(target.count), body.range.upperBound - offset))
        do throws(StoreError) {
            let got = try body.body.read(
                into: UnsafeMutableRawBufferPointer(rebasing: target[..<count]), at: offset, files)
            offset += Int64(got)
            return got
        } catch {
            verdict = .failed(CarryFailure(.body, error.message))
            return castree_curl_abort_code()
        }
    }

    // MARK: ending

    private func end(_ code: CURLcode) -> CarryEnd {
        if let verdict { return verdict }
        if code == CURLE_OK {
            // To libcurl, a head that breaks off ends an answer like any other.
            return hasHead ? .finished : .failed(failure(.noAnswer, "the answer has no whole head"))
        }
        let found = FailureKinds.failure(
            of: code, hasSent: easy.connectedAfter > 0, message: easy.error, url: request.url)
        let kind: CarryFailure.Kind =
            switch found.kind {
            case .resolve, .connect: .notSent
            case .broken, .timeout: .noAnswer
            case .security: code == CURLE_PEER_FAILED_VERIFICATION ? .untrusted : .useless
            case .request, .redirect: .useless
            case .malformed: .malformed
            }
        return .failed(CarryFailure(kind, found.message))
    }

    private func failure(_ kind: CarryFailure.Kind, _ text: String) -> CarryFailure {
        CarryFailure(kind, FailureKinds.sentence(text, url: request.url))
    }
}

extension CarriedRequest {
    /// How slowly the answer may come.
    ///
    /// Before the answer comes, libcurl only counts how long nothing moves: it sends whole buffers, so any movement is
    /// fast enough.
    fileprivate var dripLimit: DripLimit {
        // A transfer that may be silent for longer must not be too slow sooner.
        DripLimit(leastByteCount, in: max(.milliseconds(paceMilliseconds), .seconds(stallSeconds)))
    }
}

/// How a bucket is reached, and with which keys.
///
/// What is `nil` comes from the environment and the files that AWS's own tools read: `AWS_ENDPOINT_URL_S3`,
/// `AWS_REGION`, `AWS_PROFILE`, `AWS_ACCESS_KEY_ID`, `~/.aws/config`, `~/.aws/credentials` and others
/// (`docs/buckets.md`).
public struct BucketAccess: Sendable {
    /// The URL of the store; by default that of AWS in the region.
    public var endpoint: String?
    /// The region that requests are signed for; by default `us-east-1`.
    public var region: String?
    /// The profile in AWS's files whose keys, endpoint and region count.
    public var profile: String?
    /// Whether requests are not signed, for reading a public bucket.
    public var isAnonymous = false
    /// The value of an environment variable; by default that of the process.
    public var environment: @Sendable (String) -> String? = { environmentVariable($0) }
    /// The most requests at once.
    public var requestCountMax = 16
    /// The time limits, the proxy and the certificates of the connections.
    public var connections = TransportOptions()
    /// Gets sentences for people about what went otherwise than expected, from several threads.
    public var notice: @Sendable (String) -> Void = { _ in }
    /// Polled during requests; `true` stops them with `.interrupted`.
    ///
    /// By default ``CASStore/Blocking/isCancelled``.
    public var isInterrupted: @Sendable () -> Bool = { Blocking.isCancelled }
    /// How often in a row a request may fail; `nil` for the usual.
    package var failureCountMax: Int?
    /// Whether ``notice`` gets each retry, too.
    package var tellsRetries = true

    /// Access by the environment's keys.
    public init() {}
}

extension OriginBucket {
    /// Prepares the origin at `s3://BUCKET/PREFIX`; sends no request.
    ///
    /// Endpoint, region and profile may also stand in the location: `s3://updates/app?endpoint=https://s3.example.org`.
    /// - Throws: `.badOrigin` for another kind of location, or for an endpoint or region that cannot be; `.credentials`
    ///   if the files with the keys cannot be read; `.transport` if libcurl cannot start.
    public init(_ location: String, _ access: BucketAccess = BucketAccess()) throws(StoreError) {
        try self.init(BucketLocation(parsing: location), access)
    }

    /// - Throws: as ``init(_:_:)``.
    package init(_ location: BucketLocation, _ access: BucketAccess) throws(StoreError) {
        var settings = BucketSettings(environment: access.environment)
        (settings.endpoint, settings.region) = (access.endpoint, access.region)
        (settings.profile, settings.isAnonymous) = (access.profile, access.isAnonymous)
        var connections = access.connections
        connections.certificatesFile = connections.certificatesFile ?? settings.certificatesFile
        var options = BucketOptions()
        options.jobCount = access.requestCountMax
        options.stallSeconds = Int((connections.stallTimeout.milliseconds + 999) / 1_000)
        options.note = access.notice
        if access.tellsRetries { options.retrying = access.notice }
        options.isStopped = access.isInterrupted
        if let count = access.failureCountMax { options.retries.failureCountMax = count }
        self.init(
            try S3Storage(location, settings, carrier: CurlBucketCarrier(connections), options),
            certificatesFile: connections.certificatesFile)
    }

    /// A transport that signs the requests of a `Pull` to this bucket, which belongs to one thread.
    ///
    /// It trusts the certificates that the bucket was opened with, unless the options name others.
    /// - Throws: `.transport` if libcurl cannot start.
    public func transport(
        _ options: TransportOptions = TransportOptions()
    ) throws(StoreError) -> any Transport {
        var options = options
        options.certificatesFile = options.certificatesFile ?? certificatesFile
        return SignedTransport(try CurlTransport(options), to: storage)
    }
}
