import HotPush
import Platform

/// Carries the requests of a pull to a function, without sockets.
final class MemoryCarrier: Transport {
    typealias Answer = (status: Int, fields: [(String, String)], body: [UInt8])

    private let answer: (String) throws -> Answer?

    /// - Parameter answer: to the GET of a URL; `nil` counts as 404.
    init(_ answer: @escaping (String) throws -> Answer?) { self.answer = answer }

    func run(_ client: some TransferClient) throws(StoreError) {
        while client.tick() {
            switch client.next() {
            case .nothing: return
            case .wait: continue
            case .request(let request): try carry(request, client)
            }
        }
    }

    private func carry(_ request: TransferRequest, _ client: some TransferClient) throws(StoreError)
    {
        let found: Answer
        do {
            found = try answer(request.url) ?? (404, [], [])
        } catch {
            throw StoreError(.io, "\(error)")
        }
        let fields = found.fields + [("content-length", String(found.body.count))]
        let head = TransferHead(status: found.status, fields: fields, url: request.url)
        guard case .take = client.begin(request.id, head) else {
            return client.end(request.id, .refused)
        }
        let goesOn = found.body.withUnsafeBytes { client.receive(request.id, $0) }
        client.end(request.id, goesOn ? .finished : .refused)
    }
}
