package import CASStore

/// Carries requests to a directory of this machine, for which `file:///path` is a path inside it, so that local origins
/// and shipped versions need no client of their own.
package final class DirectoryTransport: Transport {
    private let directory: String
    private let fileSystem = POSIXFileSystem()
    private static let pieceByteCount = 256 * 1024
    private var rate: RateLimit
    private let began = ContinuousClock.now
    package let byteRateMax: Int64?

    /// Does not access the directory before the first request.
    package init(_ directory: String, byteRateMax: Int64? = nil) {
        self.directory = directory
        self.byteRateMax = byteRateMax
        rate = RateLimit(byteRate: byteRateMax)
    }

    /// Carries the client's requests one after the other; throws nothing, because a failure is a transfer's outcome.
    package func run(_ client: some TransferClient) throws(StoreError) {
        while client.tick() {
            switch client.next() {
            case .nothing: return
            case .wait(let milliseconds): pause(milliseconds: Int32(min(milliseconds, 100)))
            case .request(let request): carry(request, client)
            }
        }
    }

    private func carry(_ request: TransferRequest, _ client: some TransferClient) {
        do throws(StoreError) {
            let prefix = "file:///"
            guard request.url.hasPrefix(prefix),
                let path = PercentEncoding.decoded(request.url.dropFirst(prefix.count).utf8),
                let name = String(validating: path, as: UTF8.self), !name.utf8.contains(0)
            else {
                return client.end(
                    request.id, .failed(TransferFailure(.request, "\(request.url) is no file here"))
                )
            }
            try send(name, request, client)
        } catch {
            // A retry may help with a failing disk, but not with a bad name.
            let kind: TransferFailure.Kind = error.cause == nil ? .broken : .request
            client.end(request.id, .failed(TransferFailure(kind, error.message)))
        }
    }

    private func send(
        _ path: String, _ request: TransferRequest, _ client: some TransferClient
    ) throws(StoreError) {
        let full = directory + "/" + path
        let found: Descriptor?
        do throws(StoreError) {
            found = try fileSystem.openIfPresent(POSIXFileSystem.workingDirectory, full, .reading)
        } catch {
            // A file in place of a directory: nothing is below it.
            guard error.isNotDirectory else { throw error }
            found = nil
        }
        guard let file = found else { return answer(404, [], request, client) }
        let status = try fileSystem.status(file.raw)
        guard status.kind == .regular else { return answer(404, [], request, client) }
        var offset = request.offset
        guard offset < status.byteCount || status.byteCount == 0 else {
            let range = [(name: "content-range", value: "bytes */\(status.byteCount)")]
            return answer(416, range, request, client)
        }
        let end = min(request.end ?? status.byteCount, status.byteCount)
        var fields = [(name: "content-length", value: String(max(0, end - offset)))]
        if request.range != nil {
            let range = "bytes \(offset)-\(end - 1)/\(status.byteCount)"
            fields.append((name: "content-range", value: range))
        }
        let head = TransferHead(
            status: request.range != nil ? 206 : 200, fields: fields, url: request.url)
        switch client.begin(request.id, head) {
        case .refuse: return client.end(request.id, .refused)
        case .discard: return client.end(request.id, .finished)
        case .take: break
        }
        let first = offset
        let pieceByteCount = min(Self.pieceByteCount, rate.chunkByteCountMax)
        while offset < end {
            guard waitForRate(client) else { return client.end(request.id, .cancelled) }
            let piece = try fileSystem.read(
                file.raw, at: offset,
                count: Int(min(end - offset, Int64(pieceByteCount))))
            if piece.isEmpty { break }
            rate.take(piece.count)
            offset += Int64(piece.count)
            if offset - first > request.byteCountMax {
                return client.end(request.id, .tooLarge)
            }
            guard client.tick() else { return client.end(request.id, .cancelled) }
            let goesOn = piece.withUnsafeBytes { client.receive(request.id, $0) }
            guard goesOn else { return client.end(request.id, .refused) }
        }
        guard offset >= end else {
            return client.end(
                request.id, .failed(TransferFailure(.broken, "\(full) became shorter meanwhile")))
        }
        client.end(request.id, .finished)
    }

    /// Returns whether to continue.
    private func waitForRate(_ client: some TransferClient) -> Bool {
        while true {
            rate.fill(at: (ContinuousClock.now - began).milliseconds)
            guard rate.isEmpty else { return true }
            guard client.tick() else { return false }
            pause(milliseconds: Int32(min(max(rate.wait, 1), 100)))
        }
    }

    private func answer(
        _ status: Int, _ fields: [(name: String, value: String)], _ request: TransferRequest,
        _ client: some TransferClient
    ) {
        let head = TransferHead(status: status, fields: fields, url: request.url)
        let decision = client.begin(request.id, head)
        client.end(request.id, decision == .refuse ? .refused : .finished)
    }
}
