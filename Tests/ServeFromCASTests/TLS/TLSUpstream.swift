import StorageTestSupport

/// An https server of Python's ssl, which does by the last part of the path what its script says.
final class TLSUpstream {
    let port: UInt16
    /// The proxies before it; they run as long as it does.
    var servers: [TestServer] = []
    private let server: OtherServer

    enum Manner: String {
        case usual
        /// Speaks TLS 1.1 and nothing newer.
        case old
        /// Takes connections and says nothing.
        case silent
        /// Closes the connection when the handshake has begun.
        case closing
        /// Speaks HTTP without TLS.
        case plain
    }

    /// - Parameter certificate: its name among ``Certificates``.
    init(_ certificate: String = "good", _ manner: Manner = .usual) throws {
        let files = try Certificates.shared.get()
        server = try OtherServer(
            python: Self.script,
            [files.path("\(certificate).pem"), files.path("\(certificate).key"), manner.rawValue])
        port = try require(
            server.ready.first.flatMap(UInt16.init), "python3 is needed for this test")
    }

    private static let script = """
        import socket, ssl, sys, threading, warnings
        warnings.simplefilter("ignore")
        chain, key, manner = sys.argv[1:]
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(chain, key)
        context.set_alpn_protocols(["h2", "http/1.1"])
        if manner == "old":
            context.set_ciphers("ALL:@SECLEVEL=0")
            context.minimum_version = context.maximum_version = ssl.TLSVersion.TLSv1_1
        names, count = {}, [0]
        def named(connection, name, context):
            names[connection] = name
        context.sni_callback = named
        def serve(raw):
            count[0] += 1
            if manner == "silent":
                threading.Event().wait()
            if manner == "closing":
                raw.recv(16)
                return raw.close()
            if manner == "plain":
                raw.recv(65536)
                raw.sendall(b"HTTP/1.1 400 Bad Request\\r\\nContent-Length: 0\\r\\n\\r\\n")
                return raw.close()
            try:
                connection = context.wrap_socket(raw, server_side=True)
            except OSError:
                return raw.close()
            stream = connection.makefile("rb")
            while True:
                first = stream.readline()
                if not first:
                    return connection.close()
                length = 0
                while True:
                    field = stream.readline()
                    if field in (b"\\r\\n", b""):
                        break
                    if field.lower().startswith(b"content-length:"):
                        length = int(field[15:])
                body = stream.read(length)
                what = first.split()[1].decode().rsplit("/", 1)[1]
                def say(head, body=b""):
                    connection.sendall(b"HTTP/1.1 " + head + b"\\r\\n\\r\\n" + body)
                def whole(body):
                    say(b"200 OK\\r\\nContent-Length: %d" % len(body), body)
                if what == "hello":
                    whole(("%s %s %s %d" % (names.get(connection), connection.selected_alpn_protocol(),
                                            connection.version(), count[0])).encode())
                elif what == "echo":
                    whole(body)
                elif what == "end":
                    say(b"200 OK", b"x" * 100000)
                    connection.unwrap()
                    return raw.close()
                elif what == "cut":
                    say(b"200 OK", b"x" * 100000)
                    stream.close()
                    return connection.close()
                elif what == "short":
                    say(b"200 OK\\r\\nContent-Length: 100", b"x" * 50)
                    connection.unwrap()
                    return raw.close()
                elif what == "upgrade":
                    say(b"101 Switching Protocols\\r\\nConnection: Upgrade\\r\\nUpgrade: echo")
                    while True:
                        line = stream.readline()
                        if not line:
                            connection.unwrap()
                            return raw.close()
                        connection.sendall(line)
        listener = socket.create_server(("127.0.0.1", 0), backlog=64)
        print(listener.getsockname()[1], flush=True)
        while True:
            accepted, _ = listener.accept()
            threading.Thread(target=serve, args=(accepted,), daemon=True).start()
        """
}
