"""Grounds that are users, containers, kernels and limits."""

import os
import shutil
import signal
import stat
import subprocess
import sys
import threading

from . import verbs
from .ground import CannotDo, need, need_root, works
from .programs import children, refusal

OWNER, STRANGER = 5001, 5002
WITHOUT = os.path.join(os.path.dirname(os.path.abspath(__file__)), "without.py")


def _as_user(tools, user, mask):
    """The programs as another user, with a umask."""
    return tools.behind("setpriv", f"--reuid={user}", f"--regid={user}", "--clear-groups",
                        "sh", "-c", f'umask {mask}; exec "$@"', "sh")


def _others_files(store, user):
    """What in the store does not belong to its owner."""
    wrong = []
    for parent, directories, names in os.walk(store):
        for name in directories + names:
            path = os.path.join(parent, name)
            if os.lstat(path).st_uid != user:
                wrong.append(f"{path} belongs to user {os.lstat(path).st_uid}")
    return wrong[:5]


def _open_to_all(store):
    """What in the store anybody may write to."""
    wrong = []
    for parent, directories, names in os.walk(store):
        for name in directories + names:
            path = os.path.join(parent, name)
            status = os.lstat(path)
            if not stat.S_ISLNK(status.st_mode) and status.st_mode & 0o002:
                wrong.append(f"{path} has mode {status.st_mode & 0o7777:o}")
    return wrong[:5]


def _home(lab, name, user):
    """A directory of that user, with the releases in it."""
    path = lab.work(name)
    os.chown(path, user, user)
    return path


def users(lab):
    """A store of another uid, with umask 077 and 000, and root in it."""
    need_root()
    need("setpriv")
    works("setpriv", f"--reuid={OWNER}", f"--regid={OWNER}", "--clear-groups", "true")
    for mask in ("077", "000"):
        home = _home(lab, "umask-" + mask, OWNER)
        store, owner = os.path.join(home, "store"), _as_user(lab.tools, OWNER, mask)
        yield f"ten verbs with umask {mask}", verbs.ten(owner, store, lab.sources, home, lab.seed) + _open_to_all(store)
    home = _home(lab, "root", OWNER)
    store, owner = os.path.join(home, "store"), _as_user(lab.tools, OWNER, "022")
    verbs.prepare(owner, store, lab.sources, (1,))
    root = verbs.Said(lab.tools.behind("sh", "-c", 'umask 077; exec "$@"', "sh"), store)
    root("add", lab.sources[2], "--version", "2")
    root("activate", "2")
    root("add", lab.sources[3], "--version", "3")
    root("fsck", "--repair")
    root("gc")
    yield "root works in another's store", root.wrong + _others_files(store, OWNER)
    # A directory that root's commands wrote beside the store is not the owner's.
    yield "the owner goes on after root", verbs.ten(
        owner, store, lab.sources, _home(lab, "after-root", OWNER), lab.seed, prepared=(1, 2, 3))
    yield "a stranger is refused by name", _stranger(lab, store)


def _stranger(lab, store):
    """Somebody else, in a store that anybody may read."""
    stranger = _as_user(lab.tools, STRANGER, "022")
    wrong = []
    for words in (["add", lab.sources[1], "--version", "9"], ["activate", "3"], ["retire", "3"], ["gc"]):
        ending = stranger.run(words, store)
        sentence = refusal(ending.errors)
        if ending.status == 0:
            wrong.append(f"{words[0]} succeeds as user {STRANGER}")
        elif ending.complaint() or not any(word in sentence for word in ("permission", "owns", "belongs", "not allowed")):
            wrong.append(f"{words[0]} says {sentence.strip()!r}, status {ending.status}")
    return wrong + verbs.findings(lab.tools, store)


def containers(lab):
    """Two PID namespaces on one store: in each the program is process 1."""
    need_root()
    need("unshare")
    works("unshare", "-p", "-f", "-m", "--mount-proc", "true")
    inside = lab.tools.behind("unshare", "-p", "-f", "-m", "--mount-proc", "--kill-child", forks=True)
    work = lab.work("beside")
    yield "ten verbs as process 1", verbs.ten(inside, os.path.join(work, "store"), lab.sources, work, lab.seed)
    store = os.path.join(lab.place("shared"), "store")
    verbs.prepare(inside, store, lab.sources, (1,))
    wrong = []
    for turn in range(2 if lab.options.slice else 10):
        wrong += _at_once(inside, store, lab.sources, turn)
    yield "two adds, a collection and a kill at once", wrong + verbs.state(lab.tools, store, (1, 2, 3), lab.seed)


def _at_once(inside, store, sources, turn):
    """Two containers add, a third collects, and every second time one of the writers is killed in between."""
    endings = {}

    def say(name, words):
        endings[name] = inside.run(words, store)

    def kill():
        words = [*inside.prefix, inside.castree, "add", sources[2], "--version", "2", "--no-cache", "--store", store]
        with subprocess.Popen(words, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) as doomed:
            try:
                doomed.wait(0.02 * (1 + turn % 5))
            except subprocess.TimeoutExpired:
                # The program itself, not what stands in front: that ends after its child, and so does the wait for it.
                for process in children(doomed.pid) or [doomed.pid]:
                    os.kill(process, signal.SIGKILL)

    deeds = [threading.Thread(target=say, args=(name, words)) for name, words in (
        ("two", ["add", sources[2], "--version", "2", "--no-cache"]),
        ("three", ["add", sources[3], "--version", "3", "--no-cache"]),
        ("gc", ["gc"]))]
    deeds += [threading.Thread(target=kill)] if turn % 2 else []
    for deed in deeds:
        deed.start()
    for deed in deeds:
        deed.join()
    wrong = [f"{name} ends with status {ending.status}: {refusal(ending.errors).strip()}"
             for name, ending in endings.items() if ending.status]
    # Begins again, so that there is something to collect.
    return wrong + [f"retire fails: {ending.errors.strip()}" for version in ("2", "3") if turn % 3 == 0
                    for ending in [inside.run(["retire", version], store)] if ending.status] + [
        f"add fails: {ending.errors.strip()}" for version in (2, 3) if turn % 3 == 0
        for ending in [inside.run(["add", sources[version], "--version", str(version)], store)] if ending.status]


