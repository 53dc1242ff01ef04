import StorageTestSupport

/// A client of Python's ssl that trusts the tests' authority and takes no ragged end.
enum TLSClient {
    /// Runs lines of Python, indented by nothing, in which `connect(**)`, `fetch` and `port` are at
    /// hand.
    /// - Returns: what they print, line by line.
    static func run(_ port: UInt16, _ lines: String) throws -> [String] {
        let files = try Certificates.shared.get()
        let done = try OtherProgram(
            "python3", "-c", prelude + lines, String(port), files.path("ca.pem"))
        expect(done.status, equals: 0)
        return done.text.split(separator: "\n").map(String.init)
    }

    private static let prelude = """
        import hashlib, socket, ssl, sys, threading, warnings
        warnings.simplefilter("ignore")
        port = int(sys.argv[1])
        def connect(protocols=("h2", "http/1.1"), old=False, buffer=0, name="localhost"):
            context = ssl.create_default_context(cafile=sys.argv[2])
            context.set_alpn_protocols(list(protocols))
            if old:
                context.set_ciphers("ALL:@SECLEVEL=0")
                context.minimum_version = context.maximum_version = ssl.TLSVersion.TLSv1_1
            raw = socket.socket()
            if buffer:
                raw.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, buffer)
            raw.settimeout(120)
            raw.connect(("127.0.0.1", port))
            return context.wrap_socket(raw, server_hostname=name, suppress_ragged_eofs=False)
        def read(connection, size=65536):
            head = b""
            while not head.endswith(b"\\r\\n\\r\\n"):
                head += connection.recv(1)
            length = 0
            for field in head.split(b"\\r\\n"):
                if field.lower().startswith(b"content-length:"):
                    length = int(field[15:])
            body = b""
            while len(body) < length:
                body += connection.recv(min(size, length - len(body)))
            return head.decode(), body
        def ask(path, *fields):
            return ("GET %s HTTP/1.1\\r\\nHost: localhost:%d\\r\\n%s\\r\\n"
                    % (path, port, "".join(f + "\\r\\n" for f in fields))).encode()
        def fetch(connection, path, *fields, size=65536):
            connection.sendall(ask(path, *fields))
            return read(connection, size)
        def sha(body):
            return hashlib.sha256(body).hexdigest()

        """
}
