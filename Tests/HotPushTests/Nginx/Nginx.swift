import StorageTestSupport

/// A real nginx over a directory: plain on one port, TLS with HTTP/2 on another.
///
/// What `put` wrote is served at its path; text is compressed for whoever accepts that; `/to-plain/…`
/// redirects from TLS to the plain port, `/to-tls/…` the other way. The TLS certificate signs itself:
/// ``certificate`` is its file. Or it serves what a test says.
final class Nginx {
    /// Where the program stands; nil if it is not installed.
    static let program = find(
        "nginx", ["/usr/sbin", "/usr/bin", "/opt/homebrew/bin", "/usr/local/bin"])
    private static let openssl = find(
        "openssl", ["/usr/bin", "/opt/homebrew/bin", "/usr/local/bin"])
    /// For `.enabled(if:)`: what TLS needs.
    static var hasTLS: Bool { program != nil && openssl != nil }
    static var isInstalled: Bool { program != nil }

    let directory = TemporaryDirectory()
    private let process = Process()
    private(set) var port: UInt16 = 0
    private(set) var tlsPort: UInt16 = 0

    var url: String { "http://127.0.0.1:\(port)" }
    var tlsURL: String { "https://localhost:\(tlsPort)" }
    var certificate: String { directory.appending("cert.pem") }

    /// Starts it and waits until it accepts connections.
    ///
    /// - Parameter served: the directives of the plain server, in place of its own.
    init(tls: Bool = false, serving served: String? = nil) throws {
        guard let program = Self.program else { throw POSIXError(.ENOENT) }
        for name in ["root", "logs"] {
            try Damage.makeDirectory(directory.appending(name))
        }
        if tls { try makeCertificate() }
        (port, tlsPort) = (try Self.freePort(), try Self.freePort())
        try Data(configuration(tls: tls, served).utf8).write(
            to: URL(filePath: directory.appending("nginx.conf")))
        process.executableURL = URL(filePath: program)
        process.arguments = [
            "-p", directory.path, "-c", "nginx.conf", "-e", directory.appending("logs/error.log"),
        ]
        process.standardError = FileHandle.nullDevice
        process.standardOutput = FileHandle.nullDevice
        try process.run()
        let deadline = ContinuousClock.now + .seconds(60)
        while !OriginSocket.isListening(port) {
            guard process.isRunning, ContinuousClock.now < deadline else {
                throw POSIXError(.ECONNREFUSED, userInfo: ["log": errors])
            }
            usleep(5000)
        }
    }

    deinit { stop() }

    /// Ends it: its log is whole then.
    ///
    /// A lone process would keep the blocked signals of the thread that starts it and never hear this
    /// one; a master and its worker unblock them.
    func stop() {
        guard process.isRunning else { return }
        process.terminate()
        process.waitUntilExit()
    }

    func put(_ path: String, _ bytes: [UInt8]) throws {
        try Data(bytes).write(to: URL(filePath: directory.appending("root/" + path)))
    }

    /// What it served, a line each: protocol, status, number of the connection, target.
    func log() throws -> [(version: String, status: Int, connection: String, target: String)] {
        stop()
        let text = try String(
            contentsOfFile: directory.appending("logs/access.log"), encoding: .utf8)
        return text.split(separator: "\n").map { line in
            let words = line.split(separator: " ").map(String.init)
            return (words[0], Int(words[1]) ?? 0, words[2], words[3])
        }
    }

    private var errors: String {
        (try? String(contentsOfFile: directory.appending("logs/error.log"), encoding: .utf8)) ?? ""
    }

    private func makeCertificate() throws {
        guard let openssl = Self.openssl else { throw POSIXError(.ENOENT) }
        let made = try OtherProgram(
            openssl, "req", "-x509", "-newkey", "ec", "-pkeyopt",
            "ec_paramgen_curve:prime256v1", "-nodes", "-days", "30", "-subj", "/CN=localhost",
            "-addext", "subjectAltName=DNS:localhost,IP:127.0.0.1", "-keyout",
            directory.appending("key.pem"), "-out", certificate)
        guard made.status == 0 else { throw POSIXError(.EIO) }
    }

    private func configuration(tls: Bool, _ served: String?) -> String {
        let inner =
            served ?? """
                root \(directory.path)/root;
                location /to-plain/ { rewrite ^/to-plain/(.*)$ http://127.0.0.1:\(port)/$1 redirect; }
                location /to-tls/ { rewrite ^/to-tls/(.*)$ https://localhost:\(tlsPort)/$1 redirect; }
                """
        let secure = """
            server {
                listen 127.0.0.1:\(tlsPort) ssl http2;
                ssl_certificate \(directory.path)/cert.pem;
                ssl_certificate_key \(directory.path)/key.pem;
                \(inner)
            }
            """
        let temporary = ["client_body", "proxy", "fastcgi", "uwsgi", "scgi"].map {
            "\($0)_temp_path \(directory.path)/\($0);"
        }
        return """
            daemon off;
            worker_processes 1;
            \(geteuid() == 0 ? "user root;" : "")
            pid \(directory.path)/pid;
            events { worker_connections 256; }
            http {
                log_format short '$server_protocol $status $connection $request_uri';
                access_log \(directory.path)/logs/access.log short;
                default_type application/octet-stream;
                types { text/plain txt; }
                gzip on;
                gzip_types text/plain;
                gzip_min_length 1;
                \(temporary.joined(separator: "\n"))
                server {
                    listen 127.0.0.1:\(port);
                    \(inner)
                }
                \(tls ? secure : "")
            }
            """
    }

    /// A port that nobody has now; below those of outgoing connections, as in ``FaultyOrigin``.
    private static func freePort() throws -> UInt16 {
        for _ in 0..<1000 {
            let candidate = UInt16.random(in: 20_000..<32_768)
            if let listener = OriginSocket.listen(candidate) {
                OriginSocket.close(listener)
                return candidate
            }
        }
        throw POSIXError(.EADDRINUSE)
    }

    private static func find(_ name: String, _ directories: [String]) -> String? {
        directories.map { $0 + "/" + name }.first {
            FileManager.default.isExecutableFile(atPath: $0)
        }
    }
}
