"""The rows of `bucket`: what an origin in a bucket costs, against others that copy a directory there."""

import json
import os
import random
import shutil
import subprocess
import sys
import threading
import time
from dataclasses import dataclass, field
from pathlib import Path

from .comparing import Comparison
from .programs import Castree, demand
from .servers import free_port
from .stopwatch import BenchmarkError, Sample, Stopwatch

S3 = Path(__file__).resolve().parent.parent.parent / "Tests" / "Reliability" / "s3"
sys.path.insert(0, str(S3))
from s3sig import S3 as Client

MIB, GIB = 1 << 20, 1 << 30
SMALLEST, LARGEST = 4096, 6144
FILES_PER_DIRECTORY = 50
CONNECTIONS = 16
LARGE_BYTES = 5 * GIB
LARGE_ROOM = 3 * LARGE_BYTES + 10 * GIB
PUBLISHERS, COMMITS, LOG_SPEED = 8, 50, 40
LOGGED_SECONDS = 0.3  # nginx writes its line after the client has the last byte


def all_rows(files: int) -> list[Comparison]:
    new = max(1, files // 100)
    return [
        Comparison("first-requests", f"first publish of {files:,} files of 4 to 6 KB: requests",
                   "files + files/100 + 14", 1, "requests"),
        Comparison("first-bytes", "the same, bytes sent", "content + manifest + 64 KiB", 1, "B"),
        Comparison("first-time", "the same", "the better of aws s3 sync and rclone", 1),
        Comparison("first-cpu", "the same, CPU", "aws s3 sync", 0.25),
        Comparison("update-requests", f"{new} of {files:,} files new: requests", f"{new} + 15", 1, "requests"),
        Comparison("update-time", "the same", "the better of aws s3 sync and rclone", 0.5),
        Comparison("none-requests", "nothing new: requests", "", 4, "requests"),
        Comparison("resume-requests", "first publish, killed at half and repeated: requests of both", "of one run", 1.1,
                   "requests"),
        Comparison("resume-bytes", "the same, bytes sent", "of one run", 1.1, "B"),
        Comparison("large-rss", "peak memory of publish of an object of 5 GiB", "", 64, "MiB"),
        Comparison("prune-requests", "prune with nothing to do: requests",
                   "keys/1,000 LIST + entries since kept + 20", 1, "requests"),
        Comparison("commits-own", "8 publishers × 50 commits, a channel each", "one log at 40 commits a second", 3),
        Comparison("commits-one", "8 publishers × 50 commits, one channel", "one log at 40 commits a second", 3),
        Comparison("pull-curl", f"pull of {files:,} files into an empty store, durable", "curl --parallel", 1.5),
    ]


def all_experiments() -> list[tuple[str, tuple[str, ...], str, str]]:
    """Title, rows, method, and how long five rounds take on two quiet cores."""
    return [
        ("first publish", ("first-requests", "first-bytes", "first-time", "first-cpu"), "first", "15 minutes"),
        ("one in a hundred new", ("update-requests", "update-time", "none-requests"), "update", "5 minutes"),
        ("killed at half", ("resume-requests", "resume-bytes"), "resume", "6 minutes"),
        ("a large object", ("large-rss",), "large", "4 minutes"),
        ("prune", ("prune-requests",), "prune", "8 minutes"),
        ("many publishers", ("commits-own", "commits-one"), "commits", "4 minutes"),
        ("pull", ("pull-curl",), "pull", "3 minutes"),
    ]


class Gateway:
    """A Ceph RGW of this run, and nginx before it, which counts."""

    def __init__(self, work: Path, say):
        self.work, self.say, self.directory = work, say, work / "s3"
        self.port, self.counting_port = 0, 0
        self.version, self.environment, self.nginx = "", {}, None

    def __enter__(self) -> "Gateway":
        self.port, self.counting_port = random.randint(200, 290) * 100, free_port()
        room = shutil.disk_usage(self.work).free
        bytes_of_disk = str(min(24 * GIB, room // 2) // MIB * MIB)
        self.say("starting a Ceph RGW")
        done = subprocess.run([S3 / "start", "--dir", self.directory, "--port", str(self.port)], capture_output=True,
                              text=True, env={**os.environ, "S3_OSD_BYTES": bytes_of_disk})
        if done.returncode:
            raise BenchmarkError(f"no Ceph RGW could be started: {(done.stderr or done.stdout)[-300:]}")
        told = dict(word.split("=", 1) for word in done.stdout.split() if "=" in word)
        self.keys = (told["S3_ACCESS_KEY"].strip("'"), told["S3_SECRET_KEY"].strip("'"))
        self.environment = {"AWS_ACCESS_KEY_ID": self.keys[0], "AWS_SECRET_ACCESS_KEY": self.keys[1],
                            "AWS_DEFAULT_REGION": "us-east-1", "AWS_EC2_METADATA_DISABLED": "true",
                            "no_proxy": "127.0.0.1"}
        told = subprocess.run(["radosgw", "--version"], capture_output=True, text=True).stdout
        self.version = told.split(" (")[0].strip()
        self._count()
        return self

    @property
    def endpoint(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    @property
    def counting(self) -> str:
        """The same server, where every request is counted."""
        return f"http://127.0.0.1:{self.counting_port}"

    def client(self) -> Client:
        return Client(self.endpoint, *self.keys)

    def bucket(self, name: str) -> str:
        done = subprocess.run([S3 / "bucket.py", name, "get"], capture_output=True, text=True, env={
            **self.environment, "PATH": "/usr/bin:/bin", "S3_ENDPOINT": self.endpoint, "S3_ACCESS_KEY": self.keys[0],
            "S3_SECRET_KEY": self.keys[1]})
        demand(done.returncode == 0, f"no bucket: {done.stdout} {done.stderr}")
        return name

    def _count(self) -> None:
        root = self.work / "counting"
        root.mkdir()
        self.log = root / "log"
        (root / "nginx.conf").write_text(
            f"daemon off; pid {root}/pid; error_log {root}/errors warn; worker_processes 1; events {{ }}\n"
            f"http {{ log_format counted '$request_method $status $http_content_length';\n"
            f" access_log {self.log} counted; client_max_body_size 0; client_body_temp_path {root}/body;\n"
            f" proxy_temp_path {root}/proxy; fastcgi_temp_path {root}/f; uwsgi_temp_path {root}/u;\n"
            f" scgi_temp_path {root}/s;\n"
            f" upstream rgw {{ server 127.0.0.1:{self.port}; keepalive 64; }}\n"
            f" server {{ listen 127.0.0.1:{self.counting_port}; location / {{ proxy_pass http://rgw;\n"
            f"  proxy_http_version 1.1; proxy_set_header Connection ''; proxy_set_header Host $http_host;\n"
            f"  proxy_request_buffering off; proxy_buffering off; }} }} }}\n")
        self.nginx = subprocess.Popen(["nginx", "-c", root / "nginx.conf"], stderr=subprocess.DEVNULL)
        time.sleep(0.5)

    def lines(self) -> int:
        return self.log.read_bytes().count(b"\n") if self.log.exists() else 0

    def counted(self, since: int) -> tuple[int, int, dict[str, int]]:
        """Requests, bytes of the bodies that were sent to the server, requests by method, after a line of the log."""
        time.sleep(LOGGED_SECONDS)
        count, byte_count, methods = 0, 0, {}
        for line in self.log.read_text().splitlines()[since:]:
            method, _, sent = line.split()
            count, byte_count = count + 1, byte_count + (int(sent) if sent.isdigit() else 0)
            methods[method] = methods.get(method, 0) + 1
        return count, byte_count, methods

    def __exit__(self, *_) -> None:
        if self.nginx:
            self.nginx.terminate()
            self.nginx.wait()
        subprocess.run([S3 / "stop", "--dir", self.directory, "--wipe"], stdout=subprocess.DEVNULL)


class Content:
    """A directory of files of about the same size; `change` rewrites one in a hundred."""

    def __init__(self, root: Path, count: int, seed: int, smallest: int = SMALLEST, largest: int = LARGEST):
        self.root, self.count, self.seed, self.range = root, count, seed, (smallest, largest)
        self.byte_count = sum(self._write(number, 0) for number in range(count))

    def _path(self, number: int) -> Path:
        return self.root / f"part-{number // FILES_PER_DIRECTORY:04}" / f"asset-{number:06}.js"

    def _write(self, number: int, turn: int) -> int:
        chosen = random.Random(f"{self.seed}/{number}/{turn}")
        path = self._path(number)
        path.parent.mkdir(parents=True, exist_ok=True)
        return path.write_bytes(chosen.randbytes(chosen.randint(*self.range)))

    def change(self, turn: int) -> int:
        """Rewrites some, for the nth time; returns how many."""
        chosen = random.Random(f"{self.seed}/changed/{turn}").sample(range(self.count), max(1, self.count // 100))
        for number in chosen:
            self._write(number, turn)
        return len(chosen)


@dataclass
class BucketBench:
    work: Path
    stopwatch: Stopwatch
    castree: Castree
    gateway: Gateway
    rows: dict[str, Comparison]
    options: object
    say: object
    made: dict = field(default_factory=dict)

    def wants(self, *names: str) -> list[Comparison]:
        return [self.rows[name] for name in names if name in self.rows]

    def ratio(self, name: str, ours: float, theirs: float) -> None:
        for row in self.wants(name):
            row.ours.append(ours)
            row.theirs.append(theirs)

    def rounds(self):
        for number in range(self.options.rounds):
            self.say(f"round {number + 1} of {self.options.rounds}")
            yield number

    # MARK: What is run

    def content(self) -> tuple[Content, Path]:
        """The usual files, and a store with them as version 0."""
        if "content" not in self.made:
            content, store = Content(self.work / "content", self.options.files, self.options.seed), self.work / "store"
            self.castree.init(store)
            self.castree.call(store, "add", content.root, "--version", "0")
            self.made["content"] = (content, store)
        return self.made["content"]

    def publish(self, store: Path, version: str, place: str, *more, endpoint: str = "") -> tuple[Sample, dict]:
        return self.castree.call(store, "publish", version, f"s3://{place}", "--endpoint",
                                 endpoint or self.gateway.endpoint, *self.castree.without_packs(), *more)

    def aws(self, directory: Path, place: str) -> Sample:
        return self.stopwatch.run(["aws", "--endpoint-url", self.gateway.endpoint, "s3", "sync", "--only-show-errors",
                                   directory, f"s3://{place}"])[0]

    def rclone(self, directory: Path, place: str) -> Sample:
        remote = f":s3,provider=Ceph,env_auth=true,endpoint='{self.gateway.endpoint}':{place}"
        return self.stopwatch.run(["rclone", "copy", "--transfers", "16", directory, remote])[0]

    def in_turn(self, number: int, **deeds) -> dict[str, Sample]:
        """Does all of them in an order drawn for the round."""
        names = list(deeds)
        random.Random(f"{self.options.seed}/{number}").shuffle(names)
        samples = {}
        for name in names:
            self.stopwatch.run(["sync"], told=False)
            samples[name] = deeds[name]()
        return samples

    def compare_time(self, row: str, samples: dict[str, Sample]) -> None:
        better = min(samples["aws"], samples["rclone"], key=lambda sample: sample.wall)
        for wanted in self.wants(row):
            wanted.add(samples["castree"], better)

    # MARK: Experiments

    def first(self) -> None:
        content, store = self.content()
        bucket = self.gateway.bucket("first")
        since = self.gateway.lines()
        self.publish(store, "0", f"{bucket}/counted", endpoint=self.gateway.counting)
        count, byte_count, _ = self.gateway.counted(since)
        manifest = self.manifest_bytes(f"{bucket}/counted")
        self.made["one run"] = (count, byte_count)
        self.ratio("first-requests", count, content.count + content.count // 100 + 14)
        self.ratio("first-bytes", byte_count, content.byte_count + manifest + 65_536)
        if not self.wants("first-time", "first-cpu"):
            return
        for number in self.rounds():
            samples = self.in_turn(
                number, castree=lambda: self.publish(store, "0", f"{bucket}/castree-{number}")[0],
                aws=lambda: self.aws(content.root, f"{bucket}/aws-{number}"),
                rclone=lambda: self.rclone(content.root, f"{bucket}/rclone-{number}"))
            self.compare_time("first-time", samples)
            self.ratio("first-cpu", samples["castree"].cpu, samples["aws"].cpu)

    def pointer(self, place: str) -> dict:
        bucket, _, prefix = place.partition("/")
        return json.loads(self.gateway.client().get(bucket, f"{prefix}/channels/stable.json")[2])

    def manifest_bytes(self, place: str) -> int:
        return self.pointer(place)["releases"][0]["manifestBytes"]

    def update(self) -> None:
        content, store = self.content()
        bucket = self.gateway.bucket("update")
        self.publish(store, "0", f"{bucket}/castree")
        self.publish(store, "0", f"{bucket}/counted")
        if self.wants("update-time"):
            self.aws(content.root, f"{bucket}/aws")
            self.rclone(content.root, f"{bucket}/rclone")
        for number in self.rounds():
            new = content.change(number + 1)
            time.sleep(3)  # a careful stat cache does not trust younger time stamps
            version = str(number + 1)
            self.castree.call(store, "add", content.root, "--version", version)
            since = self.gateway.lines()
            self.publish(store, version, f"{bucket}/counted", endpoint=self.gateway.counting)
            self.ratio("update-requests", self.gateway.counted(since)[0], new + 15)
            since = self.gateway.lines()
            self.publish(store, version, f"{bucket}/counted", endpoint=self.gateway.counting)
            for row in self.wants("none-requests"):
                row.ours.append(self.gateway.counted(since)[0])
            if self.wants("update-time"):
                self.compare_time("update-time", self.in_turn(
                    number, castree=lambda: self.publish(store, version, f"{bucket}/castree")[0],
                    aws=lambda: self.aws(content.root, f"{bucket}/aws"),
                    rclone=lambda: self.rclone(content.root, f"{bucket}/rclone")))

    def resume(self) -> None:
        content, store = self.content()
        bucket = self.gateway.bucket("resume")
        if "one run" not in self.made:
            since = self.gateway.lines()
            self.publish(store, "0", f"{bucket}/one", endpoint=self.gateway.counting)
            self.made["one run"] = self.gateway.counted(since)[:2]
        for number in self.rounds():
            since, place = self.gateway.lines(), f"{bucket}/{number}"
            killed = subprocess.Popen(
                [self.castree.program, "--store", store, "publish", "0", f"s3://{place}", "--endpoint",
                 self.gateway.counting, *self.castree.without_packs()], env=self.stopwatch.environment,
                stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
            while self.gateway.lines() - since < content.count // 2 and killed.poll() is None:
                time.sleep(0.02)
            killed.kill()
            killed.wait()
            self.publish(store, "0", place, endpoint=self.gateway.counting)
            count, byte_count, _ = self.gateway.counted(since)
            self.ratio("resume-requests", count, self.made["one run"][0])
            self.ratio("resume-bytes", byte_count, self.made["one run"][1])

    def large(self) -> None:
        if shutil.disk_usage(self.work).free < LARGE_ROOM:
            for row in self.wants("large-rss"):
                row.problem = f"not measured: it needs {LARGE_ROOM // GIB} GiB of disk"
            return
        place, store = self.work / "large", self.work / "large-store"
        place.mkdir()
        chosen = random.Random(self.options.seed)
        with (place / "asset.bin").open("wb") as file:
            for _ in range(LARGE_BYTES // (16 * MIB)):
                file.write(chosen.randbytes(16 * MIB))
        self.castree.init(store)
        self.castree.call(store, "add", place, "--version", "1")
        (place / "asset.bin").unlink()
        sample, _ = self.publish(store, "1", self.gateway.bucket("large") + "/app")
        for row in self.wants("large-rss"):
            row.ours.append((sample.rss or 0) / MIB)

    def prune(self) -> None:
        store, bucket = self.work / "keys-store", self.gateway.bucket("prune")
        content = Content(self.work / "keys", self.options.keys, self.options.seed, 8, 16)
        self.castree.init(store)
        self.castree.call(store, "add", content.root, "--version", "1")
        self.publish(store, "1", f"{bucket}/app", "--jobs", "32")
        # What the first publish has left by looking what the store can do goes with the first prune.
        self.castree.call(store, "prune", f"s3://{bucket}/app", "--endpoint", self.gateway.endpoint)
        since = self.gateway.lines()
        _, done = self.castree.call(store, "prune", f"s3://{bucket}/app", "--endpoint", self.gateway.counting)
        demand(done["files"] == 0, f"there was something to do: {done}")
        self.ratio("prune-requests", self.gateway.counted(since)[0], content.count // 1_000 + done["entry"] + 20)

    def commits(self) -> None:
        store = self.work / "commits"
        self.castree.init(store)
        for number in range(PUBLISHERS * COMMITS):
            tree = self.work / "now" / "commit"
            tree.mkdir(exist_ok=True)
            (tree / "index.html").write_text(f"<title>{number}</title>")
            self.castree.call(store, "add", tree, "--version", f"c{number}")
        bucket = self.gateway.bucket("commits")
        for number in self.rounds():
            for row, channel in (("commits-own", "c{}"), ("commits-one", "stable")):
                if self.wants(row):
                    seconds = self._race(store, f"{bucket}/{row}-{number}", channel)
                    self.ratio(row, seconds, PUBLISHERS * COMMITS / LOG_SPEED)

    def _race(self, store: Path, place: str, channel: str) -> float:
        failed = []
        without_packs = self.castree.without_packs()  # asked once, not by eight at a time

        def publisher(number: int) -> None:
            for commit in range(COMMITS):
                done = subprocess.run(
                    [self.castree.program, "--store", store, "publish", f"c{number * COMMITS + commit}",
                     f"s3://{place}", "--endpoint", self.gateway.endpoint, "--channel", channel.format(number),
                     *without_packs], env=self.stopwatch.environment, capture_output=True, text=True)
                if done.returncode:
                    failed.append(done.stderr[-300:])
        threads = [threading.Thread(target=publisher, args=(number,)) for number in range(PUBLISHERS)]
        begin = time.perf_counter()
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        seconds = time.perf_counter() - begin
        demand(not failed, f"{len(failed)} publishes failed: {failed[:1]}")
        bucket, _, prefix = place.partition("/")
        client, entries = self.gateway.client(), 0
        while client.get(bucket, f"{prefix}/log/{entries + 1:010}.json")[0] == 200:
            entries += 1
        demand(entries == PUBLISHERS * COMMITS + 1, f"the log has {entries} entries")
        return seconds

    def pull(self) -> None:
        content, store = self.content()
        bucket = self.gateway.bucket("pull")
        self.publish(store, "0", f"{bucket}/app")
        url = f"{self.gateway.endpoint}/{bucket}/app"
        listed = self.work / "urls"
        addresses = sorted(entry["address"] for entry in self._manifest(bucket)["entries"])
        listed.write_text("".join(f'url = "{url}/objects/{address[:2]}/{address[2:]}"\noutput = "{number:06}"\n'
                                  for number, address in enumerate(addresses)))
        for number in self.rounds():
            device, target = self.work / "now" / f"device-{number}", self.work / "now" / f"curl-{number}"
            target.mkdir()
            self.castree.init(device)
            samples = self.in_turn(
                number, castree=lambda: self.castree.call(device, "pull", url)[0],
                curl=lambda: self.stopwatch.run(
                    ["curl", "-s", "--fail", "--parallel", "--parallel-max", CONNECTIONS, "--output-dir", target, "-K",
                     listed])[0])
            demand(sum(1 for _ in target.iterdir()) == len(addresses), "curl has not fetched all")
            for row in self.wants("pull-curl"):
                row.add(samples["castree"], samples["curl"])

    def _manifest(self, bucket: str) -> dict:
        address = self.pointer(f"{bucket}/app")["releases"][0]["manifest"]
        return json.loads(self.gateway.client().get(bucket, f"app/manifests/{address}.json")[2])


def describe_tools() -> dict[str, str]:
    """The versions of those that copy to buckets."""
    told = [subprocess.run([*words], capture_output=True, text=True).stdout.splitlines()[:1]
            for words in (("aws", "--version"), ("rclone", "version"))]
    return {"copiers": "; ".join(line[0].split(" Python")[0] for line in told if line)}