def no_proc(lab):
    """Nothing is mounted at /proc."""
    need_root()
    need("unshare")
    words = ("unshare", "-m", "sh", "-c", 'umount -l /proc && exec "$@"', "sh")
    works(*words, "true")
    work, inside = lab.work("beside"), lab.tools.behind(*words)
    store = os.path.join(work, "store")
    first = inside.run(["init"], store)
    if first.status and "/proc" in first.errors:
        # Where a program cannot even learn its arguments, one sentence is what can be asked.
        endings = [inside.run(command, store) for command in (["init"], ["versions"], ["gc"], ["castree-fsck", "check"])]
        yield "each verb says in one sentence that it needs /proc", [
            f"it says {ending.errors!r}, status {ending.status}" for ending in endings
            if not ending.status or "/proc" not in ending.errors or len(ending.errors.strip().splitlines()) != 1]
        return
    yield "nine verbs without /proc", verbs.ten(inside, store, lab.sources, work, lab.seed, serves=False)
    # Swift's runtime would end a server some time after its start.
    refused = [inside.run(["serve", "--next-port"], store),
               inside.run(["origin", "serve", os.path.join(work, "origin")])]
    yield "servers say in one sentence that they need /proc", [
        f"it says {ending.errors!r}, status {ending.status}" for ending in refused
        if ending.status != 1 or "/proc is not mounted" not in ending.errors or len(ending.errors.strip().splitlines()) != 1]


def old_kernel(lab):
    """System calls that old kernels do not know, and sandboxes do not allow."""
    alone = ["openat2", "renameat2", "statx", "copy_file_range"]
    sets = [",".join(alone)] + ([] if lab.options.slice else alone)
    for number in ("ENOSYS", "EPERM"):
        for calls in sets:
            words = (sys.executable, WITHOUT, number, calls)
            works(*words, shutil.which("true") or "/bin/true")
            work = lab.work(f"{number}-{calls}")
            yield f"ten verbs, {number} from {calls}", verbs.ten(
                lab.tools.behind(*words), os.path.join(work, "store"), lab.sources, work, lab.seed)


def limits(lab):
    """Limits of open files and of the size of a file, at their edges."""
    need("prlimit")
    work = lab.work("beside")
    store = os.path.join(work, "store")
    verbs.prepare(lab.tools, store, lab.sources, (1, 2))
    words = [["add", lab.sources[3], "--version", "3", "--no-cache"], ["checkout", "1", os.path.join(work, "copy")],
             ["publish", "1", os.path.join(work, "origin")], ["activate", "2"], ["fsck"], ["gc"], ["versions"],
             ["retire", "3"]]
    edges = [3, 4, 5, 6, 8, 10, 12, 16, 20, 24, 32, 64]
    for edge in edges[2::4] if lab.options.slice else edges:
        yield f"{edge} open files", _limited(lab, work, store, words, f"--nofile={edge}:{edge}")
    edges = [0, 1, 511, 512, 4095, 4096, 20_000, 69_999, 70_000, 299_999, 300_000, 1 << 20]
    for edge in edges[1::5] if lab.options.slice else edges:
        yield f"files of {edge} bytes", _limited(lab, work, store, words, f"--fsize={edge}:{edge}")
    yield "ten verbs after all that", verbs.ten(lab.tools, store, lab.sources, work, lab.seed, prepared=(1, 2))


def _limited(lab, work, store, commands, limit):
    """Each command under a limit: it works, or says why not; then all is as it was and works."""
    limited = lab.tools.behind("prlimit", limit)
    wrong = []
    has_three = False
    for words in commands:
        ending = limited.run(words, store)
        what = f"{words[0]} under {limit}"
        # The loader itself opens libraries: that program never began.
        if ending.status == 127 and "error while loading shared libraries" in ending.errors:
            continue
        complaint = ending.complaint()
        if ending.status in (128 + 25, 153):
            complaint = "it is ended by SIGXFSZ"
        if complaint and not (words[0] == "retire" and not has_three):
            wrong.append(f"{what}: {complaint}")
        has_three = has_three or words[0] == "add" and ending.status == 0
    for place in ("copy", "origin"):
        shutil.rmtree(os.path.join(work, place), ignore_errors=True)
    lab.tools.run(["activate", "1"], store)
    if any(entry["version"] == "3" for entry in _listed(lab.tools, store)):
        lab.tools.run(["retire", "3"], store)
    return wrong + [f"after {limit}: {complaint}" for complaint in verbs.state(lab.tools, store, (1, 2), lab.seed, "1")]


def _listed(tools, store):
    import json
    ending = tools.run(["versions", "--json"], store)
    return json.loads(ending.output) if ending.status == 0 else []


GROUNDS = {"users": users, "containers": containers, "no-proc": no_proc, "old-kernel": old_kernel, "limits": limits}
