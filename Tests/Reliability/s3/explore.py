#!/usr/bin/python3
"""Exhaustive model of origins in buckets (docs/buckets.md): every interleaving of small cases, breadth first.

usage: explore.py                 all cases of the protocol (must hold), all broken variants (must be caught)
       explore.py --quick         the small cases, and the variants
       explore.py CASE [VARIANT]  one of them; with a violation the shortest trace that leads to it
       explore.py --big           the large cases, too (an hour, some GB)
       explore.py --list

The store: keys (content, epoch), a log of create-only entries, one pointer file that is overwritten (If-Match).
Faults: any write may be answered wrongly ("unknown"): not applied, applied and the answer lost, or applied at
any later time, also after its sender has died or has repeated it ("ghost"). A GET of the log's end may be one entry
behind. LIST may miss any key. Every actor may stop for ever at any step: invariants are checked in every state, and
a state in which an actor takes no further step is that of its crash. A publisher that is run again is another one.

An entry of the log: (releases, epoch, kept, prune, author)
  releases   what the channel offers, newest first; a release is (objects, packs), two frozensets of keys. What it has
             of objects (their contents) stands for its manifest. The one key of its packs stands for the delivery with
             all packs: they share an epoch, which may differ from that of the objects
  epoch      grows by one with a prune; new keys are written under it
  kept       everything offered by entries kept..end is live
  prune      number of the newest prune entry before or at this one
RULE  a commit on top of entry n may use a key iff a release of an entry kept(n)..n has it, or its epoch >= epoch(n)-1
SWEEP anyone who has read entry n may delete any key with epoch <= epoch(n)-2 that no release of kept(n)..n has

A publisher "b" has the content b, "b+" makes packs, too. A packer "b" makes the packs of the release that has b,
wherever it stands; if there is none (any more), nothing happens. Only the newest release keeps its packs when another
one is published.
"""
import sys, time
from collections import deque

# ---- variants: each removes one rule; all must be caught -------------------------------------------------------
VARIANTS = {
    "plain-keys": "keys are the content's hash alone, as in a directory: no epoch",
    "sweep-too-new": "the sweep takes keys of epoch <= epoch-1",
    "packs-unrevalidated": "after losing the race the objects are looked at again, and the packs are not",
    "no-revalidation": "after losing the race a publisher commits what it had, on top of the winner's entry",
    "trust-any-present": "a publisher reuses any key that HEAD finds, of whatever epoch",
    "plain-put-commit": "the log's entries are written without If-None-Match",
    "no-grace": "a prune keeps from its own entry on, not from an earlier prune's that is older than the grace",
    "unknown-is-failed": "after an unknown answer to a commit the publisher goes on to the next number",
    "own-412-is-lost": "a 412 counts as lost without looking whose entry stands there",
    "delete-log": "a prune deletes the entries before `kept`",
    "pointer-once": "plain-pointer, and a publisher does not look at the log again afterwards",
    "pointer-unrepaired": "a prune does not look at the pointer file before its entry",
    "plain-pointer": "the pointer file is overwritten without If-Match: all that some stores leave us",
}
# Without If-Match the promises of the log hold all the same: run with the cases, not with the variants.
HOLDS = {"plain-pointer-log": "as plain-pointer; promises about the log only"}
PLAIN = ("plain-pointer", "plain-pointer-log", "pointer-once")

