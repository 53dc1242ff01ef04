"""The clients: wrk for load, and small ones of our own for the rest. All use one connection or keep-alive."""

import base64
import os
import re
import socket
import statistics
import struct
import subprocess
import time
from dataclasses import dataclass
from pathlib import Path

from .servers import Server
from .stopwatch import BenchmarkError

CONNECTIONS = 64

# Requests to many files in random order, made before the time runs.
RANDOM_ORDER = """\
local requests = {}
init = function(arguments)
  math.randomseed(tonumber(arguments[2]))
  for path in io.lines(arguments[1]) do requests[#requests + 1] = wrk.format("GET", path) end
end
request = function() return requests[math.random(#requests)] end
"""


@dataclass
class Slice:
    """What a server did in one slice of load."""
    requests: int
    cpu: float

    @property
    def cost(self) -> float:
        """CPU seconds for 100,000 requests."""
        return self.cpu / self.requests * 1e5


class Load:
    """wrk: some seconds of requests on 64 connections that are kept."""

    def __init__(self, work: Path, cpus: set[int] | None):
        self.cpus = cpus
        self.script = work / "random-order.lua"
        self.script.write_text(RANDOM_ORDER)

    def run(self, server: Server, path: str, seconds: int, fields: dict[str, str] | None = None,
            paths: Path | None = None, seed: int = 0) -> Slice:
        command = ["wrk", "-t1", f"-c{CONNECTIONS}", f"-d{seconds}s"]
        for name, value in (fields or {}).items():
            command += ["-H", f"{name}: {value}"]
        command += ["-s", str(self.script)] if paths else []
        command += [f"http://127.0.0.1:{server.port}{path}"]
        command += ["--", str(paths), str(seed)] if paths else []
        pin = None if self.cpus is None else lambda: os.sched_setaffinity(0, self.cpus)
        before = server.cpu()
        done = subprocess.run(command, capture_output=True, text=True, preexec_fn=pin)
        cpu = server.cpu() - before
        counted = re.search(r"(\d+) requests in", done.stdout)
        if done.returncode != 0 or not counted or int(counted[1]) == 0:
            raise BenchmarkError(f"wrk against {server.name}: {(done.stderr or done.stdout).strip()[-200:]}")
        wrong = re.search(r"(Non-2xx.*|Socket errors.*)", done.stdout)
        # A time-out is the client's, who shares its processor with others.
        if wrong and not re.search(r"connect 0, read 0, write 0", wrong[1]):
            raise BenchmarkError(f"{server.name}: {wrong[1]}")
        return Slice(int(counted[1]), cpu)


def first_byte(server: Server, path: str) -> float:
    """Seconds from the start of the process to the first byte of an answer; the server is stopped."""
    begin = server.spawn()
    try:
        with server.connect() as connection:
            connection.settimeout(20)
            connection.sendall(_request(server, path))
            answer = connection.recv(65536)
            seconds = time.perf_counter() - begin
        if not answer.startswith(b"HTTP/1.1 200 "):
            raise BenchmarkError(f"{server.name} answered {answer[:30]!r}")
        return seconds
    finally:
        server.stop()


def fetch_all(server: Server, paths: list[str], connections: int) -> list[socket.socket]:
    """Fetches every path once, over many connections in turn, and leaves them open."""
    open_ones = [server.connect() for _ in range(connections)]
    buffer = bytearray(1 << 20)
    for number, path in enumerate(paths):
        connection = open_ones[number % connections]
        connection.settimeout(20)
        connection.sendall(_request(server, path))
        head = b""
        while b"\r\n\r\n" not in head:
            piece = connection.recv(65536)
            if not piece:
                raise BenchmarkError(f"{server.name} closed the connection: GET {path}")
            head += piece
        end = head.index(b"\r\n\r\n") + 4
        length = re.search(rb"content-length: (\d+)", head[:end].lower())
        if not head.startswith(b"HTTP/1.1 200 ") or not length:
            raise BenchmarkError(f"{server.name}: GET {path}: {head[:40]!r}")
        left = int(length[1]) - (len(head) - end)
        while left > 0:
            count = connection.recv_into(buffer, min(left, len(buffer)))
            if count == 0:
                raise BenchmarkError(f"{server.name} cut GET {path}")
            left -= count
    return open_ones


def _request(server: Server, path: str) -> bytes:
    return f"GET {path} HTTP/1.1\r\nHost: 127.0.0.1:{server.port}\r\n\r\n".encode()


class Talk:
    """A WebSocket that sends text and waits for what comes back."""

    def __init__(self, server: Server, path: str):
        self.socket = server.connect()
        self.socket.settimeout(20)
        self.received = b""
        host = f"127.0.0.1:{server.port}"
        key = base64.b64encode(os.urandom(16)).decode()
        self.socket.sendall((f"GET {path} HTTP/1.1\r\nHost: {host}\r\nOrigin: http://{host}\r\n"
                             "Upgrade: websocket\r\nConnection: Upgrade\r\nSec-WebSocket-Version: 13\r\n"
                             f"Sec-WebSocket-Key: {key}\r\n\r\n").encode())
        while b"\r\n\r\n" not in self.received:
            self._more()
        head, self.received = self.received.split(b"\r\n\r\n", 1)
        if b" 101 " not in head.splitlines()[0]:
            raise BenchmarkError(f"{server.name} does not upgrade: {head[:60]!r}")

    def send(self, text: bytes) -> None:
        """One masked text frame of less than 64 KB."""
        length = bytes([0x80 | len(text)]) if len(text) < 126 else b"\xfe" + struct.pack(">H", len(text))
        mask = os.urandom(4)
        wide = mask * (len(text) // 4 + 1)
        masked = (int.from_bytes(text, "big") ^ int.from_bytes(wide[:len(text)], "big")).to_bytes(
            len(text), "big")
        self.socket.sendall(b"\x81" + length + mask + masked)

    def receive(self) -> bytes:
        """The payload of the next text frame; pings and the like are passed over."""
        while True:
            while len(self.received) < 2:
                self._more()
            kind, length, start = self.received[0] & 15, self.received[1] & 127, 2
            if length == 126:
                while len(self.received) < 4:
                    self._more()
                length, start = struct.unpack(">H", self.received[2:4])[0], 4
            while len(self.received) < start + length:
                self._more()
            payload, self.received = self.received[start:start + length], self.received[start + length:]
            if kind == 8:
                raise BenchmarkError(f"the WebSocket was closed: {payload[2:]!r}")
            if kind == 1:
                return payload

    def _more(self) -> None:
        piece = self.socket.recv(65536)
        if not piece:
            raise BenchmarkError("the WebSocket ended")
        self.received += piece

    def close(self) -> None:
        self.socket.close()


def round_trips(talk: Talk, messages: int, is_bridge: bool, payload: bytes) -> float:
    """Median seconds from sending a message to its echo, one after another.

    Both servers get the same bytes: frames of the bridge. The plain one sends them back as they are.
    """
    if is_bridge:
        talk.send(b"H 1 -")
        if not talk.receive().startswith(b"W 1 "):
            raise BenchmarkError("the bridge does not welcome")
    times, heard = [], 0
    for number in range(1, messages + 1):
        frame = b"M %d %d\n%b" % (number, heard, payload)
        begin = time.perf_counter()
        talk.send(frame)
        answer = talk.receive()
        while not answer.startswith(b"M "):
            answer = talk.receive()
        times.append(time.perf_counter() - begin)
        head, body = answer.split(b"\n", 1)
        if body != payload:
            raise BenchmarkError("another message came back")
        heard = int(head.split()[1])
    return statistics.median(times)
