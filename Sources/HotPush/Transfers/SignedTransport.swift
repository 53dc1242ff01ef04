package import CASStore
package import S3
import Storage

/// Signs requests to a bucket, whose URLs begin with `s3://BUCKET/PREFIX/`, and carries all others as they are.
///
/// Learns from refusals and sends the request again: the bucket's region, the server's clock, expired keys. A signature
/// goes only to the bucket's own host. Belongs to one thread.
package final class SignedTransport: Transport {
    private let network: any Transport
    private let bucket: S3Storage
    /// The last refusal of a single file, with the request and the right that would allow it: without the right to
    /// list, a missing file is refused too.
    package private(set) var refusal: StoreError?

    package init(_ network: any Transport, to bucket: S3Storage) {
        self.network = network
        self.bucket = bucket
    }

    package var byteRateMax: Int64? { network.byteRateMax }
    package var parallelCount: Int { network.parallelCount }

    /// Also throws `.accessDenied` if the keys are missing, wrong or expired; `.noBucket`; `.credentials`.
    package func run(_ client: some TransferClient) throws(StoreError) {
        let signing = SigningClient(client, bucket)
        defer { refusal = signing.refusal ?? refusal }
        try network.run(signing)
        if let failure = signing.failure { throw failure }
    }
}

/// Between a client and a transport: signs requests, and reads refusals.
private final class SigningClient: TransferClient {
    private let client: any TransferClient
    private let bucket: S3Storage
    private let base: String
    private var signed: [Int: Signed] = [:]
    private var repeated: [TransferRequest] = []
    private(set) var refusal: StoreError?
    /// The error that no request to this bucket can get past.
    private(set) var failure: StoreError?

    private struct Signed {
        let asked: TransferRequest
        var get: SignedGet
        /// The head of a refusal, held back until its body is read.
        var head: TransferHead?
        var body: [UInt8] = []
    }

    private static let bodyByteCountMax = 64 << 10

    init(_ client: any TransferClient, _ bucket: S3Storage) {
        self.client = client
        self.bucket = bucket
        base = bucket.location.url("")
    }

    // MARK: Out

    func next() -> NextTransfer {
        guard failure == nil else { return .nothing }
        if let request = repeated.popLast() { return .request(request) }
        let next = client.next()
        guard case .request(let asked) = next, asked.url.hasPrefix(base) else { return next }
        do throws(StoreError) {
            let get = try bucket.signedGet(String(asked.url.dropFirst(base.count)))
            signed[asked.id] = Signed(asked: asked, get: get)
            return .request(request(asked, get))
        } catch {
            failure = error
            client.end(asked.id, .cancelled)
            return .nothing
        }
    }

    private func request(_ asked: TransferRequest, _ get: SignedGet) -> TransferRequest {
        var request = asked
        request.url = get.url
        // Ceph RGW 16 writes its refusals in JSON if the request accepts that.
        request.fields.removeAll { $0.name == "accept" }
        request.confinedFields += get.fields
        // Another host would get no signature, and refuse; the bucket says in which region it is.
        request.followsRedirects = false
        // A refusal must be read whole; of a file, the client takes no more than it asked for.
        request.byteCountMax = max(asked.byteCountMax, Int64(Self.bodyByteCountMax))
        return request
    }

    // MARK: In

    func begin(_ id: Int, _ head: TransferHead) -> BodyDecision {
        guard signed[id] != nil, 300..<500 ~= head.status, ![304, 412, 416].contains(head.status)
        else { return client.begin(id, head) }
        signed[id]?.head = head
        return .take
    }

    func receive(_ id: Int, _ bytes: UnsafeRawBufferPointer) -> Bool {
        guard let one = signed[id], one.head != nil else { return client.receive(id, bytes) }
        let space = Self.bodyByteCountMax - one.body.count
        signed[id]?.body.append(contentsOf: bytes.prefix(space))
        return bytes.count <= space
    }

    func end(_ id: Int, _ outcome: TransferOutcome) {
        guard let one = signed.removeValue(forKey: id) else { return client.end(id, outcome) }
        guard let head = one.head else { return client.end(id, outcome) }
        switch outcome {
        // A refusal that was cut does not say why.
        case .cancelled, .failed: return client.end(id, outcome)
        case .finished, .refused, .tooLarge: break
        }
        do throws(StoreError) {
            let answer = AnswerHead(status: head.status, fields: head.fields)
            switch try bucket.meaning(of: answer, one.body, to: one.get) {
            case .again(let get):
                signed[id] = Signed(asked: one.asked, get: get)
                repeated.append(request(one.asked, get))
            case .passOn(let denial):
                refusal = denial ?? refusal
                hand(head, of: id)
            case .refused(let error): throw error
            }
        } catch {
            failure = error
            client.end(id, .cancelled)
        }
    }

    /// Passes on an answer without success, and without its body.
    private func hand(_ head: TransferHead, of id: Int) {
        let decision = client.begin(id, head)
        client.end(id, decision == .refuse ? .refused : .finished)
    }

    func tick() -> Bool { failure == nil && client.tick() }
}
