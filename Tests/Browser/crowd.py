"""Many at once: those who are slow or stuck keep nobody waiting."""

import resource
import select
import socket
import time

from place import demand

CONNECTIONS, STUCK, TURNS = 1000, 200, 5
SMALL, LARGE = 4096, 4 << 20
# What the others may wait at most: for a single answer, beside all that the stuck ones do.
SECONDS = 1.0


def checks(suite):
    suite.check(
        "crowd", f"Of {CONNECTIONS} connections {STUCK} are slow or stuck: the others are served within a second.",
        crowd)


def crowd(suite):
    _, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    demand(hard > CONNECTIONS + 100, f"only {hard} files may be open here; {CONNECTIONS + 100} are needed")
    resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
    store = suite.store()
    store.add("v1", {"index.html": "the page", "small.js": b"s" * SMALL, "large.bin": b"l" * LARGE}, activate=True)
    with store.serve() as server:
        stuck = [Stuck(server.port, number) for number in range(STUCK)]
        others = [socket.create_connection(("127.0.0.1", server.port)) for _ in range(CONNECTIONS - STUCK)]
        waits = []
        for turn in range(TURNS):
            for number, other in enumerate(others):
                if number % 20 == 0:
                    for each in stuck[number // 20 % 10::10]:
                        each.drip()
                began = time.monotonic()
                answer(other, server.port)
                waits.append(time.monotonic() - began)
        waits.sort()
        suite.say(f"{len(waits)} answers: median {waits[len(waits) // 2] * 1e3:.2f} ms, "
                  f"longest {waits[-1] * 1e3:.2f} ms")
        demand(waits[-1] <= SECONDS, f"an answer took {waits[-1]:.2f} s beside {STUCK} stuck connections")
        for each in others + [each.socket for each in stuck]:
            each.close()


def answer(connection, port):
    """One request on a connection that stays open."""
    connection.sendall(b"GET /small.js HTTP/1.1\r\nHost: localhost:%d\r\n\r\n" % port)
    received = b""
    while len(received.partition(b"\r\n\r\n")[2]) < SMALL:
        more = connection.recv(65536)
        demand(more, "the server closed a connection that had asked for a file")
        received += more
        demand(received.startswith(b"HTTP/1.1 200 "), f"not an answer with the file: {received[:60]!r}")


class Stuck:
    """A client that says nothing, drips its head, its body, or what it reads; or reads nothing at all."""

    kinds = ("silent", "head", "body", "reader", "deaf")

    def __init__(self, port, number):
        self.kind = self.kinds[number % len(self.kinds)]
        self.socket = socket.socket()
        if self.kind in ("reader", "deaf"):
            self.socket.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
        self.socket.connect(("127.0.0.1", port))
        host = b"Host: localhost:%d\r\n" % port
        opening = {
            "silent": b"",
            "head": b"GET /small.js HTTP/1.1\r\n" + host + b"X-Slow: ",
            "body": b"POST /small.js HTTP/1.1\r\n" + host + b"Content-Length: 1000\r\n\r\n",
            "reader": b"GET /large.bin HTTP/1.1\r\n" + host + b"\r\n",
            "deaf": b"GET /large.bin HTTP/1.1\r\n" + host + b"\r\n",
        }[self.kind]
        self.socket.sendall(opening)

    def drip(self):
        """One byte more, if the server still has this client."""
        try:
            if self.kind in ("head", "body"):
                self.socket.send(b"x")
            elif self.kind == "reader" and select.select([self.socket], [], [], 0)[0]:
                self.socket.recv(64)
        except OSError:
            pass  # The server may end whom it has waited for long enough.
