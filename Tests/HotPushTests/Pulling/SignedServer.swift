import BucketTestSupport
import HotPush

/// An S3 service as a pull's requests meet it: the files of a bucket in memory, for those who sign rightly.
///
/// Its signatures are looked at only as far as a test says; S3Tests hold them against published ones.
final class SignedServer: Transport {
    /// An answer that is no file.
    struct Refusal {
        var status: Int
        var code: String
        var fields: [(name: String, value: String)] = []

        var body: [UInt8] {
            Array("<Error><Code>\(code)</Code><Message>as told</Message></Error>".utf8)
        }
    }

    private let store: ModelStore
    /// Looks at each request: `nil` lets it pass.
    var refuse: (TransferRequest, String) -> Refusal? = { _, _ in nil }
    private(set) var requests: [TransferRequest] = []
    /// A body ends after so many bytes, once.
    var cutAfter: Int?

    static let base = "http://store:9000/updates/app/"

    init(_ store: ModelStore) { self.store = store }

    func field(_ name: String, _ request: TransferRequest) -> String? {
        (request.fields + request.confinedFields).first { $0.name == name }?.value
    }

    func run(_ client: some TransferClient) throws(StoreError) {
        while client.tick() {
            switch client.next() {
            case .nothing: return
            case .wait: continue
            case .request(let request):
                requests.append(request)
                carry(request, client)
            }
        }
    }

    private func carry(_ request: TransferRequest, _ client: some TransferClient) {
        let key = String(request.url.dropFirst(Self.base.count))
        guard request.url.hasPrefix(Self.base) else {
            return client.end(request.id, .failed(TransferFailure(.resolve, "no such host")))
        }
        if let refusal = refuse(request, key) {
            return send(refusal.status, refusal.fields, refusal.body, request, client)
        }
        guard let file = store.files[key] else {
            return send(404, [], Refusal(status: 404, code: "NoSuchKey").body, request, client)
        }
        let tag = [(name: "etag", value: "\"\(file.tag.quoted.filter { $0 != "\"" })\"")]
        if field("if-none-match", request) == tag[0].value {
            return send(304, tag, [], request, client)
        }
        let part = Array(file.bytes[Int(request.offset)...])
        guard request.range != nil else { return send(200, tag, part, request, client) }
        let range =
            "bytes \(request.offset)-\(file.bytes.count - 1)/\(file.bytes.count)"
        send(206, tag + [(name: "content-range", value: range)], part, request, client)
    }

    private func send(
        _ status: Int, _ fields: [(name: String, value: String)], _ body: [UInt8],
        _ request: TransferRequest, _ client: some TransferClient
    ) {
        let length = [(name: "content-length", value: String(body.count))]
        let head = TransferHead(status: status, fields: fields + length, url: request.url)
        switch client.begin(request.id, head) {
        case .refuse: return client.end(request.id, .refused)
        case .discard: return client.end(request.id, .finished)
        case .take: break
        }
        guard Int64(body.count) <= request.byteCountMax else {
            return client.end(request.id, .tooLarge)
        }
        var part = body
        var isCut = false
        if let cutAfter, cutAfter < body.count {
            part = Array(body[..<cutAfter])
            self.cutAfter = nil
            isCut = true
        }
        let goesOn = part.isEmpty || part.withUnsafeBytes { client.receive(request.id, $0) }
        guard goesOn else { return client.end(request.id, .refused) }
        client.end(request.id, isCut ? .failed(TransferFailure(.broken, "cut")) : .finished)
    }
}
