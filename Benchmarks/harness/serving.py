"""The rows of the server: what is served how, and how much is allowed against nginx."""

from dataclasses import dataclass, field
from pathlib import Path
from statistics import median

from .clients import Load, Talk, fetch_all, first_byte, round_trips
from .content import Content
from .programs import Castree
from .servers import CastreeServer, EchoServer, NginxServer, Server
from .stopwatch import BenchmarkError

FILES, CONTENT_BYTES = 10_000, 300_000_000
CONNECTIONS_FOR_MEMORY = 1000
MESSAGES = 100
PUBLISHED_MILLISECONDS = 48.09  # LinkedIn's iPad app, 2012
MIB = 1 << 20

# What a browser of today sends for a style, a script or an image of a page, besides cookie and Referer.
BROWSER = {
    "User-Agent": "Mozilla/5.0 (X11; Linux x86_64) AppleWebKit/537.36 (KHTML, like Gecko) "
                  "Chrome/131.0.0.0 Safari/537.36",
    "Accept": "*/*", "Accept-Language": "en-US,en;q=0.9",
    "Sec-Fetch-Site": "same-origin", "Sec-Fetch-Mode": "no-cors", "Sec-Fetch-Dest": "script",
    "sec-ch-ua": '"Chromium";v="131", "Not_A Brand";v="24"', "sec-ch-ua-mobile": "?0",
    "sec-ch-ua-platform": '"Linux"',
}


@dataclass
class ServeRow:
    """One comparison, a value of each side in every round; the median of the rounds' ratios counts."""
    id: str
    work: str
    unit: str
    limit: float | None  # None: told, not judged
    peer: str = "nginx"
    ours: list[float] = field(default_factory=list)
    theirs: list[float] = field(default_factory=list)
    problem: str = ""

    @property
    def ratios(self) -> list[float]:
        return [a / b for a, b in zip(self.ours, self.theirs)]

    @property
    def value(self) -> float | None:
        return median(self.ratios) if self.ratios else None

    @property
    def verdict(self) -> str:
        if self.problem:
            return self.problem
        if self.value is None:
            return "ERROR: no run"
        if self.limit is None:
            return "told"
        return "PASS" if self.value <= self.limit else "FAIL"


CPU, TIME, MEMORY = "CPU s/100k", "ms", "MiB"


def all_rows() -> list[ServeRow]:
    return [
        ServeRow("serve-1k", "1 KB, keep-alive, 64 connections", CPU, 0.65),
        ServeRow("serve-16k", "16 KB, the same", CPU, 0.8),
        ServeRow("serve-1m", "1 MB, the same", CPU, 0.8),
        ServeRow("serve-304", "1 KB that the client has (If-None-Match)", CPU, 0.85),
        ServeRow("serve-page", "1 KB of a page: cookie, Referer, a browser's fields", CPU, None),
        ServeRow("serve-mix", "10,000 files in random order", CPU, 0.75),
        ServeRow("mix-raw", "10,000 files in random order", CPU, 1.4, "raw/serve.c, the same calls"),
        ServeRow("raw-mix", "the same, raw/serve.c in place of castree", CPU, None),
        ServeRow("serve-two", "1 KB, two workers", CPU, 0.7),
        ServeRow("serve-rss", "PSS after 10,000 files to 1,000 connections", MEMORY, 2.0),
        ServeRow("serve-start", "process start to first byte, 10,000 files", TIME, 2.0),
        ServeRow("proxy-1k", "1 KB from a plain upstream", CPU, 1.0, "nginx proxy_pass"),
        ServeRow("bridge-echo", "bridge round trip, median of 100 messages", TIME, 2.0, "raw/echo.c"),
        ServeRow("bridge-rtt", "the same", TIME, 0.01, "48.09 ms, published"),
    ]


