import StorageTestSupport

/// A plain web server over a directory, with ranges, that notes what it is asked for; for those who ask as S3 has it, its
/// first directories are buckets that anybody may read.
final class WebOrigin {
    /// Its root, without a slash behind it.
    let url: String
    private let log: URL
    private let server: OtherServer

    /// Starts it; it ends with its last owner.
    ///
    /// - Parameter environment: `AUTHORIZATION`: the values of that field with which it answers, with bars between them;
    ///   `BUSY`: a file; while it is there, paths with its text in them are answered with 503;
    ///   `ECHO`: `redirect` or `channel`: it repeats there, to whoever may come in, what he has shown;
    ///   `LEADS`: where it sends those who ask for objects; the requests have a note of the field.
    init(_ directory: URL, environment: [String: String] = [:]) throws {
        log = directory.deletingLastPathComponent()
            .appending(path: ".requests-\(UUID().uuidString)")
        server = try OtherServer(
            python: Self.script, [directory.path, log.path], environment: environment)
        url =
            "http://127.0.0.1:\(try require(server.ready.first, "python3 is needed for this test"))"
    }

    deinit { stop() }

    /// Ends it: connections are refused from now on.
    func stop() {
        server.stop()
        try? FileManager.default.removeItem(at: log)
    }

    /// Lets it answer nobody from now on, until it continues.
    func pause() { server.signal(SIGSTOP) }

    func goOn() { server.signal(SIGCONT) }

    /// The requests so far: path, and `Range` where there was one.
    func requests() throws -> [String] {
        guard let text = try? String(contentsOf: log, encoding: .utf8) else { return [] }
        return text.split(separator: "\n").map(String.init)
    }

    private static let script = """
        import base64, http.server, os, sys, urllib.parse

        class Handler(http.server.SimpleHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do_GET(self):
                asked = self.headers.get("Range")
                who = self.headers.get("Authorization")
                wanted = os.environ.get("AUTHORIZATION")
                leads = os.environ.get("LEADS")
                with open(sys.argv[2], "a") as log:
                    note = " Authorization" if who else ""
                    log.write(self.path + (" " + asked if asked else "") + note + "\\n")
                if wanted and who not in wanted.split("|"):
                    return self.send_error(401)
                echo = os.environ.get("ECHO")
                shown = who.split(" ")[1] if who else ""
                if who and who.startswith("Basic") and echo != "redirect":
                    shown = base64.b64decode(shown).decode().split(":", 1)[1]
                if echo == "redirect":
                    self.send_response(302)
                    self.send_header("Location", "http://127.0.0.1:9/" + shown)
                    self.send_header("Content-Length", "0")
                    return self.end_headers()
                busy = os.environ.get("BUSY")
                if busy and os.path.exists(busy) and open(busy).read() in self.path:
                    self.send_response(503)
                    self.send_header("Retry-After", "100")
                    self.send_header("Content-Length", "0")
                    return self.end_headers()
                if leads and "/objects/" in self.path:
                    self.send_response(302)
                    self.send_header("Location", leads + self.path)
                    self.send_header("Content-Length", "0")
                    return self.end_headers()
                place, _, query = self.path.partition("?")
                if "list-type=2" in query:
                    return self.list(place.strip("/"), urllib.parse.parse_qs(query))
                path = self.translate_path(self.path)
                if self.path.endswith("/") and os.path.isdir(path):
                    path = os.path.join(path, "index.html")
                if not os.path.isfile(path):
                    return self.send_error(404)
                with open(path, "rb") as file:
                    body = file.read()
                if echo == "channel" and "/channels/" in self.path:
                    body = body.replace(b'"channel":"stable"', b'"channel":"' + shown.encode() + b'"')
                tag, total, status = '"%d"' % hash(body), len(body), 200
                if asked and self.headers.get("If-Range", tag) == tag:
                    start = int(asked.split("=")[1].split("-")[0])
                    body, status = body[start:], 206
                self.send_response(status)
                if status == 206:
                    self.send_header(
                        "Content-Range", "bytes %d-%d/%d" % (start, total - 1, total))
                self.send_header("Content-Length", str(len(body)))
                self.send_header("ETag", tag)
                kinds = {".json": "application/json", ".html": "text/html"}
                kind = kinds.get(os.path.splitext(path)[1], "text/plain")
                self.send_header("Content-Type", kind)
                self.end_headers()
                try:
                    self.wfile.write(body)
                except OSError:
                    self.close_connection = True

            def list(self, bucket, asked):
                root = os.path.join(self.directory, bucket)
                after = asked.get("continuation-token", asked.get("start-after", [""]))[0]
                count = int(asked["max-keys"][0])
                files = {os.path.relpath(os.path.join(at, name), root): os.path.join(at, name)
                         for at, _, names in os.walk(root) for name in names}
                keys = [key for key in sorted(files) if "/.publish/" not in key
                        and key.startswith(asked["prefix"][0]) and key > after]
                body = "<ListBucketResult>" + "".join(
                    "<Contents><Key>%s</Key><Size>%d</Size><ETag>x</ETag>"
                    "<LastModified>2026-01-01T00:00:00.000Z</LastModified></Contents>"
                    % (key, os.path.getsize(files[key])) for key in keys[:count])
                if len(keys) > count:
                    body += "<IsTruncated>true</IsTruncated>"
                    body += "<NextContinuationToken>%s</NextContinuationToken>" % keys[count - 1]
                body += "</ListBucketResult>"
                self.send_response(200)
                self.send_header("Content-Length", str(len(body)))
                self.end_headers()
                self.wfile.write(body.encode())

            def log_message(self, *arguments):
                pass

        class Server(http.server.ThreadingHTTPServer):
            def handle_error(self, *arguments):
                pass  # Tests kill clients in the middle of an answer.

        handler = lambda *a, **k: Handler(*a, directory=sys.argv[1], **k)
        server = Server(("127.0.0.1", 0), handler)
        print(server.server_address[1], flush=True)
        server.serve_forever()
        """
}
