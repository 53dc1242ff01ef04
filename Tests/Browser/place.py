"""Stores, servers and connections between them, all in one temporary directory."""

import json
import os
import random
import re
import selectors
import signal
import socket
import subprocess
import threading
import time
from pathlib import Path


class Broken(Exception):
    """A promise that was not kept; the message is for people."""


class Unable(Exception):
    """The check cannot be made here; the message says what is missing."""


def demand(condition, message):
    if not condition:
        raise Broken(message)


class Store:
    """A store and the program that works on it."""

    def __init__(self, castree, directory, echo=None):
        self.castree, self.path, self.echo = str(castree), Path(directory), echo
        self("init")

    def __call__(self, *arguments):
        done = subprocess.run(
            [self.castree, "--store", str(self.path), *arguments], capture_output=True, text=True,
            timeout=120)
        demand(
            done.returncode == 0,
            f"castree {' '.join(arguments)} ended with {done.returncode}: {done.stderr.strip()}")
        return done.stdout

    def add(self, version, files, activate=False):
        """Adds a version of the given files: path to text or bytes."""
        source = self.path.parent / f"{self.path.name}-source-{version}"
        for path, content in files.items():
            file = source / path
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_bytes(content if isinstance(content, bytes) else content.encode())
        self("add", "--version", version, str(source))
        if activate:
            self("activate", version)
        return source

    def object_file(self, address):
        return self.path / "objects" / address[:2] / address[2:]

    def serve(self, *options):
        if "--app-id" not in options:  # a port of its own, so that several suites may run at once
            options += ("--app-id", str(self.path), "--next-port")
        return Server([self.castree, "--store", str(self.path), "serve", *options])

    def serve_echo(self, *options):
        """The host of Tests/Browser/BridgeEcho, which answers the bridge's messages."""
        return Server([str(self.echo), str(self.path), *options])


class Server:
    """A server process, ready when made; what it says on stderr is kept."""

    def __init__(self, command):
        self.command = command
        self.process = subprocess.Popen(
            command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
            text=True)
        self.notices = []
        self.reader = threading.Thread(target=self.listen, daemon=True)
        self.reader.start()
        line = self.process.stdout.readline()
        found = re.search(r"https?://localhost:(\d+)/\S*", line)
        if not found:
            self.process.kill()
            raise Broken(f"no ready line but {line!r}, and: {' '.join(self.notices)}")
        self.url, self.port = found.group(0), int(found.group(1))

    def listen(self):
        for line in self.process.stderr:
            self.notices.append(line.rstrip())

    def said(self, text, within=10):
        """Whether a line on stderr has this in it, or will soon."""
        deadline = time.monotonic() + within
        while not any(text in line for line in self.notices):
            if time.monotonic() > deadline:
                return False
            time.sleep(0.02)
        return True

    def stop(self):
        """Ends it as an operator would; returns the exit status."""
        if self.process.poll() is None:
            self.process.send_signal(signal.SIGTERM)
            try:
                self.process.wait(20)
            except subprocess.TimeoutExpired:
                self.process.kill()
                self.process.wait()
                raise Broken("the server had not stopped 20 s after SIGTERM") from None
        return self.process.returncode

    def __enter__(self):
        return self

    def __exit__(self, *_):
        if self.process.poll() is None:
            self.process.kill()
            self.process.wait()


def request(port, target, method="GET", fields=(), host=None, body=b"", address="127.0.0.1"):
    """One request as exactly these bytes; returns status, fields (lower-case names) and body."""
    target = target if isinstance(target, bytes) else target.encode()
    head = b"%s %s HTTP/1.1\r\nHost: %s\r\nConnection: close\r\n" % (
        method.encode(), target, (host or f"localhost:{port}").encode())
    for name, value in fields:
        head += f"{name}: {value}\r\n".encode()
    if body:
        head += b"Content-Length: %d\r\n" % len(body)
    with socket.create_connection((address, port), timeout=60) as stream:
        stream.sendall(head + b"\r\n" + body)
        answer = b""
        while True:
            received = stream.recv(1 << 20)
            if not received:
                break
            answer += received
    head, _, content = answer.partition(b"\r\n\r\n")
    lines = head.decode("latin-1").split("\r\n")
    names = {}
    for line in lines[1:]:
        name, _, value = line.partition(":")
        names[name.lower()] = value.strip()
    return int(lines[0].split(" ")[1]), names, content


