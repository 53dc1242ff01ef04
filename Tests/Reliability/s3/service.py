"""The server under test and the proxy before it: killed, stopped for a while, made to fail."""

import collections
import os
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time

from s3sig import S3

HERE = os.path.dirname(os.path.abspath(__file__))
PARTS = ("rgw", "osd")
LIMIT = 60  # seconds until a part that was started again must answer


class Service:
    """The server that `start` has started, as its s3.env tells."""

    def __init__(self):
        e = os.environ
        self.directory, self.endpoint = e["S3_DIRECTORY"], e["S3_ENDPOINT"]
        self.keys = (e["S3_ACCESS_KEY"], e["S3_SECRET_KEY"])
        self.port = int(self.endpoint.rsplit(":", 1)[1])
        self.lock = threading.Lock()  # one part is down at a time
        self.kills = collections.Counter()

    def client(self):
        return S3(self.endpoint, *self.keys)

    def _tool(self, name, *words):
        subprocess.run([os.path.join(HERE, name), "--dir", self.directory, *words], check=True,
                       stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)

    def make_bucket(self, name, rights="get"):
        subprocess.run([os.path.join(HERE, "bucket.py"), name, rights], check=True, stdout=subprocess.DEVNULL)

    def kill(self, part):
        """Kills a part by SIGKILL and starts it again; returns when it answers."""
        with self.lock:
            self._tool("stop", "--only", part, "--kill")
            self._tool("start", "--port", str(self.port), "--only", part)
            self.kills[part] += 1
            self.wait()

    def freeze(self, part="osd", seconds=7):
        """Stops a part for a while: nobody's connection breaks, and nothing is answered."""
        with self.lock:
            with open(os.path.join(self.directory, "pid", part), encoding="ascii") as file:
                process = int(file.read())
            os.kill(process, signal.SIGSTOP)
            try:
                time.sleep(seconds)
            finally:
                os.kill(process, signal.SIGCONT)
            self.kills["frozen " + part] += 1
            self.wait()

    def wait(self):
        """Until a request that reaches the OSD is answered."""
        end = time.monotonic() + LIMIT
        while time.monotonic() < end:
            try:
                if S3(self.endpoint, *self.keys, timeout=5).req("GET", "/alive/x")[0] in (200, 403, 404):
                    return
            except (OSError, ValueError):
                pass
            except Exception:  # http.client's own, for what is half an answer
                pass
            time.sleep(0.1)
        raise SystemExit("the server does not come back")


class Disk:
    """A directory in place of a server: nothing there is killed but those who use it."""

    endpoint, keys = "http://none.invalid", ("", "")

    def __init__(self, directory):
        self.directory = directory
        self.kills = collections.Counter()


class Proxy:
    """s3fault.py before the server, its rules, and what it has done."""

    def __init__(self, service, rules="", seed=1, tell=False):
        self.rules = tempfile.NamedTemporaryFile("w", prefix="castree-s3-", suffix=".rules", delete=False)
        self.rules.close()
        self.set(rules)
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            self.port = free.getsockname()[1]
        environment = {**os.environ, "S3FAULT_SEED": str(seed), "S3FAULT_PARENT": str(os.getpid()),
                       **({"S3FAULT_TELL": "1"} if tell else {})}
        self.process = subprocess.Popen(
            [sys.executable, os.path.join(HERE, "s3fault.py"), str(self.port), str(service.port), self.rules.name],
            stdout=subprocess.PIPE, text=True, env=environment)
        self.endpoint = "http://127.0.0.1:%d" % self.port
        self.done = collections.Counter()  # action → how often
        self.on_request = lambda count: None  # called with each request that passes, if they are told
        self.thread = threading.Thread(target=self._listen, daemon=True)
        self.thread.start()
        for _ in range(100):
            with socket.socket() as tried:
                if tried.connect_ex(("127.0.0.1", self.port)) == 0:
                    break
            time.sleep(0.05)

    def _listen(self):
        for line in self.process.stdout:
            action = line.split()[1].split("=")[0]
            self.done[action] += 1
            if action == "pass":
                self.on_request(self.done["pass"])

    def set(self, rules):
        """Other rules, from the next request on."""
        beside = self.rules.name + ".new"
        with open(beside, "w", encoding="ascii") as file:
            file.write(rules)
        os.replace(beside, self.rules.name)

    @property
    def faults(self):
        return sum(count for action, count in self.done.items() if action not in ("pass", "late-applied"))

    def close(self):
        self.process.terminate()
        self.process.wait()
        self.thread.join(5)
        os.unlink(self.rules.name)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()
