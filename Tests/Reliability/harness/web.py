"""A plain web server over a directory, for pulls by HTTP: files, their length, an entity tag, and what is left of them."""

import hashlib
import http.server
import os
import re
import threading

TAKEN = {}  # directory and process to URL


def address(directory):
    """The URL of a directory; its server runs as long as this process."""
    key = (os.getpid(), os.path.abspath(directory))
    if key not in TAKEN:
        server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), _handler_of(key[1]))
        server.daemon_threads = True
        threading.Thread(target=server.serve_forever, daemon=True).start()
        TAKEN[key] = f"http://127.0.0.1:{server.server_address[1]}"
    return TAKEN[key]


def _handler_of(directory):
    class Handler(http.server.BaseHTTPRequestHandler):
        """RFC 9110: GET and HEAD, one open range, If-Range by the entity tag."""

        protocol_version = "HTTP/1.1"
        wbufsize = -1  # head and body in one piece
        disable_nagle_algorithm = True

        def log_message(self, *_):
            pass

        def handle(self):
            try:
                super().handle()
            except OSError:  # the client was killed
                self.close_connection = True

        def do_HEAD(self):
            self.do_GET()

        def do_GET(self):
            path = os.path.normpath(os.path.join(directory, self.path.split("?")[0].lstrip("/")))
            if not path.startswith(directory + os.sep) or not os.path.isfile(path):
                self.send_response(404)
                self.send_header("Content-Length", "0")
                self.end_headers()
                return
            with open(path, "rb") as file:
                content = file.read()
            tag = f'"{hashlib.sha256(content).hexdigest()[:16]}"'
            wanted = re.fullmatch(r"bytes=(\d+)-", self.headers.get("Range", ""))
            begin = int(wanted.group(1)) if wanted and self.headers.get("If-Range", tag) == tag else 0
            if 0 < begin < len(content):
                self.send_response(206)
                self.send_header("Content-Range", f"bytes {begin}-{len(content) - 1}/{len(content)}")
            else:
                begin = 0
                self.send_response(200)
            self.send_header("Content-Length", str(len(content) - begin))
            self.send_header("ETag", tag)
            self.end_headers()
            if self.command == "GET":
                self.wfile.write(content[begin:])

    return Handler
