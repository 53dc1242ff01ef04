"""The life of a version on a device: published, pulled, started, confirmed; cut off; broken and taken back."""

import contextlib
import functools
import http.server
import os
import shlex
import shutil
import subprocess
import sys
import threading
import time
from pathlib import Path

from showing import Castree, conclude, demand, heading, run, say, shown, size, some, styled

SLOW = "300K"  # a second: slow enough to be killed half-way


class Files(http.server.SimpleHTTPRequestHandler):
    """A plain web server for a directory, with what a resumed download needs: ranges."""

    protocol_version = "HTTP/1.1"

    def log_message(self, *_):
        pass

    def do_GET(self):
        path = Path(self.translate_path(self.path))
        if not path.is_file():
            return self.send_error(404)
        content = path.read_bytes()
        tag = f'"{len(content)}-{path.stat().st_mtime_ns}"'
        first = 0
        asked = self.headers.get("Range", "")
        condition = self.headers.get("If-Range")
        if asked.startswith("bytes=") and asked.endswith("-") and condition in (None, tag):
            first = int(asked[6:-1])
        if first > 0 and first >= len(content):
            self.send_response(416)
            self.send_header("Content-Range", f"bytes */{len(content)}")
            self.send_header("Content-Length", "0")
            return self.end_headers()
        self.send_response(206 if first else 200)
        if first:
            self.send_header("Content-Range", f"bytes {first}-{len(content) - 1}/{len(content)}")
        self.send_header("ETag", tag)
        self.send_header("Content-Type", self.guess_type(str(path)))
        self.send_header("Content-Length", str(len(content) - first))
        self.end_headers()
        with contextlib.suppress(BrokenPipeError, ConnectionResetError):  # a pull was killed: wanted here
            self.wfile.write(content[first:])


class Server(http.server.ThreadingHTTPServer):
    daemon_threads = True

    def handle_error(self, request, client_address):
        """A client that was killed is what this is about; anything else is told."""
        if not isinstance(sys.exc_info()[1], ConnectionError):
            super().handle_error(request, client_address)


@contextlib.contextmanager
def web_server(directory):
    """Gives a directory away on loopback; yields its address."""
    handler = functools.partial(Files, directory=str(directory))
    server = Server(("127.0.0.1", 0), handler)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    try:
        yield f"http://127.0.0.1:{server.server_port}"
    finally:
        server.shutdown()
        server.server_close()


def publish(castree, version, origin):
    done = castree.document("publish", version, shown(origin))
    conclude(f"{version} is published: {some(done['objects'], 'object')}, {size(done['bytes'])} written.")


def pull(device, url, *options):
    done = device.document("pull", url, *options)
    conclude(f"{done['version']}: {some(done['objects'], 'object')}, {size(done['bytes'])} fetched in "
             f"{some(done['requests'], 'request')}; {some(done['reusedObjects'], 'object')}, "
             f"{size(done['reusedBytes'])} were here.")
    return done


def start(device, expected):
    boot = device.document("boot")
    demand(boot["version"] == expected, f"castree boot starts {boot['version']}, not {expected}")
    return boot


def confirm(device, boot):
    device("confirm", boot["version"], "--token", boot["token"])


def same_tree(device, source, version):
    run(["diff", "-r", shown(source), shown(device.store / "versions" / version)], show=False)
    conclude(f"The tree of {version} on the device is what was published, byte for byte.")


def kill_half_way(device, url, staging):
    """Starts a slow pull and kills it as soon as some of it is here (SIGKILL: nothing can be tidied up)."""
    command = ["pull", url, "--limit-rate", SLOW, "--jobs", "2"]
    say("\n  " + styled("$ " + shlex.join(["castree", *command]) + "   # and kill -9", "36"))
    process = subprocess.Popen(
        [str(device.program), *command], stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL, env=device.env)
    deadline = time.monotonic() + 60
    while process.poll() is None and time.monotonic() < deadline:
        held = sum(file.stat().st_size for file in staging.rglob("*") if file.is_file())
        if held > 400_000:
            break
        time.sleep(0.05)
    was_running = process.poll() is None
    process.kill()
    process.wait()
    return was_running


