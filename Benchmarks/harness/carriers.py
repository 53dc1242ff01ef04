"""Those who carry a release over HTTP in requests of their own: each publishes to a directory behind nginx and fetches
from there, and what nginx wrote down is counted: bytes of bodies, and requests."""

import grp
import os
import pwd
import shutil
import time
from dataclasses import dataclass
from pathlib import Path

from .pairs import Release
from .programs import Castree, demand
from .servers import NGINX, Server, free_port
from .stopwatch import Stopwatch

LOGGED_SECONDS = 0.2  # nginx writes its line after the client has the last byte

# The locations of docs/origin-format.md, and those of packs and deliveries; ostree, casync and zsync have /others.
CONFIGURATION = """\
{user}worker_processes 1; daemon off; pid {root}/pid; error_log /dev/null crit;
events {{ worker_connections 1024; }}
http {{
 log_format sent '$status $body_bytes_sent $request_uri'; access_log {root}/sent sent;
 sendfile on; tcp_nopush on; server_tokens off; keepalive_requests 1000000; default_type application/octet-stream;
 client_body_temp_path {root}/body; proxy_temp_path {root}/proxy; fastcgi_temp_path {root}/fastcgi;
 uwsgi_temp_path {root}/uwsgi; scgi_temp_path {root}/scgi;
 server {{
  listen 127.0.0.1:{port}; root {origin};
  location /objects/    {{ types {{}} default_type application/octet-stream;
                          add_header Cache-Control "public, max-age=31536000, immutable"; }}
  location /packs/      {{ types {{}} default_type application/octet-stream;
                          add_header Cache-Control "public, max-age=31536000, immutable"; }}
  location /deliveries/ {{ types {{}} default_type application/json;
                          add_header Cache-Control "public, max-age=31536000, immutable"; }}
  location /manifests/  {{ types {{}} default_type application/json; gzip_types application/json;
                          add_header Cache-Control "public, max-age=31536000, immutable"; }}
  location /channels    {{ types {{}} default_type application/json; add_header Cache-Control "no-cache"; }}
  location /others/     {{ alias {others}/; }}
  location /            {{ return 404; }}
 }}
}}
"""


@dataclass
class Cost:
    """What came over the wire for one release. `logged`: counted by nginx, else sizes of files."""
    bytes: int
    requests: int
    logged: bool = True


class OriginServer(Server):
    """nginx over an origin of castree's, as docs/origin-format.md has it, and over a directory for the others."""
    name = "nginx"

    def __init__(self, origin: Path, others: Path, work: Path):
        port = free_port()
        root = work / f"nginx-{port}"
        root.mkdir()
        # The worker as whoever measures: it must reach a work directory that nobody else may enter.
        user = f"user {pwd.getpwuid(0).pw_name} {grp.getgrgid(0).gr_name}; " if os.geteuid() == 0 else ""
        configuration = root / "nginx.conf"
        configuration.write_text(CONFIGURATION.format(user=user, root=root, port=port, origin=origin, others=others))
        super().__init__([NGINX, "-e", "/dev/null", "-p", root, "-c", configuration], port,
                         work / f"nginx-{port}.log", None)
        self.sent, self.begin = root / "sent", 0
        self.url = f"http://127.0.0.1:{port}"

    def mark(self) -> None:
        time.sleep(LOGGED_SECONDS)
        self.begin = self.sent.stat().st_size if self.sent.exists() else 0

    def cost(self) -> Cost:
        """What was sent since the mark."""
        time.sleep(LOGGED_SECONDS)
        with self.sent.open() as file:
            file.seek(self.begin)
            sizes = [int(line.split(" ", 2)[1]) for line in file]
        return Cost(sum(sizes), len(sizes))


@dataclass
class Carrier:
    """One way to publish releases below `others` (castree: in the origin) and to fetch them to `place`."""
    stopwatch: Stopwatch
    server: OriginServer
    others: Path
    place: Path

    needs = ""

    def missing(self) -> str:
        """Why it cannot be measured, or the empty string."""
        return "" if not self.needs or shutil.which(self.needs) else f"{self.needs} is not installed"

    def run(self, *command) -> str:
        return self.stopwatch.run([str(word) for word in command])[1]

    def publish(self, release: Release, before: Release | None) -> None:
        raise NotImplementedError

    def fetch(self, release: Release, before: Release | None) -> Path:
        """Brings the release to the device and returns the directory where its files stand."""
        raise NotImplementedError

    def deliver(self, release: Release, before: Release | None) -> Cost:
        self.publish(release, before)
        self.server.mark()
        tree = self.fetch(release, before)
        cost = self.server.cost()
        difference = release.differs_from(tree)
        demand(difference is None, f"{type(self).__name__} brought another release: {difference}")
        return cost