class Relay:
    """A TCP relay in front of a server: cuts connections, slows them, refuses upgrades.

    With `refuses_upgrade` it answers every request for a WebSocket with 403, as some proxies do.
    """

    def __init__(self, port, refuses_upgrade=False, rate=None):
        self.upstream, self.refuses_upgrade, self.rate = port, refuses_upgrade, rate
        self.lock, self.pairs = threading.Lock(), set()
        self.cut_count = self.refused_count = self.connection_count = 0
        self.listener = socket.create_server(("127.0.0.1", 0), backlog=128)
        self.port = self.listener.getsockname()[1]
        self.is_open = True
        threading.Thread(target=self.accept, daemon=True).start()

    def accept(self):
        while self.is_open:
            try:
                client, _ = self.listener.accept()
            except OSError:
                return
            try:
                server = socket.create_connection(("127.0.0.1", self.upstream), timeout=10)
            except OSError:
                client.close()
                continue
            pair = (client, server)
            with self.lock:
                self.pairs.add(pair)
                self.connection_count += 1
            threading.Thread(target=self.carry, args=(pair, client, server), daemon=True).start()
            threading.Thread(target=self.carry, args=(pair, server, client), daemon=True).start()

    def carry(self, pair, source, sink):
        try:
            while True:
                received = source.recv(1 << 16)
                if not received:
                    break
                if self.refuses_upgrade and source is pair[0] and re.search(
                        rb"\r\nupgrade: *websocket\r\n", received, re.I):
                    self.refused_count += 1
                    source.sendall(
                        b"HTTP/1.1 403 Forbidden\r\nContent-Length: 0\r\nConnection: close\r\n\r\n")
                    break
                if self.rate:
                    time.sleep(len(received) / self.rate)
                sink.sendall(received)
        except OSError:
            pass
        self.end(pair)

    def end(self, pair, reset=False):
        with self.lock:
            if pair not in self.pairs:
                return False
            self.pairs.discard(pair)
        for each in pair:
            try:
                if reset:  # closed with RST: bytes on the way are lost, too
                    each.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, b"\1\0\0\0\0\0\0\0")
                else:
                    each.shutdown(socket.SHUT_RDWR)
            except OSError:
                pass
            # A thread in recv keeps the file alive: shut down first, so that it wakes.
            try:
                each.shutdown(socket.SHUT_RDWR)
            except OSError:
                pass
            each.close()
        return True

    def cut(self, share=1.0):
        """Cuts some of the connections, half of them with a reset."""
        with self.lock:
            chosen = [pair for pair in self.pairs if random.random() < share]
        for pair in chosen:
            self.cut_count += self.end(pair, reset=random.random() < 0.5)

    def close(self):
        self.is_open = False
        self.listener.close()
        self.cut()


class Repeating:
    """Does something again and again, in a thread, until told to stop."""

    def __init__(self, act, least, most):
        self.act, self.least, self.most = act, least, most
        self.over, self.failure = threading.Event(), None
        self.thread = threading.Thread(target=self.repeat, daemon=True)
        self.thread.start()

    def repeat(self):
        try:
            while not self.over.wait(random.uniform(self.least, self.most)):
                self.act()
        except Exception as error:  # shown by stop(), in the thread that checks
            self.failure = error

    def stop(self):
        self.over.set()
        self.thread.join()
        if self.failure:
            raise self.failure