def broken_copy(source, target):
    """The release with a page that shows nothing."""
    shutil.copytree(source, target)
    os.chmod(target / "index.html", 0o644)
    (target / "index.html").write_text("<!doctype html><title>broken</title>\n")


def account(castree, releases, make_room):
    old, new = releases
    origin = castree.store.with_name(castree.store.name + "-origin")
    device_path = castree.store.with_name(castree.store.name + "-device")
    for path in (origin, device_path):
        make_room(path)
    marker = "made-by-scripts-run"
    device = Castree(castree.program, device_path)

    heading("8. The releases are published, and a second store pulls them")
    castree("add", shown(old.source), "--version", old.version)
    origin.mkdir()
    (origin / marker).write_text("Made by scripts/run, which will remove it on its next run.\n")
    publish(castree, old.version, origin)
    with web_server(origin) as url:
        say(f"\n  A web server gives {shown(origin)} away at {url}. On the device:")
        device("init")
        (device_path / marker).write_text("Made by scripts/run, which will remove it on its next run.\n")
        first = pull(device, url)
        same_tree(device, old.source, old.version)
        confirm(device, start(device, old.version))

        heading(f"9. {new.version} is published; the pull is killed half-way, and goes on")
        publish(castree, new.version, origin)
        device("pull", url, "--dry-run")
        planned = device.document("pull", url, "--dry-run", show=False)
        was_killed = kill_half_way(device, url, device_path / "staging")
        if was_killed:
            device("versions")
        second = pull(device, url)
        again = second["bytes"] + second["resumedBytes"]
        if was_killed:
            conclude(f"Of {size(planned['bytes'])} that the device lacked, {size(second['resumedBytes'])} were kept "
                     "from the pull that was killed.")
            demand(second["bytes"] < planned["bytes"], "the second pull fetched everything again")
        demand(again <= planned["bytes"], f"it took {again} bytes, more than {planned['bytes']}")
        conclude(f"All of {new.version} would have been {size(sum(f.stat().st_size for f in new.source.rglob('*') if f.is_file()))};"
                 f" the first pull fetched {size(first['bytes'])}.")
        same_tree(device, new.source, new.version)
        confirm(device, start(device, new.version))
        device("pull", url)

        heading("10. A broken release takes itself back")
        broken = origin / ".broken-release"
        broken_copy(new.source, broken)
        castree("add", shown(broken), "--version", "broken")
        shutil.rmtree(broken)
        publish(castree, "broken", origin)
        pull(device, url)
        start(device, "broken")
        say("\n  Its page shows nothing, so nobody confirms it. The app is started again:")
        boot = start(device, new.version)
        demand(boot["rolledBackFrom"] == "broken", "castree boot did not roll back")
        confirm(device, boot)
        say("\n  One failure may be chance, so it is started once more; the second one in a row bans it:")
        start(device, "broken")
        boot = start(device, new.version)
        demand(boot["rolledBackFrom"] == "broken" and boot["banned"], "castree boot did not ban")
        confirm(device, boot)
        device("lifecycle")
        say("\n  The origin still offers it; the device does not take it again:")
        refused = subprocess.run(
            [str(device.program), "pull", url], stdin=subprocess.DEVNULL, capture_output=True, text=True,
            env=device.env)
        demand(refused.returncode == 20, f"castree pull ended with status {refused.returncode}")
        say("  " + styled("$ " + shlex.join(["castree", "pull", url]), "36"))
        say("    " + refused.stderr.strip())
        conclude("Banned by its content: under another name it would be refused, too.")

    heading("11. What happened on the device")
    device("report")
    castree("retire", "broken")
    castree("retire", old.version)
    castree("gc")
