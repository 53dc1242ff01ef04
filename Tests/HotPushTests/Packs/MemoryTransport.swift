import StorageTestSupport

@testable import HotPush

/// Carries requests to a dictionary, and stops where a test tells it to: without sockets, so that every byte can be tried.
final class MemoryTransport: Transport {
    let contents: [String: [UInt8]]
    /// The path whose answers end early, and how many bytes of them come in all.
    var stop: (path: String, after: Int)?
    /// Called when it has stopped there.
    var stopped: () -> Void = {}
    /// What was asked for: the path and the field `Range`.
    private(set) var asked: [(path: String, range: String?)] = []

    init(_ contents: [String: [UInt8]]) { self.contents = contents }

    /// Pulls until so many bytes of a path have come.
    static func pull(
        _ contents: [String: [UInt8]], into device: TemporaryStore, stoppedAt end: Int,
        of path: String
    ) {
        let transport = MemoryTransport(contents)
        transport.stop = (path, end)
        let interrupted = InterruptionFlag()
        transport.stopped = { interrupted.set() }
        let options = PullingFixture.options.with { $0.isInterrupted = { interrupted.isSet } }
        expectRefusal(.interrupted) {
            try Pull(into: device.versions, over: transport, options).run("http://origin")
        }
    }

    func run(_ client: some TransferClient) throws(StoreError) {
        while client.tick() {
            switch client.next() {
            case .nothing: return
            case .wait: continue
            case .request(let request): carry(request, client)
            }
        }
    }

    private func carry(_ request: TransferRequest, _ client: some TransferClient) {
        let path = String(request.url.dropFirst("http://origin".count))
        asked.append((path, request.range))
        guard let bytes = contents[path] else {
            let head = TransferHead(status: 404, fields: [], url: request.url)
            _ = client.begin(request.id, head)
            return client.end(request.id, .finished)
        }
        let range = Int(request.offset)..<Int(request.end ?? Int64(bytes.count))
        var fields = [("content-length", String(range.count))]
        if request.range != nil {
            fields.append(
                (
                    "content-range",
                    "bytes \(range.lowerBound)-\(range.upperBound - 1)/\(bytes.count)"
                ))
        }
        let head = TransferHead(
            status: request.range == nil ? 200 : 206, fields: fields, url: request.url)
        guard case .take = client.begin(request.id, head) else {
            return client.end(request.id, .refused)
        }
        for position in range {
            if let stop, stop.path == path, position >= stop.after {
                stopped()
                return client.end(request.id, .cancelled)
            }
            let goesOn = [bytes[position]].withUnsafeBytes { client.receive(request.id, $0) }
            guard goesOn else { return client.end(request.id, .refused) }
        }
        client.end(request.id, .finished)
    }
}