@dataclass
class ServeBench:
    work: Path
    castree: Castree
    echo: Path | None  # the bridge's echo
    raw: dict[str, str]  # the plain C programs
    rows: dict[str, ServeRow]
    rounds: int
    seconds: int
    seed: int
    server_cpus: set[int] | None
    client_cpus: set[int] | None
    random: object
    say: object
    store: Path = Path()
    tree: Path = Path()
    paths: list[str] = field(default_factory=list)
    small: str = "/sizes/1k.js"

    def wants(self, *names: str) -> list[ServeRow]:
        return [self.rows[name] for name in names if name in self.rows]

    def prepare(self) -> None:
        """One store of 10,000 files, more of the sizes asked for, and a page; and its tree for nginx."""
        self.say("content")
        root = self.work / "app"
        root.mkdir()
        content = Content(root, FILES, CONTENT_BYTES, self.seed)
        (root / "sizes").mkdir()
        for name, size in (("1k", 1 << 10), ("16k", 16 << 10), ("1m", 1 << 20)):
            (root / "sizes" / f"{name}.js").write_bytes(self.random.randbytes(size))
        (root / "index.html").write_bytes(b"<!doctype html><title>app</title><script src=sizes/1k.js></script>\n")
        self.store = self.work / "store"
        self.castree.init(self.store)
        self.castree.call(self.store, "add", root, "--version", "1")
        self.castree.call(self.store, "activate", "1")
        self.tree = self.store / "versions" / "1"
        self.paths = sorted("/" + entry.path for entry in content.entries)

    def ours(self, *options, workers: int = 1, cpus=None) -> CastreeServer:
        return CastreeServer(self.castree.program, self.store, self.work, *options, workers=workers, cpus=cpus)

    def nginx(self, **options) -> NginxServer:
        return NginxServer(self.tree, self.work, **options)

    def in_turn(self, pairs: list, *rows: ServeRow) -> None:
        """Every round each row's two sides, all in random order. `pairs`: (row, is ours, measure)."""
        for number in range(self.rounds):
            order = list(pairs)
            self.random.shuffle(order)
            values = {(row.id, is_ours): measure(number) for row, is_ours, measure in order}
            for row in rows:
                row.ours.append(values[row.id, True])
                row.theirs.append(values[row.id, False])

    # MARK: Static files

    def static(self) -> None:
        rows = self.wants("serve-1k", "serve-16k", "serve-1m", "serve-304", "serve-page", "serve-mix")
        load = Load(self.work, self.client_cpus)
        listed = self.work / "paths"
        listed.write_text("".join(path + "\n" for path in self.paths))
        with self.ours(cpus=self.server_cpus) as ours, self.nginx(cpus=self.server_cpus) as nginx:
            self._demand_same(ours, nginx)
            pairs = []
            for row in rows:
                for server in (ours, nginx):
                    path, fields, many = self._asked(row.id, server)
                    load.run(server, path, 1, fields, listed if many else None, self.seed)

                    def measure(number, server=server, path=path, fields=fields, many=many):
                        slice = load.run(server, path, self.seconds, fields, listed if many else None,
                                         self.seed + number)
                        return slice.cost
                    pairs.append((row, server is ours, measure))
            # Every file once, so that what each keeps is filled before the time runs.
            if any(row.id == "serve-mix" for row in rows):
                for server in (ours, nginx):
                    for connection in fetch_all(server, self.paths, 1):
                        connection.close()
            self.in_turn(pairs, *rows)

    def by_calls(self) -> None:
        """What the calls of a file that is not in memory cost by themselves, against ours and against nginx."""
        rows = self.wants("mix-raw", "raw-mix")
        if "serve" not in self.raw:
            for row in rows:
                row.problem = "not measured: raw/serve.c (cc)"
            return
        load = Load(self.work, self.client_cpus)
        listed = self.work / "paths"
        listed.write_text("".join(path + "\n" for path in self.paths))
        with self.ours(cpus=self.server_cpus) as ours, self.nginx(cpus=self.server_cpus) as nginx, \
                EchoServer("raw", Path(self.raw["serve"]), self.work, self.tree, cpus=self.server_cpus) as raw:
            for server in (ours, nginx, raw):
                for connection in fetch_all(server, self.paths, 1):
                    connection.close()
            self._demand_same(ours, raw, self.random.sample(self.paths, 64))
            for number in range(self.rounds):
                servers = [ours, nginx, raw]
                self.random.shuffle(servers)
                cost = {server: load.run(server, self.small, self.seconds, {}, listed, self.seed + number).cost
                        for server in servers}
                for row in rows:
                    row.ours.append(cost[ours if row.id == "mix-raw" else raw])
                    row.theirs.append(cost[raw if row.id == "mix-raw" else nginx])

    def _asked(self, id: str, server: Server) -> tuple[str, dict[str, str], bool]:
        if id in ("serve-16k", "serve-1m"):
            return f"/sizes/{id[6:]}.js", {}, False
        if id == "serve-304":
            _, fields, _ = server.get(self.small)
            known = {"If-None-Match": fields["etag"]}
            status, _, body = server.get(self.small, known)
            if (status, body) != (304, b""):
                raise BenchmarkError(f"{server.name} answers {status} to its own entity tag")
            return self.small, known, False
        if id == "serve-page":
            navigation = {**BROWSER, "Accept": "text/html", "Sec-Fetch-Mode": "navigate",
                          "Sec-Fetch-Dest": "document", "Sec-Fetch-Site": "none"}
            _, fields, _ = server.get("/", navigation)
            # nginx sets none; it gets one as long.
            cookie = fields.get("set-cookie", "castree_page_12345=0123456789abcdef0123456789abcdef.1")
            return self.small, {**BROWSER, "Cookie": cookie.split(";")[0],
                                "Referer": f"http://127.0.0.1:{server.port}/"}, False
        return self.small, {}, id == "serve-mix"

    def _demand_same(self, ours: Server, theirs: Server, samples: list[str] | None = None) -> None:
        samples = samples or [
            *(f"/sizes/{size}.js" for size in ("1k", "16k", "1m")), "/", *self.random.sample(self.paths, 64)]
        for path in samples:
            first, second = ours.get(path), theirs.get(path)
            file = self.tree / (path[1:] or "index.html")
            if not (first[0] == second[0] == 200 and first[2] == second[2] == file.read_bytes()):
                raise BenchmarkError(f"GET {path}: {first[0]} and {len(first[2])} bytes, nginx {second[0]} and "
                                     f"{len(second[2])}, the file has {file.stat().st_size}")

    def two_workers(self) -> None:
        [row] = self.wants("serve-two")
        load = Load(self.work, None)  # the workers and the client share the processors
        with self.ours(workers=2) as ours, self.nginx(workers=2) as nginx:
            self._demand_same(ours, nginx)
            self.in_turn([(row, server is ours, lambda _, s=server: load.run(s, self.small, self.seconds).cost)
                          for server in (ours, nginx)], row)

    # MARK: Memory, start

    def memory(self) -> None:
        [row] = self.wants("serve-rss")

        def measure(make):
            with make() as server:
                order = list(self.paths)
                self.random.shuffle(order)
                connections = fetch_all(server, order, CONNECTIONS_FOR_MEMORY)
                pss, rss = server.memory()
                for connection in connections:
                    connection.close()
                self.say(f"{server.name}: PSS {pss / MIB:.1f}, RSS {rss / MIB:.1f} MiB")
                return pss / MIB
        for _ in range(min(3, self.rounds)):
            row.ours.append(measure(self.ours))
            row.theirs.append(measure(self.nginx))

    def start(self) -> None:
        [row] = self.wants("serve-start")
        for make in (self.ours, self.nginx):
            first_byte(make(), self.small)  # the files' pages are in memory for both
        self.in_turn([(row, make == self.ours, lambda _, make=make: first_byte(make(), self.small) * 1e3)
                      for make in (self.ours, self.nginx)], row)

    # MARK: Bridge, proxy

    def bridge(self) -> None:
        rows = self.wants("bridge-echo", "bridge-rtt")
        if not self.echo or "echo" not in self.raw:
            for row in rows:
                row.problem = "not measured: needs the product Echo" if not self.echo else \
                    "not measured: raw/echo.c (cc, libcrypto)"
            return
        payload = b"x" * 128
        with EchoServer("bridge", self.echo, self.work, self.store) as ours, \
                EchoServer("echo", Path(self.raw["echo"]), self.work) as raw:
            def measure(server, is_bridge):
                talk = Talk(server, "/_castree/bridge")
                try:
                    return round_trips(talk, MESSAGES, is_bridge, payload) * 1e3
                finally:
                    talk.close()
            measure(ours, True), measure(raw, False)
            for _ in range(self.rounds):
                sides = [True, False]
                self.random.shuffle(sides)
                took = {is_bridge: measure(ours if is_bridge else raw, is_bridge) for is_bridge in sides}
                for row in rows:
                    row.ours.append(took[True])
                    row.theirs.append(took[False] if row.id == "bridge-echo" else PUBLISHED_MILLISECONDS)

    def proxy(self) -> None:
        [row] = self.wants("proxy-1k")
        api = self.work / "upstream" / "api"
        api.mkdir(parents=True)
        (api / "1k.js").write_bytes((self.tree / "sizes" / "1k.js").read_bytes())
        load = Load(self.work, self.client_cpus)
        with NginxServer(api.parent, self.work, cpus=self.client_cpus) as upstream:
            ours = self.ours("--proxy", f"/api=http://127.0.0.1:{upstream.port}", cpus=self.server_cpus)
            try:
                ours.start()
            except BenchmarkError as error:
                row.problem = f"not measured: {error}"
                return
            try:
                with self.nginx(cpus=self.server_cpus, upstream=upstream.port) as nginx:
                    for server in (ours, nginx):
                        status, _, body = server.get("/api/1k.js")
                        if server is ours and status == 404:
                            row.problem = "not measured: this build's proxy is not there yet"
                            return
                        if status != 200 or body != (api / "1k.js").read_bytes():
                            raise BenchmarkError(f"{server.name} proxies {status} and {len(body)} bytes")
                    self.in_turn([(row, server is ours,
                                   lambda _, s=server: load.run(s, "/api/1k.js", self.seconds).cost)
                                  for server in (ours, nginx)], row)
            finally:
                ours.stop()


def all_experiments() -> list[tuple[str, tuple[str, ...], str]]:
    """Title, rows, method."""
    return [
        ("static files", ("serve-1k", "serve-16k", "serve-1m", "serve-304", "serve-page", "serve-mix"), "static"),
        ("static files by calls alone", ("mix-raw", "raw-mix"), "by_calls"),
        ("two workers", ("serve-two",), "two_workers"),
        ("memory", ("serve-rss",), "memory"),
        ("start", ("serve-start",), "start"),
        ("bridge", ("bridge-echo", "bridge-rtt"), "bridge"),
        ("proxy", ("proxy-1k",), "proxy"),
    ]