# ---- cases: publishers, packers (contents of each), prune rounds of each pruner, readers, ghosts, stale ends --------
QUICK = {
    #             publishers         packers     pruners  readers ghosts stale  window of the pointer
    "pair":      (("b", "c"),         (),         (),      1,      0,     1,     1),
    "return":    (("b", "a"),         (),         (2,),    0,      0,     1,     1),
    "reader":    (("b",),             (),         (3,),    1,      0,     0,     1),
    "ghost":     (("b",),             (),         (3,),    0,      1,     0,     1),
    "packed":    (("b+",),            (),         (2,),    1,      1,     0,     1),
    "later":     ((),                 ("a",),     (2,),    1,      1,     1,     1),
    "meanwhile": (("b+",),            ("a",),     (2,),    0,      0,     1,     2),
}
CASES = {
    "race":      (("a", "b", "a"),    (),         (),      1,      2,     1,     1),
    "comeback":  (("b", "a"),         (),         (3,),    0,      1,     1,     1),
    "prune2":    (("b",),             (),         (2, 2),  0,      1,     1,     1),
    "readers":   (("b", "c"),         (),         (3,),    1,      0,     0,     1),
    "ghosts":    (("b", "a"),         (),         (2,),    0,      2,     0,     1),
    "wide":      (("ab", "ac"),       (),         (2,),    0,      1,     0,     1),
    "three":     (("b", "a", "b"),    (),         (2,),    0,      1,     0,     1),
    "faults":    (("b",),             (),         (3,),    0,      3,     1,     1),
    "packs":     (("a+", "b+"),       (),         (2,),    0,      1,     0,     2),
    "packers":   ((),                 ("a", "a"), (3,),    1,      1,     0,     1),
    "withdrawn": (("b+",),            ("a",),     (3,),    1,      0,     1,     1),
}
BIG = {
    "big3x2":    (("b", "a", "c"),    (),         (2, 2),  0,      1,     1,     1),
    "bigread":   (("b", "a"),         (),         (3,),    2,      1,     0,     1),
    "bigpacks":  (("a+", "b+"),       ("a",),     (3,),    1,      1,     0,     2),
}
START = "a"  # what entry 0 offers, in epoch 0: a directory origin that was copied there


