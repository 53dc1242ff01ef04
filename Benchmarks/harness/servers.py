"""The servers under test: started, looked at from outside, stopped."""

import glob
import grp
import http.client
import os
import pwd
import re
import shutil
import signal
import socket
import subprocess
import time
from pathlib import Path

from .stopwatch import BenchmarkError

START_SECONDS = 20
NGINX = "nginx"
WORKER_CONNECTIONS = 4096
LOGGED_SECONDS = 0.2  # nginx writes its line after the client has the last byte

# What an administrator writes who wants nginx to serve static files fast: no log, no look at the disk
# for a minute, heads and files sent together.
NGINX_CONFIGURATION = """\
{user}worker_processes {workers}; worker_rlimit_nofile {files}; daemon off; pid {root}/pid;
error_log /dev/null crit;
events {{ worker_connections {connections}; use epoll; multi_accept on; }}
http {{
 types {{ text/javascript js; text/css css; text/html html; image/png png; image/svg+xml svg;
   application/json json map; font/woff2 woff2; }}
 default_type application/octet-stream; charset_types text/javascript; index index.html;
 sendfile on; tcp_nopush on; tcp_nodelay on; access_log off; etag on; server_tokens off;
 keepalive_requests 1000000000; keepalive_timeout 65;
 open_file_cache max=20000 inactive=60s; open_file_cache_valid 60s; open_file_cache_min_uses 1;
 client_body_temp_path {root}/body; proxy_temp_path {root}/proxy; fastcgi_temp_path {root}/fastcgi;
 uwsgi_temp_path {root}/uwsgi; scgi_temp_path {root}/scgi;
 {upstream}
 server {{ listen 127.0.0.1:{port} backlog=1024; root {tree}; {location} }}
}}
"""


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


class Server:
    """A server process and its children."""

    name = ""

    def __init__(self, command: list, port: int, log: Path, cpus: set[int] | None):
        self.command, self.port, self.log, self.cpus = [str(word) for word in command], port, log, cpus
        self.pid = 0

    def spawn(self) -> float:
        """Starts the process; returns the moment before."""
        program = shutil.which(self.command[0]) or self.command[0]
        flags = os.O_WRONLY | os.O_CREAT | os.O_TRUNC
        actions = [(os.POSIX_SPAWN_OPEN, 0, "/dev/null", os.O_RDONLY, 0),
                   (os.POSIX_SPAWN_OPEN, 1, "/dev/null", os.O_WRONLY, 0),
                   (os.POSIX_SPAWN_OPEN, 2, str(self.log), flags, 0o600)]
        begin = time.perf_counter()
        self.pid = os.posix_spawn(program, self.command, os.environ, file_actions=actions)
        return begin

    def start(self) -> "Server":
        self.spawn()
        self.connect().close()
        self.pin()
        return self

    def connect(self) -> socket.socket:
        """A connection, as soon as there is one."""
        end = time.monotonic() + START_SECONDS
        while time.monotonic() < end:
            connection = socket.socket()
            try:
                connection.connect(("127.0.0.1", self.port))
                connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
                return connection
            except ConnectionRefusedError:
                connection.close()
            if os.waitpid(self.pid, os.WNOHANG)[0] != 0:
                self.pid = 0
                break
            time.sleep(0.0001)
        raise BenchmarkError(f"{self.name} does not listen: {_last_line(self.log)}")

    def pin(self) -> None:
        """Keeps all its threads, also of children, on its processors."""
        if self.cpus is None:
            return
        for pid in self.pids():
            for task in os.listdir(f"/proc/{pid}/task"):
                os.sched_setaffinity(int(task), self.cpus)

    def pids(self) -> list[int]:
        found = [self.pid]
        for path in glob.glob(f"/proc/{self.pid}/task/*/children"):
            found += map(int, Path(path).read_text().split())
        return found

    def cpu(self) -> float:
        """Seconds that all its threads have run, to the nanosecond."""
        total = 0
        for pid in self.pids():
            for path in glob.glob(f"/proc/{pid}/task/*/schedstat"):
                total += int(Path(path).read_text().split()[0])
        return total / 1e9

    def memory(self) -> tuple[int, int]:
        """PSS and RSS in bytes, summed over the processes."""
        pss = rss = 0
        for pid in self.pids():
            for line in Path(f"/proc/{pid}/smaps_rollup").read_text().splitlines():
                name, *value = line.split()
                if name == "Pss:":
                    pss += int(value[0]) * 1024
                elif name == "Rss:":
                    rss += int(value[0]) * 1024
        return pss, rss

    def get(self, path: str, fields: dict[str, str] | None = None) -> tuple[int, dict[str, str], bytes]:
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=20)
        try:
            connection.request("GET", path, headers=fields or {})
            answer = connection.getresponse()
            return answer.status, {k.lower(): v for k, v in answer.getheaders()}, answer.read()
        except OSError as error:
            raise BenchmarkError(f"{self.name}: GET {path}: {error}") from error
        finally:
            connection.close()

    def stop(self) -> None:
        if self.pid == 0:
            return
        os.kill(self.pid, signal.SIGTERM)
        end = time.monotonic() + 5
        while os.waitpid(self.pid, os.WNOHANG)[0] == 0:
            if time.monotonic() > end:
                os.kill(self.pid, signal.SIGKILL)
                os.waitpid(self.pid, 0)
                break
            time.sleep(0.001)
        self.pid = 0

    def __enter__(self) -> "Server":
        try:
            return self.start()
        except BaseException:
            self.stop()
            raise

    def __exit__(self, *_) -> None:
        self.stop()


