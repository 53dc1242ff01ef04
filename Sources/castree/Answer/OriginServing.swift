import CASStore
import ClientSystems
import Console
import ServeFromCAS
import StoreCommands
import StrictJSON
import WebServer

extension Invocation {
    func serveOrigin() throws -> ExitStatus {
        try requireTasks()
        try requireFiles()
        let notices = ServerNotices(diagnostics)
        defer { notices.end() }
        let address = try listeningAddress()
        let served = try servedOrigin { bucket in
            guard let cache = try value("cache") else {
                throw CommandError.usage(
                    "give --cache a directory: files of \(bucket) are fetched once, and sent from there"
                )
            }
            return try mirror(of: bucket, at: cache) { notices.tell($0) }
        }
        // One system's broken configuration must not stop the others; it counts again as soon as it is mended.
        let systems = served.answers.systems { notices.tell($0.message) }
        let log = try accessLog(notices)
        defer { log.file?.end() }

        let responders = try OriginAtPath(
            OriginResponder(answers: served.answers), isMirror: served.mirror != nil,
            notice: { notices.tell($0) })
        let contents = ContentCache(responders)
        var options = HTTPServer.Options()
        options.addresses = [address]
        options.loops = try integer("workers") ?? 1
        options.connection.parser.takesUTF8 = true
        // An eighth, as for the archives being composed.
        options.loop.clientConnections = options.loop.maximumConnections / 8
        if let append = log.append { options.accessLog = { append(RequestLine($0)) } }
        options.forwarded = ForwardedClients(by: try proxies())
        options.onDamage = { notices.tell($0.message) }
        let handler = OriginHandler(
            responders, contents, served.mirror, notice: { notices.tell($0) })
        let server = try HTTPServer(options, objects: contents) { _, _ in handler }
        try server.start()
        try reportReady(
            SocketAddress(address: address.address, port: server.port), systems.map(\.rawValue))
        let refresh = try duration("refresh") ?? .seconds(10)
        try waiting {
            await withTaskCancellationHandler {
                let cleaning = Task { await Self.closeRemoved(contents) }
                let looking = served.mirror.map { mirror in
                    Task { await Self.keepLooking(at: mirror, every: refresh) }
                }
                await server.waitUntilStopped()
                cleaning.cancel()
                looking?.cancel()
            } onCancel: {
                server.stop()
            }
        }
        return Interruption.isByTerminal ? .interrupted : .done
    }

    /// Files that a prune has removed must not keep their space on the disk for long.
    private static func closeRemoved(_ contents: ContentCache) async {
        while !Task.isCancelled {
            // Cancelled when the server has stopped.
            try? await Task.sleep(for: .seconds(30))
            contents.close()
        }
    }

    /// Looks for changes in a bucket, on a thread of its own, because each look waits for the network.
    ///
    /// Reports looks that do not end: a bucket with very slow answers would otherwise leave clients silently with
    /// withdrawn releases.
    private static func keepLooking(at mirror: OriginMirror, every interval: Duration) async {
        while !Task.isCancelled {
            // Cancelled when the server has stopped.
            try? await Task.sleep(for: interval)
            if Task.isCancelled { return }
            mirror.tellIfLate(after: max(interval * 4, .seconds(10)).milliseconds)
            if !mirror.isLooking { Parallel.detach { mirror.look() } }
        }
    }

    private func reportReady(_ address: SocketAddress, _ systems: [String]) throws {
        let url = "http://\(address)"
        try report { writer in
            writer.member("url", url)
            writer.member("port", Int(address.port))
            writer.member("systems", systems)
        } text: { output in
            let origin = argument("ORIGIN")
            output.print(
                systems.isEmpty
                    ? "Serving \(origin) at \(url); no other system is enabled (castree origin enable)"
                    : "Serving \(origin) at \(url) to clients of \(systems.joined(separator: ", "))"
            )
        }
    }

    private func listeningAddress() throws -> SocketAddress {
        let text = try requiredValue("listen")
        guard let colon = text.lastIndex(of: ":"),
            let port = UInt16(text[text.index(after: colon)...])
        else { throw refusedAddress(text) }
        var host = text[..<colon]
        if host.hasPrefix("["), host.hasSuffix("]") {
            host = host.dropFirst().dropLast()
        } else if host.contains(":") {
            throw refusedAddress(text)
        }
        guard let address = SocketAddress(literal: String(host), port: port) else {
            throw refusedAddress(text)
        }
        return address
    }

    private func refusedAddress(_ text: String) -> CommandError {
        .usage(
            "--listen takes an address of this machine and a port, as in 127.0.0.1:8090 or [::1]:8090, not '\(text)'"
        )
    }

    private func proxies() throws -> [AddressBlock] {
        try values("forwarded-by").map { text in
            guard let block = AddressBlock(text) else {
                throw CommandError.usage(
                    "--forwarded-by takes an address or a block of them, as in 127.0.0.1 or 10.0.0.0/8, not '\(text)'"
                )
            }
            return block
        }
    }
}

extension RequestLine {
    /// Without the query, which has the identities of devices, and keys of deployments.
    fileprivate init(_ record: AccessRecord) {
        let target = record.target.prefix { $0 != "?" }
        self.init(
            record.method, String(target), status: record.status, byteCount: record.byteCount,
            nanoseconds: record.nanoseconds, client: record.client)
    }
}
