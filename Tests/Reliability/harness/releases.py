"""The content that is stored: releases whose every byte follows from their number."""

import os
import random


def release(number, seed=0):
    """The files of a release: path to (bytes, executable).

    Most are shared by all, some by neighbours, some are its own; empty, alike, executable and large ones are among
    them, the large one large enough for a pull to write it piece by piece.
    """
    own = random.Random(f"{seed}/{number}")
    shared = random.Random(f"{seed}")
    files = {
        "index.html": (f"<h1>release {number}</h1>".encode(), False),
        "empty": (b"", False),
        "run.sh": (f"#!/bin/sh\necho {number // 2}\n".encode(), True),
        "doc/run.txt": (f"#!/bin/sh\necho {number // 2}\n".encode(), False),
        "own/one.bin": (own.randbytes(4000), False),
        "own/two.bin": (own.randbytes(70_000), False),
        "lib/large.bin": (random.Random(f"{seed}/large/{number // 3}").randbytes(300_000), False),
        "lib/copy of index.html": (f"<h1>release {number}</h1>".encode(), False),
    }
    for count in range(4):
        files[f"lib/shared{count}.js"] = (shared.randbytes(3000), False)
    return files


def write_release(directory, files):
    """Writes the files below the directory, which is made."""
    os.makedirs(directory, exist_ok=True)
    for path, (content, executable) in files.items():
        target = os.path.join(directory, path)
        os.makedirs(os.path.dirname(target), exist_ok=True)
        with open(target, "wb") as file:
            file.write(content)
        os.chmod(target, 0o755 if executable else 0o644)


def tree_complaint(directory, files, damaged=()):
    """What the tree differs in from the release, or None. What is damaged may have any bytes."""
    found = set()
    for parent, directories, names in os.walk(directory):
        for name in names + [name for name in directories if os.path.islink(os.path.join(parent, name))]:
            target = os.path.join(parent, name)
            path = os.path.relpath(target, directory)
            found.add(path)
            if path not in files:
                return f"{target} belongs to no release"
            if path in damaged:
                continue
            content, executable = files[path]
            try:
                with open(target, "rb") as file:
                    if file.read() != content:
                        return f"{target} has other bytes than were added"
            except OSError as error:
                return f"{target} cannot be read: {error}"
            if bool(os.stat(target).st_mode & 0o111) != executable:
                return f"{target} has the wrong mode"
    for path in files:
        if path not in found:
            return f"{directory} lacks {path}"
    return None