class Model:
    def __init__(self, case, variant=None):
        (self.pubs, self.packers, self.pruners, self.nreaders, self.ghosts, self.stale, self.window) = case
        self.v = variant
        self.nwriters = len(self.pubs) + len(self.packers)

    # A state: (log, present, pointer, pending, actors, readers, budget)
    #   log: tuple of entries; a deleted one has a sixth member;  pointer: the entry that it shows
    #   pending: sorted tuple of ghosts;  actors: tuple of tuples;  budget: (ghosts, stale reads) left
    def start(self):
        objects = frozenset((c, 0) for c in START)
        log = ((((objects, frozenset()),), 0, 0, 0, -1),)
        actors = tuple(("read",) for _ in self.pubs + self.packers) + tuple(("pread", n) for n in self.pruners)
        return (log, objects, 0, (), actors, (("idle",),) * self.nreaders, (self.ghosts, self.stale))

    # ---- what the log says
    def live(self, log, n):
        out = set()
        for e in log[log[n][2]:n + 1]:
            for objects, packs in e[0]:
                out |= objects | packs
        return out

    def usable(self, log, n, keys):
        if self.v == "trust-any-present":
            return True
        live, epoch = self.live(log, n), log[n][1]
        return all(k in live or k[1] >= epoch - 1 for k in keys)

    def garbage(self, log, n, present):
        live, epoch = self.live(log, n), log[n][1]
        if self.v == "plain-keys":
            return {k for k in present if k not in live}
        limit = epoch - (1 if self.v == "sweep-too-new" else 2)
        return {k for k in present if k[1] <= limit and k not in live}

    # ---- steps: yields (label, state)
    def steps(self, s):
        log, present, pointer, pending, actors, readers, budget = s
        # a ghost becomes true
        for i, g in enumerate(pending):
            rest = pending[:i] + pending[i + 1:]
            yield "ghost %s" % (g,), self.apply(g, (log, present, pointer, rest, actors, readers, budget))
        for i, a in enumerate(actors):
            step = self.publisher if i < self.nwriters else self.pruner
            if a[0] not in ("done", "void", "gone"):
                for label, new, ns in step(i, a, s):
                    yield label, ns[:4] + (ns[4][:i] + (new,) + ns[4][i + 1:],) + ns[5:]
        for i, r in enumerate(readers):
            if r[0] == "idle":
                new = ("reads", pointer, len(log))
                label = "reader %d reads pointer %d" % (i, pointer)
            elif r[0] == "reads":
                new, label = ("idle2",), "reader %d is through" % i
            else:
                continue
            yield label, s[:5] + (readers[:i] + (new,) + readers[i + 1:],) + s[6:]

    def apply(self, g, s):
        log, present, pointer, pending, actors, readers, budget = s
        kind = g[0]
        if kind == "PUT":
            present = present | {g[1]}
        elif kind == "DEL":
            present = present - {g[1]}
        elif kind == "LOG":
            n, e = g[1], g[2]
            if n == len(log):
                log = log + (e,)
            elif self.v == "plain-put-commit" and n < len(log):
                log = log[:n] + (e,) + log[n + 1:]
            elif len(log[n]) == 6:
                log = log[:n] + (e,) + log[n + 1:]
        elif pointer == g[2] or self.v in PLAIN:  # If-Match: what its writer has read
            pointer = g[1]
        return (log, present, pointer, pending, actors, readers, budget)

    def write(self, op, s):
        """A write that its sender repeats until it is acknowledged: done; or done, and once more at a later time."""
        yield "", self.apply(op, s)
        if s[6][0] > 0:
            t = s[:3] + (tuple(sorted(s[3] + (op,), key=repr)),) + s[4:6] + ((s[6][0] - 1, s[6][1]),)
            yield " +ghost", self.apply(op, t)

    def ends(self, s):
        """What a reader of the log takes for its end: the last entry, or one before it."""
        log, budget = s[0], s[6]
        yield len(log) - 1, s
        if budget[1] > 0 and len(log) > 1:
            yield len(log) - 2, s[:6] + ((budget[0], budget[1] - 1),)

    # ---- a publisher or packer: read, upload what is not live, commit, write the pointer, look again
    def wanted(self, i, log, n):
        """What a writer uploads: contents of objects, and that of packs (spelled in capitals); None: nothing to do."""
        if i < len(self.pubs):
            contents = self.pubs[i].rstrip("+")
            return contents + (contents.upper() if self.pubs[i].endswith("+") else "")
        contents = self.packers[i - len(self.pubs)]
        for objects, packs in log[n][0]:
            if {k[0] for k in objects} == set(contents) and not packs:
                return contents.upper()
        return None

    def publisher(self, i, a, s):
        log, present = s[0], s[1]
        if a[0] == "read":
            for n, t in self.ends(s):
                yield "P%d reads end %d" % (i, n), ("up", n, log[n][1], frozenset(), 0), t
        elif a[0] == "up":
            _, n, epoch, have, tries = a
            wanted = self.wanted(i, log, n)
            if wanted is None:
                yield "P%d has nothing to pack" % i, ("gone",), s
                return
            missing = sorted(set(wanted) - {k[0] for k in have})
            if missing:
                c = missing[0]
                # of what is offered now: no request
                live = sorted(k for r in log[n][0] for k in r[0] | r[1] if k[0] == c)
                if live and self.v != "plain-keys":
                    yield "P%d reuses %s" % (i, live[0]), ("up", n, epoch, have | {live[0]}, tries), s
                    return
                key = (c, 0 if self.v == "plain-keys" else epoch)
                if (c, epoch - 1) in present and self.v != "plain-keys":  # LIST of the last epoch shows it
                    key = (c, epoch - 1)
                if self.v == "trust-any-present":
                    found = sorted(k for k in present if k[0] == c)
                    key = found[0] if found else key
                if key in present:  # HEAD, LIST or a 412 says that it is there
                    yield "P%d finds %s" % (i, key), ("up", n, epoch, have | {key}, tries), s
                    return
                for tag, t in self.write(("PUT", key), s):
                    yield "P%d puts %s%s" % (i, key, tag), ("up", n, epoch, have | {key}, tries), t
            else:
                yield "P%d is ready" % i, ("commit", n, have, tries), s
        elif a[0] == "commit":
            _, n, have, tries = a
            judged = have
            if self.v == "packs-unrevalidated":
                judged = {k for k in have if k[0].islower()}
            if self.wanted(i, log, n) is None and i >= len(self.pubs) and (len(log) <= n + 1 or log[n + 1][4] != i):
                # Withdrawn, or packed by somebody else, before anything was sent to this number.
                yield "P%d has nothing to pack any more" % i, ("gone",), s
            elif self.v == "no-revalidation" or self.usable(log, n, judged):
                e = self.entry(log, n, have, i)
                yield from self.append(i, n, e, s, ("commit", n, have, tries), ("point", n + 1),
                                       lambda m: ("commit", m, have, tries + 1), tries)
            else:
                keep = frozenset(k for k in have if self.usable(log, n, (k,)))
                yield "P%d writes again" % i, ("up", n, log[n][1], keep, tries), s
        elif a[0] == "point":
            n, q = a[1], s[2]
            if q >= n:
                yield "P%d reads pointer %d" % (i, q), ("look", n), s
            else:
                yield "P%d reads pointer %d" % (i, q), ("point2", n, q), s
        elif a[0] == "point2":
            _, n, q = a
            for tag, t in self.write(("PTR", n, q), s):
                new = ("look", n) if t[2] == n else ("point", n)  # 412: read again
                yield "P%d writes pointer %d over %d%s" % (i, n, q, tag), new, t
        elif a[0] == "look":
            if self.v == "pointer-once" or len(log) - 1 <= a[1]:
                yield "P%d is done" % i, ("done",), s
            else:
                yield "P%d sees entry %d" % (i, len(log) - 1), ("point", len(log) - 1), s

    def entry(self, log, n, have, who):
        rels, epoch, kept, prune = log[n][:4]
        objects = frozenset(k for k in have if k[0].islower())
        packs = frozenset(k for k in have if k[0].isupper())
        if who >= len(self.pubs):
            packed = {k[0].lower() for k in packs}
            rels = tuple((o, packs) if {k[0] for k in o} == packed and not p else (o, p) for o, p in rels)
            return rels, epoch, kept, prune, who
        # A version is offered once; offered again without packs, it keeps those that it has.
        same = [r for r in rels if {k[0] for k in r[0]} == {k[0] for k in objects}]
        if same and not packs:
            packs = same[0][1]
        older = tuple((o, frozenset()) for o, p in rels if {k[0] for k in o} != {k[0] for k in objects})
        return ((((objects, packs),) + older)[:self.window], epoch, kept, prune, who)

    def append(self, i, n, e, s, again, won, lost, tries):
        """PUT log/<n+1> If-None-Match:*, repeated until it is known whose entry stands there."""
        log = s[0]
        free = n + 1 == len(log) or len(log[n + 1]) == 6 or self.v == "plain-put-commit"
        if n + 1 < len(log) and len(log[n + 1]) == 6:
            yield "%d commits %d, which was deleted" % (i, n + 1), ("void", n + 1), s
        elif free:
            yield "%d commits %d" % (i, n + 1), won, self.apply(("LOG", n + 1, e), s)
        else:
            mine = log[n + 1][4] == e[4] and self.v != "own-412-is-lost"
            if mine:
                yield "%d finds its entry %d" % (i, n + 1), won, s
            elif tries < 3:
                yield "%d lost %d" % (i, n + 1), lost(n + 1), s
        if s[6][0] > 0 and free:  # no answer: not applied now; perhaps later, perhaps it was
            t = s[:3] + (tuple(sorted(s[3] + (("LOG", n + 1, e),), key=repr)),) + s[4:6] + ((s[6][0] - 1, s[6][1]),)
            if self.v == "unknown-is-failed" and tries < 3:
                u = self.apply(("LOG", n + 1, e), t[:3] + (s[3],) + t[4:])
                yield "%d no answer to %d (applied), reads the end" % (i, n + 1), ("read",), u
            yield "%d no answer to %d" % (i, n + 1), again, t

    # ---- a pruner: read, repair the pointer, append its entry, sweep; then the next round
    def pruner(self, i, a, s):
        log, present, pointer, readers = s[0], s[1], s[2], s[5]
        if a[0] == "pread":
            if a[1] == 0:
                yield "G%d is done" % i, ("done",), s
                return
            for n, t in self.ends(s):
                yield "G%d reads end %d" % (i, n), ("fix", n, a[1]), t
        elif a[0] == "fix":
            _, n, left = a
            if pointer < n and self.v != "pointer-unrepaired":
                yield "G%d reads pointer %d" % (i, pointer), ("fix2", n, left, pointer), s
            else:
                yield "G%d is ready" % i, ("bump", n, left), s
        elif a[0] == "fix2":
            _, n, left, q = a
            for tag, t in self.write(("PTR", n, q), s):
                yield "G%d writes pointer %d over %d%s" % (i, n, q, tag), ("fix", n, left), t
        elif a[0] == "bump":
            _, n, left = a
            rels, epoch, kept, prune = log[n][:4]
            # the grace is over for entry `prune` if nobody is reading who read before it was written
            old = all(r[0] != "reads" or r[2] > prune for r in readers)
            nk = n + 1 if self.v == "no-grace" else prune if old else kept
            e = (rels, epoch + 1, max(nk, kept), n + 1, 100 + i * 10 + left)
            yield from self.append(i, n, e, s, a, ("sweep", n + 1, left), lambda m: ("pread", left), 0)
        elif a[0] == "sweep":
            _, n, left = a
            if self.v == "delete-log" and log[n][2] > 0 and len(log[0]) == 5:
                cut = tuple(e + (True,) if k < log[n][2] else e for k, e in enumerate(log))
                yield "G%d deletes old entries" % i, a, (cut,) + s[1:]
            for k in sorted(self.garbage(log, n, present)):
                for tag, t in self.write(("DEL", k), s):
                    yield "G%d deletes %s%s" % (i, k, tag), a, t
                if s[6][0] > 0:  # no answer, and it gives up: applied at some time
                    t = s[:3] + (tuple(sorted(s[3] + (("DEL", k),), key=repr)),) + s[4:6] + ((s[6][0] - 1, s[6][1]),)
                    yield "G%d no answer to delete %s" % (i, k), a, t
            # what it did not delete: LIST did not show it, or it was interrupted
            yield "G%d ends its round" % i, ("pread", left - 1), s

    # ---- promises
    def broken(self, s):
        log, present, pointer, pending, actors, readers, _ = s
        end = len(log) - 1
        if any(a[0] == "void" for a in actors):
            return "somebody was told that an entry is written which nobody will read"
        lost = self.live(log, end) - present
        if lost:
            return "an offered release misses %s" % sorted(lost)
        for i, r in enumerate(readers):
            if r[0] == "reads" and self.v != "plain-pointer-log":
                lost = set().union(*(o | p for o, p in log[r[1]][0])) - present
                if lost:
                    return "reader %d misses %s within its grace" % (i, sorted(lost))
        for i, a in enumerate(actors[:self.nwriters]):
            if a[0] in ("point", "point2", "look", "done"):
                count = sum(1 for e in log if e[4] == i)
                if count != 1:
                    return "publisher %d was told it is published, and stands in the log %d times" % (i, count)
            elif sum(1 for e in log if e[4] == i) > (0 if a[0] == "gone" else 1):
                return "publisher %d stands in the log too often" % i
        if all(a[0] in ("done", "gone") for a in actors) and log[pointer][0] != log[end][0]:
            if self.v != "plain-pointer-log" and not any(g[0] == "PTR" for g in pending):
                return "all have finished, and the pointer shows %d of %d" % (pointer, end)
        return None


