"""Never a wrong byte: addresses that try to leave the tree, and content that is damaged on disk."""

import os
import random
import subprocess
import threading
import time

from place import demand, request

SECRET = b"nothing outside the tree is ever served"
SMALL, LARGE, HUGE = 2000, 200_000, 8 << 20


def checks(suite):
    suite.check(
        "traversal", "No address leaves the tree: dots, encoded dots, NUL, links planted in it.",
        traversal)
    suite.check(
        "damage", "An object replaced, truncated or flipped on disk is not served, and is reported.",
        damage)
    suite.check(
        "large", "While a file of 1 GiB is read for the first time, others are served.", large)


TARGETS = [
    b"/../outside.txt", b"/../../outside.txt", b"/sub/../../outside.txt", b"/%2e%2e/outside.txt",
    b"/%2E%2E/%2e%2e/outside.txt", b"/..%2foutside.txt", b"/%2e%2e%2foutside.txt",
    b"/..%5coutside.txt", b"/..\\outside.txt", b"/%252e%252e/outside.txt", b"/.%2e/outside.txt",
    b"//outside.txt", b"//../outside.txt", b"/sub//../../outside.txt", b"/./../outside.txt",
    b"/index.html%00", b"/index.html%00.js", b"/%00", b"/..%00/outside.txt", b"/sub/..;/outside.txt",
    b"/%c0%ae%c0%ae/outside.txt", b"/%e0%80%ae%e0%80%ae/outside.txt", b"/\xc0\xae\xc0\xae/outside.txt",
    b"/planted", b"/planted.txt", b"/planted/outside.txt", b"/sub/planted.txt", b"/objects", b"/FORMAT",
    b"/../FORMAT", b"/../lifecycle.json", b"/%2e%2e/server.json", b"/../../etc/passwd",
    b"/planted-root/etc/passwd", b"file:///etc/passwd", b"/etc/passwd", b"/.castree", b"/*",
]


def traversal(suite):
    store = suite.store()
    store.add(
        "v1", {"index.html": "the page", "sub/file.txt": "a file", "..dots": "dots"}, activate=True)
    (store.path / "outside.txt").write_bytes(SECRET)
    (store.path / "versions" / "outside.txt").write_bytes(SECRET)
    (store.path.parent / "outside.txt").write_bytes(SECRET)
    tree = store.path / "versions" / "v1"
    os.chmod(tree, 0o755)
    os.chmod(tree / "sub", 0o755)
    os.symlink(store.path.parent, tree / "planted")
    os.symlink(store.path.parent / "outside.txt", tree / "planted.txt")
    os.symlink(store.path.parent / "outside.txt", tree / "sub" / "planted.txt")
    os.symlink("/", tree / "planted-root")
    for fallback in ("navigations", "none", "meteor"):
        with store.serve("--fallback", fallback, "--clean-urls") as server:
            for target in TARGETS:
                for fields in ((), (("Accept", "text/html"), ("Sec-Fetch-Mode", "navigate"))):
                    status, _, body = request(server.port, target, fields=fields)
                    demand(
                        SECRET not in body and b"root:" not in body,
                        f"{target!r} reads what is outside")
                    demand(
                        status in (400, 404, 421) or (status == 200 and body == b"the page"),
                        f"{target!r} is answered with {status} {body[:60]!r}")
            status, _, body = request(server.port, "/sub/%2e%2e/sub/file.txt")
            demand(
                status in (400, 404) or (status == 200 and body in (b"a file", b"the page")),
                f"dots within the tree are answered with {status} {body[:60]!r}")
            # What stands in the tree in place of a file is not what the version promises.
            status, _, body = request(server.port, "/..dots")
            demand((status, body) == (200, b"dots"), f"a file named ..dots: {status}")
    file = tree / "sub" / "file.txt"
    os.unlink(file)
    os.symlink(store.path.parent / "outside.txt", file)
    with store.serve() as server:
        status, _, body = request(server.port, "/sub/file.txt")
        demand(
            SECRET not in body and (status != 200 or body == b"a file"),
            "a link in place of a file is followed")
    suite.say(f"{len(TARGETS)} addresses, with three fallbacks, as script and as navigation")


def content(size, seed):
    return random.Random(seed).randbytes(size)


