"""The rows of `castree origin serve`: answers to the clients of five systems, a composed archive, memory, room."""

import hashlib
import http.client
import json
import os
import re
import shutil
import subprocess
from dataclasses import dataclass, field
from pathlib import Path

from .clients import Load, Slice
from .pairs import APPS, NotFetched, unpack
from .programs import Castree
from .servers import NginxServer, Server, free_port
from .serving import MIB, ServeRow
from .stopwatch import BenchmarkError

FILES = 146  # as many as gradio's templates
IMAGE_BYTES, TEXT_BYTES = 260_000, 150_000  # of each, half and half: an archive of some 20 MB
BASE = "https://u.example.org"
CONNECTIONS = 8
ANSWERS_A_SECOND = 1000  # of one processor
P99_MILLISECONDS = 5.0
RSS_MIB = 64.0
PATCHED = ("bokeh", "js/bokeh.min.js")  # an app of two releases, and its largest script

# One request again and again, with fields and a body; after it the 99th percentile on a line of its own.
REQUEST = """\
wrk.method = "{method}"
wrk.body = {body}
{fields}
done = function(summary, latency, requests)
  io.write(string.format("p99 %f ms\\n", latency:percentile(99) / 1000))
end
"""


@dataclass
class Question:
    """What a client of a system asks."""
    system: str
    path: str
    fields: dict[str, str] = field(default_factory=dict)
    body: str = ""
    expected: str = ""  # stands in the answer


NIL = "00000000-0000-0000-0000-000000000000"
QUESTIONS = [
    Question("codepush", "/v0.1/public/codepush/update_check?deployment_key=KEY&app_version=1.0.0&package_hash="
             "&is_companion=&label=&client_unique_id=device", expected='"is_available":true'),
    Question("hot-updater", f"/for/hot-updater/app-version/ios/1.0.0/production/{NIL}/{NIL}",
             {"Hot-Updater-SDK-Version": "0.36.3"}, expected='"UPDATE"'),
    Question("expo", "/for/expo/manifest",
             {"Expo-Protocol-Version": "1", "Expo-Platform": "ios", "Expo-Runtime-Version": "1",
              "Accept": "multipart/mixed"}, expected="launchAsset"),
    Question("capgo", "/for/capgo/updates", {"Content-Type": "application/json"},
             json.dumps({"app_id": "com.example", "device_id": "device", "platform": "ios", "version_name": "builtin",
                         "version_build": "1.0.0", "plugin_version": "8.51.0"}), expected='"url"'),
    Question("chcp", "/for/chcp/stable/chcp.json", expected='"content_url"'),
]
DEPLOYMENTS = {"codepush": "KEY=stable", "hot-updater": "ios/production=stable", "expo": "=expo",
               "capgo": "com.example=stable", "chcp": "stable=stable"}


def all_rows() -> list[ServeRow]:
    systems = [question.system for question in QUESTIONS]
    return [
        *(ServeRow(f"clients-{name}", f"an answer to {name}", "CPU s/100k", 1.0, "1,000 a second") for name in systems),
        *(ServeRow(f"p99-{name}", f"99th percentile on {CONNECTIONS} connections", "ms", 1.0,
                   f"{P99_MILLISECONDS:g} ms") for name in systems),
        ServeRow("clients-archive", "a composed archive of 20 MB, whole", "CPU s/100k", 1.25, "nginx, the same file"),
        ServeRow("clients-rss", "RSS after all that", "MiB", 1.0, f"{RSS_MIB:g} MiB"),
        ServeRow("clients-room", "what enabling a system adds to an origin", "MiB", 0.35, "its objects"),
        ServeRow("clients-patch", f"the patch to {PATCHED[1]}, {PATCHED[0]}, for Expo's clients", "KiB", 0.95, "bsdiff"),
    ]


class OriginServer(Server):
    name = "castree"

    def __init__(self, program: Path, origin: Path, work: Path, cpus: set[int] | None):
        port = free_port()
        super().__init__([program, "origin", "serve", origin, "--listen", f"127.0.0.1:{port}"], port,
                         work / f"origin-{port}.log", cpus)


