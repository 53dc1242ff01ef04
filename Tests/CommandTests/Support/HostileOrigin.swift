import StorageTestSupport

/// A server on a plain socket that does what no server should.
final class HostileOrigin {
    /// What it does.
    enum Operation {
        /// Sends 103 (Early Hints) ten times a second, and an answer after a hundred of them.
        case dripHints
        /// Serves a channel whose manifest has so many entries, packed as small as can be.
        case manifest(entries: Int)
        /// Serves an origin's directory, what is below a path ten bytes a second for half a minute.
        case drip(below: String, of: URL)
    }

    /// Its root, without a slash behind it.
    let url: String
    /// How many bytes its manifest has, unpacked and as it is sent.
    let manifestBytes: Int
    let packedBytes: Int
    private let server: OtherServer

    /// Starts it; it ends with its last owner.
    init(_ operation: Operation) throws {
        let arguments =
            switch operation {
            case .dripHints: ["0"]
            case .manifest(let entries): ["\(entries)"]
            case .drip(let path, let directory): ["0", directory.path, path]
            }
        server = try OtherServer(python: Self.script, arguments)
        let numbers = server.ready.compactMap(Int.init)
        try require(numbers.count == 3, "python3 is needed for this test")
        url = "http://127.0.0.1:\(numbers[0])"
        (manifestBytes, packedBytes) = (numbers[1], numbers[2])
    }

    private static let script = """
        import gzip, hashlib, json, os, socket, sys, threading, time

        count = int(sys.argv[1])
        address = "ab" * 32
        files = {}
        if count:
            paths = sorted(b"f%d" % number for number in range(count))
            entry = '{"address":"%s","bytes":1,"path":"%%s"}' % address
            text = '{"castree":1,"createdAt":1,"entries":[%s],"order":1,"version":"1"}' % ",".join(
                entry % path.decode() for path in paths)
            content = hashlib.sha256(b"castree-content 1\\n")
            for path in paths:
                content.update(path + b"\\0-" + bytes.fromhex(address) + b"\\0")
            manifest = text.encode()
            digest = hashlib.sha256(manifest).hexdigest()
            now = int(time.time())
            pointer = {"castreeChannel": 1, "channel": "stable", "createdAt": now,
                "sequence": now, "releases": [{"content": content.hexdigest(),
                "createdAt": now, "manifest": digest, "manifestBytes": len(manifest),
                "sequence": now, "version": "1"}]}
            packed = gzip.compress(manifest, 9)
            files["/channels/stable.json"] = (json.dumps(pointer).encode(), "")
            files["/manifests/%s.json" % digest] = (packed, "Content-Encoding: gzip\\r\\n")

        def serve(connection):
            try:
                while True:
                    head = b""
                    while b"\\r\\n\\r\\n" not in head:
                        more = connection.recv(65536)
                        if not more:
                            return
                        head += more
                    for _ in range(100 if len(sys.argv) == 2 and not count else 0):
                        connection.sendall(
                            b"HTTP/1.1 103 Early Hints\\r\\nLink: </x>; rel=preload\\r\\n\\r\\n")
                        time.sleep(0.1)
                    path = head.split(b" ")[1].decode()
                    if len(sys.argv) > 2 and os.path.isfile(sys.argv[2] + path):
                        body, status = open(sys.argv[2] + path, "rb").read(), "200 OK"
                        field = ""
                    elif path in files:
                        body, field = files[path]
                        status = "200 OK"
                    else:
                        body, field, status = b"", "", "404 Not Found"
                    connection.sendall(("HTTP/1.1 %s\\r\\nContent-Type: application/json\\r\\n"
                        "%sContent-Length: %d\\r\\n\\r\\n" % (status, field, len(body))).encode())
                    if len(sys.argv) > 2 and path.startswith(sys.argv[3]):
                        for place in range(min(300, len(body))):
                            connection.sendall(body[place:place + 1])
                            time.sleep(0.1)
                        body = body[300:]
                    connection.sendall(body)
            except OSError:
                pass

        listener = socket.create_server(("127.0.0.1", 0))
        print(listener.getsockname()[1], len(manifest) if count else 0,
            len(packed) if count else 0, flush=True)
        while True:
            connection = listener.accept()[0]
            threading.Thread(target=serve, args=(connection,), daemon=True).start()
        """
}