class CastreeServer(Server):
    name = "castree"

    def __init__(self, program: Path, store: Path, work: Path, *options, workers: int = 1,
                 cpus: set[int] | None = None):
        port = free_port()
        workers_option = ["--workers", workers] if workers > 1 else []
        super().__init__([program, "--store", store, "serve", "--port", port, *workers_option, *options],
                         port, work / f"castree-{port}.log", cpus)


class EchoServer(Server):
    """A program that takes a port: the bridge's echo, or the plain C one."""

    def __init__(self, name: str, program: Path, work: Path, *arguments, cpus: set[int] | None = None):
        self.name = name
        port = free_port()
        super().__init__([program, *arguments, port], port, work / f"{name}-{port}.log", cpus)


class NginxServer(Server):
    name = "nginx"

    def __init__(self, tree: Path, work: Path, *, workers: int = 1, cpus: set[int] | None = None,
                 upstream: int | None = None):
        port = free_port()
        root = work / f"nginx-{port}"
        root.mkdir()
        to = f"upstream behind {{ server 127.0.0.1:{upstream}; keepalive 64; }}" if upstream else ""
        location = ('location /api { proxy_pass http://behind; proxy_http_version 1.1; '
                    'proxy_set_header Connection ""; }') if upstream else ""
        configuration = root / "nginx.conf"
        # The worker as whoever measures: it must reach a work directory that nobody else may enter.
        user = f"user {pwd.getpwuid(0).pw_name} {grp.getgrgid(0).gr_name}; " if os.geteuid() == 0 else ""
        configuration.write_text(NGINX_CONFIGURATION.format(
            user=user, workers=workers, files=min(65536, os_file_limit()), connections=WORKER_CONNECTIONS, root=root,
            tree=tree, port=port, upstream=to, location=location))
        super().__init__([NGINX, "-e", "/dev/null", "-p", root, "-c", configuration], port,
                         work / f"nginx-{port}.log", cpus)


class PullServer(NginxServer):
    """nginx that also writes down how many bytes of content each answer had."""

    def __init__(self, tree: Path, work: Path):
        super().__init__(tree, work)
        self.url = f"http://127.0.0.1:{self.port}"
        root = work / f"nginx-{self.port}"
        self.sent = root / "sent"
        configuration = root / "nginx.conf"
        logged = f"log_format sent '$body_bytes_sent'; access_log {self.sent} sent; gzip_static on;"
        text = configuration.read_text().replace("access_log off;", logged)
        # Every file is asked for a few times only; kept open, all of them are more than many systems allow.
        text = re.sub(r"open_file_cache max=.*;", "open_file_cache off;", text)
        configuration.write_text(text)
        self.begin = 0

    def mark(self) -> None:
        time.sleep(LOGGED_SECONDS)
        self.begin = self.sent.stat().st_size if self.sent.exists() else 0

    def bytes_sent(self) -> int:
        """Bytes of content sent since the mark."""
        time.sleep(LOGGED_SECONDS)
        with self.sent.open() as file:
            file.seek(self.begin)
            return sum(map(int, file))


def os_file_limit() -> int:
    import resource
    return resource.getrlimit(resource.RLIMIT_NOFILE)[1]


def _last_line(log: Path) -> str:
    lines = log.read_text(errors="replace").strip().splitlines() if log.exists() else []
    return lines[-1] if lines else "no message"