@dataclass
class ClientsBench:
    work: Path
    castree: Castree
    rows: dict[str, ServeRow]
    rounds: int
    seconds: int
    server_cpus: set[int] | None
    client_cpus: set[int] | None
    random: object
    say: object

    def wants(self, *names: str) -> list[ServeRow]:
        return [self.rows[name] for name in names if name in self.rows]

    def prepare(self) -> None:
        """One store with a release that all five systems can be told of, published for all of them."""
        self.say("content")
        root = self.work / "app"
        self._write(root)
        store, self.origin = self.work / "store", self.work / "origin"
        self.castree.init(store)
        self.castree.call(store, "add", root, "--version", "1.0.0")
        self._run("--store", store, "publish", "1.0.0", self.origin, "--channel", "plain", "--no-packs")
        before = self._taken()
        for system, deployment in DEPLOYMENTS.items():
            self._run("origin", "enable", self.origin, system, "--base-url", BASE, "--deployment", deployment)
        # What Expo's clients must say, the others cannot: a channel of its own.
        for channel, systems, more in [("stable", "codepush,hot-updater,capgo,chcp", ()),
                                       ("expo", "expo", ("--require", "runtimeVersion=1"))]:
            self._run("--store", store, "publish", "1.0.0", self.origin, "--channel", channel, "--for", systems,
                      "--no-packs", *more)
        self.added = self._taken() - before
        self.raw = sum(path.stat().st_size for path in (self.origin / "objects").rglob("*") if path.is_file())

    def _run(self, *words) -> None:
        done = subprocess.run([self.castree.program, *map(str, words)], capture_output=True, text=True)
        if done.returncode != 0:
            raise BenchmarkError(f"castree {' '.join(map(str, words))}: {done.stderr.strip()}")

    def _write(self, root: Path) -> None:
        """Text and what does not get smaller, half and half; the files that each system wants."""
        assets = []
        for number in range(FILES):
            if number % 2:
                content = self.random.randbytes(IMAGE_BYTES)
            else:
                lines = [f"function f{self.random.randrange(50_000)}(){{return {self.random.random()}}}"
                         for _ in range(2000)]
                content = "\n".join(self.random.choices(lines, k=TEXT_BYTES // 48)).encode()
            path = root / "assets" / hashlib.md5(content).hexdigest()
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(content)
            assets.append({"path": f"assets/{path.name}", "ext": "png"})
        for name in ("index.html", "index.ios.bundle", "entry.hbc"):
            (root / name).write_bytes(self.random.randbytes(2000).hex().encode())
        self._export(root, assets)

    def _export(self, root: Path, assets: list) -> None:
        """What `npx expo export` writes beside the files."""
        files = {"bundle": "entry.hbc", "assets": assets}
        (root / "metadata.json").write_text(json.dumps({"version": 0, "bundler": "metro", "fileMetadata": {"ios": files}}))
        (root / "expoConfig.json").write_text(json.dumps({"name": "app", "slug": "app"}))

    def _taken(self) -> int:
        return sum(path.stat().st_size for part in ("deflated", "facts", "for")
                   for path in (self.origin / part).rglob("*") if path.is_file())

    # MARK: Rows

    def answers(self) -> None:
        with OriginServer(self.castree.program, self.origin, self.work, self.server_cpus) as server:
            for question in QUESTIONS:
                self._answers(server, question)
            self._archive(server)
            for row in self.wants("clients-rss"):
                row.ours.append(server.memory()[1] / MIB)
                row.theirs.append(RSS_MIB)
        for row in self.wants("clients-room"):
            row.ours.append(self.added / MIB)
            row.theirs.append(self.raw / MIB)

    def _answers(self, server: Server, question: Question) -> None:
        rate, late = self.wants(f"clients-{question.system}"), self.wants(f"p99-{question.system}")
        if not rate and not late:
            return
        answer = self._ask(server, question)
        if question.expected not in answer:
            raise BenchmarkError(f"{question.system} is answered {answer[:200]}")
        self._load(server, question, 1)
        for _ in range(self.rounds):
            slice, p99 = self._load(server, question, self.seconds)
            for row in rate:
                row.ours.append(slice.cost)
                row.theirs.append(1e5 / ANSWERS_A_SECOND)
            for row in late:
                row.ours.append(p99)
                row.theirs.append(P99_MILLISECONDS)

    def _ask(self, server: Server, question: Question) -> str:
        connection = http.client.HTTPConnection("127.0.0.1", server.port, timeout=20)
        try:
            connection.request("POST" if question.body else "GET", question.path, question.body or None, question.fields)
            return connection.getresponse().read().decode(errors="replace")
        finally:
            connection.close()

    def _load(self, server: Server, question: Question, seconds: int) -> tuple[Slice, float]:
        script = self.work / f"{question.system}.lua"
        script.write_text(REQUEST.format(
            method="POST" if question.body else "GET", body=json.dumps(question.body) if question.body else "nil",
            fields="\n".join(f'wrk.headers["{name}"] = "{value}"' for name, value in question.fields.items())))
        pin = None if self.client_cpus is None else lambda: os.sched_setaffinity(0, self.client_cpus)
        before = server.cpu()
        done = subprocess.run(
            ["wrk", "-t1", f"-c{CONNECTIONS}", f"-d{seconds}s", "--latency", "-s", script,
             f"http://127.0.0.1:{server.port}{question.path}"], capture_output=True, text=True, preexec_fn=pin)
        cpu = server.cpu() - before
        counted = re.search(r"(\d+) requests in", done.stdout)
        p99 = re.search(r"p99 ([\d.]+) ms", done.stdout)
        if done.returncode != 0 or not counted or not p99 or "Non-2xx" in done.stdout:
            raise BenchmarkError(f"wrk for {question.system}: {(done.stderr or done.stdout).strip()[-200:]}")
        return Slice(int(counted[1]), cpu), float(p99[1])

    def _archive(self, server: Server) -> None:
        rows = self.wants("clients-archive")
        if not rows:
            return
        [question] = [each for each in QUESTIONS if each.system == "codepush"]
        url = json.loads(self._ask(server, question))["update_info"]["download_url"]
        path = url.removeprefix(BASE)
        status, _, body = server.get(path)
        if status != 200 or not 15e6 < len(body) < 30e6:
            raise BenchmarkError(f"the archive is answered {status}, {len(body)} bytes")
        tree = self.work / "archives"
        tree.mkdir(exist_ok=True)
        (tree / "release.zip").write_bytes(body)
        load = Load(self.work, self.client_cpus)
        with NginxServer(tree, self.work, cpus=self.server_cpus) as nginx:
            if nginx.get("/release.zip")[2] != body:
                raise BenchmarkError("nginx serves another file")
            sides = [(server, path), (nginx, "/release.zip")]
            for side, target in sides:
                load.run(side, target, 1)
            for _ in range(self.rounds):
                self.random.shuffle(sides)
                for side, target in sides:
                    cost = load.run(side, target, self.seconds).cost
                    for row in rows:
                        (row.ours if side is server else row.theirs).append(cost)

    def patch(self, wheels: Path) -> None:
        """The size of a patch that bspatch applies, against that of bsdiff's."""
        for row in self.wants("clients-patch"):
            name, script = PATCHED
            [app] = [each for each in APPS if each.name == name]
            if not shutil.which("bsdiff"):
                row.problem = "not measured: bsdiff is not installed"
                continue
            try:
                old, new = [unpack(app, version, wheels, self.work).root / script for version in app.versions]
            except NotFetched as error:
                row.problem = f"not measured: {error}"
                continue
            self.say("patch")
            store, origin, theirs, made = (self.work / name for name in ("scripts", "patched", "theirs", "made"))
            self.castree.init(store)
            for version, file in [("1", old), ("2", new)]:
                root = self.work / f"script-{version}"
                root.mkdir()
                shutil.copy(file, root / "entry.hbc")
                self._export(root, [])
                self.castree.call(store, "add", root, "--version", version)
                self._run("--store", store, "publish", version, origin, "--no-packs", "--require", "runtimeVersion=1")
                if version == "1":
                    self._run("origin", "enable", origin, "expo", "--base-url", BASE, "--deployment", "=stable")
            [ours] = (origin / "for" / "patches" / "documents").iterdir()
            subprocess.run(["bspatch", old, made, ours], check=True)
            if made.read_bytes() != new.read_bytes():
                raise BenchmarkError("bspatch makes another file of castree's patch")
            subprocess.run(["bsdiff", old, new, theirs], check=True)
            row.ours.append(ours.stat().st_size / 1024)
            row.theirs.append(theirs.stat().st_size / 1024)
