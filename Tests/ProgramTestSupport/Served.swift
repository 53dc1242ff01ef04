/// `castree serve` as a process, ready to answer.
package final class Served {
    /// The line that says so.
    package let ready: String
    private let running: Running
    private let output: FileHandle
    private var hasEnded = false

    /// Starts `castree serve` and waits for its ready line; a port of its own unless `arguments` name one.
    ///
    /// - Parameter launcher: a program and arguments of it that run what follows them.
    /// - Parameter errors: standard error, where a file is not wanted; nobody reads from it.
    package convenience init(
        _ place: Workplace, _ arguments: [String] = [], environment: [String: String] = [:],
        launcher: [String] = [], errors: Pipe? = nil
    ) throws {
        let names = arguments.contains("--port") || arguments.contains("--app-id")
        // Computed ports of two tests that run at once may be the same.
        let own = names ? [] : ["--app-id", Self.newApp(), "--next-port"]
        try self.init(
            launcher + [ProgramUnderTest.castree.url.path, "serve"] + own + arguments,
            in: place.directory, environment: environment, errors: errors)
    }

    /// Starts `castree origin serve` on a port of its own and waits for its ready line.
    package convenience init(
        origin: String, _ place: Workplace, _ arguments: [String] = [],
        environment: [String: String] = [:]
    ) throws {
        try self.init(
            [ProgramUnderTest.castree.url.path, "origin", "serve", origin]
                + ["--listen", "127.0.0.1:0"] + arguments,
            in: place.directory, environment: environment)
    }

    /// Starts a server and waits for its ready line.
    package init(
        _ command: [String], in directory: URL, environment: [String: String] = [:],
        input: Pipe? = nil, errors: Pipe? = nil
    ) throws {
        let pipe = Pipe()
        running = try Running(
            URL(filePath: command[0]), Array(command.dropFirst()), in: directory,
            environment: environment, input: input, output: pipe, errors: errors)
        // Ours is closed, so that a server that ends at once is noticed.
        try pipe.fileHandleForWriting.close()
        output = pipe.fileHandleForReading
        ready = Self.readLine(output)
    }

    private static func readLine(_ output: FileHandle) -> String {
        var line = Data()
        while line.last != 10 {
            let more = output.availableData
            if more.isEmpty { break }
            line += more
        }
        return String(decoding: line, as: UTF8.self)
    }

    /// The next line of standard output; what has come of it if the server ends before.
    package func readLine() -> String { Self.readLine(output) }

    deinit {
        if !hasEnded { running.signal(SIGKILL) }
    }

    package var processIdentifier: Int32 { running.processIdentifier }

    /// An identifier that no other test computes a port from.
    package static func newApp() -> String { "com.example.\(UUID().uuidString)" }

    /// The address in the ready line, up to its end or a blank.
    package var url: String {
        guard let start = ready.range(of: "http://") else { return "" }
        return String(ready[start.lowerBound...].prefix { !" \n\";".contains($0) })
    }

    package var port: UInt16 {
        UInt16(url.dropFirst("http://localhost:".count).prefix { $0.isNumber }) ?? 0
    }

    /// Fetches the page until something is so; whether it became so within two minutes.
    package func get(until isSo: () throws -> Bool) throws -> Bool {
        let end = ContinuousClock.now + .seconds(120)
        while try !isSo() {
            guard ContinuousClock.now < end else { return false }
            _ = try get()
        }
        return true
    }

    /// Sends a signal and waits for the end.
    package func end(_ signal: Int32 = SIGTERM) throws -> Finished {
        running.signal(signal)
        return try finished()
    }

    package func finished() throws -> Finished {
        hasEnded = true
        return try running.finished()
    }

    /// Fetches a path: the status, the head, the body.
    package func get(
        _ target: String = "/", _ fields: [String: String] = ["Accept": "text/html"]
    ) throws -> (status: Int, head: String, body: String) {
        try ask("GET", target, fields)
    }

    /// Sends a request, does something, and reads the answer.
    package func ask(
        _ method: String, _ target: String, _ fields: [String: String],
        meanwhile: () throws -> Void = {}
    ) throws -> (status: Int, head: String, body: String) {
        var request = "\(method) \(target) HTTP/1.1\r\nConnection: close\r\n"
        if fields["Host"] == nil { request += "Host: localhost:\(port)\r\n" }
        for (name, value) in fields { request += "\(name): \(value)\r\n" }
        if method == "POST" { request += "Content-Length: 0\r\n" }
        let raw = try Self.send(port, request + "\r\n")
        try meanwhile()
        return try Self.answer(raw)
    }

    /// Posts as a script of a page does; other fields than `Origin` and `Host` stand as they are given.
    package func post(
        _ target: String, _ body: String = "", _ fields: [String: String] = [:]
    ) throws -> (status: Int, head: String, body: String) {
        try Self.answer(beginPost(target, body, fields))
    }

    /// Posts, and waits for nothing: the socket, for ``answer(_:)``.
    package func beginPost(
        _ target: String, _ body: String = "", _ fields: [String: String] = [:]
    ) throws -> Int32 {
        var request = "POST \(target) HTTP/1.1\r\nConnection: close\r\nHost: localhost:\(port)\r\n"
        if fields["Origin"] == nil { request += "Origin: http://localhost:\(port)\r\n" }
        for (name, value) in fields { request += "\(name): \(value)\r\n" }
        request += "Content-Length: \(body.utf8.count)\r\n\r\n\(body)"
        return try Self.send(port, request)
    }

    /// Begins a session of the bridge, as a page without WebSockets does; its name is the page's secret.
    package func beginSession(_ fields: [String: String] = [:]) throws -> String {
        let words = try post("/_castree/bridge", "5\nH 1 -", fields).body.split(separator: " ")
        return String(try require(words.first { $0.utf8.count == 32 }))
    }

    /// Confirms as the bridge's script does: the status of the answer.
    ///
    /// - Parameter fields: the page's cookie, where the server must tell pages apart.
    package func confirm(_ fields: [String: String] = [:]) throws -> Int {
        try post("/_castree/confirm?session=\(beginSession(fields))", "", fields).status
    }

    /// Sends a signal and waits for nothing.
    package func signal(_ signal: Int32) { running.signal(signal) }

    private static func send(_ port: UInt16, _ request: String) throws -> Int32 {
        let raw = try TestSocket.connected(to: port)
        if TestPeer(raw, closes: false).send(request) { return raw }
        close(raw)
        throw POSIXError(.EIO)
    }

    /// Reads an answer to its end, and closes the socket.
    package static func answer(_ raw: Int32) throws -> (status: Int, head: String, body: String) {
        let answer = String(decoding: TestPeer(raw).readAll(), as: UTF8.self)
        let end = try require(answer.range(of: "\r\n\r\n"))
        let head = String(answer[..<end.lowerBound])
        let status = try require(Int(head.dropFirst("HTTP/1.1 ".count).prefix(3)))
        return (status, head, String(answer[end.upperBound...]))
    }
}