def explore(case, variant=None, limit=30_000_000):
    m = Model(case, variant)
    s = m.start()
    seen, todo, count = {s: None}, deque([s]), 0
    while todo:
        s = todo.popleft()
        count += 1
        why = m.broken(s)
        if why:
            trace = []
            while seen[s] is not None:
                s, label = seen[s]
                trace.append(label)
            return count, why, trace[::-1]
        if count > limit:
            return count, "LIMIT", []
        for label, t in m.steps(s):
            if t not in seen:
                seen[t] = (s, label)
                todo.append(t)
    return count, None, []


def main():
    args = sys.argv[1:]
    if args == ["--list"]:
        for n, c in {**QUICK, **CASES, **BIG}.items():
            print("case %-10s publishers %s, packers %s, prune rounds %s, readers %d, ghosts %d, stale %d"
                  % ((n,) + c[:6]))
        for n, t in VARIANTS.items():
            print("variant %-20s %s" % (n, t))
        return 0
    if args and args[0] not in ("--quick", "--big"):
        t = time.time()
        count, why, trace = explore({**QUICK, **CASES, **BIG}[args[0]], args[1] if len(args) > 1 else None)
        print("%d states, %.1f s: %s" % (count, time.time() - t, why or "holds"))
        print("".join("   %s\n" % x for x in trace), end="")
        return 1 if why else 0
    bad = 0
    cases = QUICK if args == ["--quick"] else {**QUICK, **CASES, **(BIG if args == ["--big"] else {})}
    for name, case in cases.items():
        t = time.time()
        count, why, trace = explore(case)
        print("%-10s %9d states %6.1f s  %s" % (name, count, time.time() - t, why or "holds"), flush=True)
        bad += why is not None
    for name, case in QUICK.items():
        for variant in HOLDS:
            count, why, trace = explore(case, variant)
            print("%-10s %9d states  %s: %s" % (name, count, HOLDS[variant], why or "holds"), flush=True)
            bad += why is not None
    for variant in VARIANTS:
        for name, case in {**QUICK, **CASES}.items():
            count, why, trace = explore(case, variant, 60_000)
            if why and why != "LIMIT":
                print("broken %-20s caught in %-9s after %7d states, %2d steps: %s"
                      % (variant, name, count, len(trace), why), flush=True)
                break
        else:
            print("broken %-20s NOT CAUGHT" % variant, flush=True)
            bad += 1
    return 1 if bad else 0


sys.exit(main())