@dataclass
class CastreeDevice(Carrier):
    """A device; what it fetches was published before, for all devices."""
    castree: Castree = None
    options: tuple[str, ...] = ()

    def publish(self, release, before):
        pass

    def fetch(self, release, before):
        store = self.place / "store"
        if not before:
            self.castree.init(store)
        _, done = self.castree.call(store, "pull", self.server.url, *self.options)
        demand(not done.get("unchanged"), "pull found nothing new")
        return self.castree.tree(store, release.version)


@dataclass
class OstreeCarrier(Carrier):
    """An archive repository, and for an update a static delta. ostree 2022.7 asks for single objects while the delta is
    under way (its issue 2680), so the delta alone is told too: what it would be without that."""
    needs = "ostree"

    def publish(self, release, before):
        archive = self.others / "ostree"
        if not before:
            self.run("ostree", f"--repo={archive}", "init", "--mode=archive")
        self._archive("commit", "--branch=app", f"--subject={release.version}", release.root)
        if before:
            self._archive("static-delta", "generate", "--from=app^", "--to=app")
        self._archive("summary", "--update")

    def fetch(self, release, before):
        repository, tree = self.place / "ostree", self.place / f"ostree-{release.version}"
        ours = f"--repo={repository}"
        if not before:
            self.run("ostree", ours, "init", "--mode=bare-user-only")
            self.run("ostree", ours, "remote", "add", "--no-gpg-verify", "origin", f"{self.server.url}/others/ostree")
        self.run("ostree", ours, "pull", *(["--require-static-deltas"] if before else []), "origin", "app")
        self.run("ostree", ours, "checkout", "--user-mode", "origin:app", tree)
        return tree

    def delta(self) -> Cost:
        """The static delta alone, its parts and what describes them."""
        sizes = [path.stat().st_size for path in (self.others / "ostree" / "deltas").rglob("*") if path.is_file()]
        return Cost(sum(sizes), len(sizes), False)

    def _archive(self, *arguments) -> None:
        self.run("ostree", f"--repo={self.others / 'ostree'}", *arguments)


@dataclass
class CasyncCarrier(Carrier):
    """Chunks of some 64 KiB; an update takes what it can from the tree that the device has."""
    needs = "casync"

    def publish(self, release, before):
        self.run("casync", "make", f"--store={self.others / 'casync.castr'}",
                 self.others / f"{release.version}.caidx", release.root)

    def fetch(self, release, before):
        tree = self.place / f"casync-{release.version}"
        seed = [f"--seed={self.place / f'casync-{before.version}'}"] if before else []
        self.run("casync", "extract", f"--store={self.server.url}/others/casync.castr", *seed,
                 f"{self.server.url}/others/{release.version}.caidx", tree)
        return tree


@dataclass
class ZsyncCarrier(Carrier):
    """A tar of the release; an update compares it with the tar that the device has (rsync's way). With -z it looks into
    the compressed tar, which sends a third of what it sends without."""
    needs = "zsync"

    def publish(self, release, before):
        tar = self.others / f"{release.version}.tar"
        self._pack(release, tar)
        self.run("sh", "-c", f"cd {self.others} && exec zsyncmake -z -u {tar.name}.gz -o {tar.name}.zsync {tar.name}")

    def fetch(self, release, before):
        tar, tree = self.place / f"zsync-{release.version}.tar", self.place / f"zsync-{release.version}"
        have = ["-i", self.place / f"zsync-{before.version}.tar"] if before else []
        self.run("zsync", "-q", *have, "-o", tar, f"{self.server.url}/others/{release.version}.tar.zsync")
        tree.mkdir()
        self.run("tar", "-xf", tar, "-C", tree)
        return tree

    def start_with(self, release: Release) -> None:
        """The device has the first release, however it came there."""
        self._pack(release, self.place / f"zsync-{release.version}.tar")

    def _pack(self, release: Release, tar: Path) -> None:
        self.run("tar", "--sort=name", "--owner=0", "--group=0", "-cf", tar, "-C", release.root, ".")