def change_flipped(path):
    status = os.stat(path)
    with open(path, "r+b") as file:
        file.seek(status.st_size // 2)
        byte = file.read(1)
        file.seek(-1, 1)
        file.write(bytes([byte[0] ^ 4]))
    os.utime(path, ns=(status.st_atime_ns, status.st_mtime_ns))


def change_truncated(path):
    os.truncate(path, os.stat(path).st_size // 2)


def change_longer(path):
    with open(path, "ab") as file:
        file.write(b"more")


def change_replaced(path):
    size, other = os.stat(path).st_size, path.with_suffix(".new")
    other.write_bytes(content(size, 99))
    os.replace(other, path)


def change_removed(path):
    os.unlink(path)


def change_linked(path):
    os.unlink(path)
    os.symlink("/etc/hostname", path)


CHANGES = {
    "flipped, with its old times": change_flipped, "truncated": change_truncated,
    "made longer": change_longer, "replaced by another file": change_replaced,
    "removed": change_removed, "replaced by a link": change_linked,
}
# After these the version's tree still has the bytes: they leave the inode as it was, and change what the object names.
SOUND_IN_TREE = {"replaced by another file", "removed", "replaced by a link"}


def damage(suite):
    served = refused = 0
    for what, change in CHANGES.items():
        for was_served in (False, True):
            store = suite.store()
            files = {f"{size}.bin": content(size, size) for size in (SMALL, LARGE, HUGE)}
            store.add("v1", {"index.html": "page", **files}, activate=True)
            with store.serve() as server:
                paths = {}
                for name, right in files.items():
                    status, fields, _ = request(server.port, "/" + name, method="HEAD")
                    demand(status == 200, f"HEAD {name} is answered with {status}")
                    paths[name] = store.object_file(fields["etag"].strip('"'))
                    if was_served:
                        status, _, body = request(server.port, "/" + name)
                        demand(body == right, f"{name} is wrong before anything happened")
                for name, path in paths.items():
                    os.chmod(path.parent, 0o755)
                    os.chmod(path, 0o644)
                    change(path)
                for name, right in files.items():
                    for fields in ((), (("Range", "bytes=0-99"),)):
                        status, _, body = request(server.port, "/" + name, fields=fields)
                        if status in (200, 206):
                            # What is in memory, in a file that is still open or in the tree is right.
                            wanted = right if status == 200 else right[:100]
                            demand(body == wanted, f"{name} {what}: wrong bytes are served")
                            demand(
                                was_served or what in SOUND_IN_TREE,
                                f"{name} {what}: served though it is not there")
                            served += 1
                            continue
                        refused += 1
                        demand(status == 500, f"{name} {what} is answered with {status}")
                        demand(right[:50] not in body, f"{name} {what}: bytes of it are served")
                        address = path_address(paths[name])
                        demand(server.said(address), f"{name} {what}: nothing on stderr")
                status, _, body = request(server.port, "/")
                demand((status, body) == (200, b"page"), f"{what}: the rest is not served any more")
                demand(server.stop() == 0, "the server did not end as it should")
    demand(refused >= 3 * 6, f"only {refused} answers were refused")
    demand(served >= 3 * 6, f"only {served} answers came from the tree")
    suite.say(
        f"{refused} requests refused and reported, {served} answered rightly from memory, a file "
        "still open or the tree")


def path_address(path):
    return path.parent.name + path.name


def large(suite):
    store = suite.store()
    source = suite.directory / "large-source"
    source.mkdir()
    (source / "index.html").write_text("page")
    block = content(1 << 20, 5)
    with open(source / "film.bin", "wb") as file:
        for number in range(1024):
            file.write(number.to_bytes(4, "big") + block[4:])
    store("add", "--version", "v1", "--activate", str(source))
    (source / "film.bin").unlink()
    with store.serve() as server:
        began, took = time.monotonic(), []

        def first():
            done = subprocess.run(
                ["curl", "-sSf", "-r", "1073741000-", f"http://localhost:{server.port}/film.bin"],
                capture_output=True, timeout=120)
            took.append(time.monotonic() - began)
            demand(done.stdout == block[-824:], "the end of the film is not the same")

        reading = threading.Thread(target=first)
        reading.start()
        waits = []
        while reading.is_alive():
            start = time.monotonic()
            status, _, body = request(server.port, "/")
            waits.append(time.monotonic() - start)
            demand(body == b"page", f"the page is answered with {status}")
        reading.join()
        demand(took, "the end of the film did not come")
        start = time.monotonic()
        request(server.port, "/film.bin", fields=(("Range", "bytes=5-9"),))
        again = time.monotonic() - start
        suite.say(
            f"the first answer after {took[0]:.2f} s; meanwhile {len(waits)} others, the longest after "
            f"{1000 * max(waits):.1f} ms; the second after {1000 * again:.1f} ms")
        demand(max(waits) < 0.5, f"another client waited {max(waits):.2f} s")
