"""What the scripts show, and how they run commands: as one would type them."""

import json
import os
import shlex
import subprocess
import sys
from pathlib import Path

# --- What is shown.

COLOUR = sys.stdout.isatty() and not os.environ.get("NO_COLOR") and os.environ.get("TERM") != "dumb"


def styled(text, code):
    return f"\x1b[{code}m{text}\x1b[0m" if COLOUR else text


def say(text=""):
    print(text, flush=True)


def heading(text):
    say(styled(text, "1"))


def typed(*words):
    say("  " + styled("$ " + shlex.join(words), "36"))


def conclude(text):
    say("  " + styled("> " + text, "32"))


def shown(path):
    """The shortest way to write a path from where the user stands."""
    path = Path(os.path.abspath(path))
    return str(path.relative_to(Path.cwd())) if path.is_relative_to(Path.cwd()) else str(path)


def size(count):
    if count < 1024:
        return some(count, "byte")
    for unit in ("KiB", "MiB", "GiB"):
        count /= 1024
        if count < 1024 or unit == "GiB":
            return f"{count:.1f} {unit}"


def some(count, noun):
    return f"{count:,} {noun}" if count == 1 else f"{count:,} {noun}s"


# --- Commands.

PATIENCE = 600  # seconds for one command


class Failure(Exception):
    """A step that did not do what it promised; its message is for people."""


def demand(condition, message):
    if not condition:
        raise Failure(message)


def run(arguments, lines_shown=0, program=None, env=None):
    """Runs a command and returns its output; shows it as one would type it, with its first lines and its last one."""
    name = shlex.join(arguments)
    if lines_shown:
        typed(*arguments)
    # Who watches sees how far it is; a program prints that on standard error, and takes it away again.
    watched = bool(lines_shown) and sys.stdout.isatty() and sys.stderr.isatty()
    try:
        done = subprocess.run(
            [program or arguments[0], *arguments[1:]], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
            stderr=None if watched else subprocess.PIPE, text=True, errors="replace", timeout=PATIENCE, env=env)
    except FileNotFoundError:
        raise Failure(f"{program or arguments[0]} is not there; is it installed?") from None
    except subprocess.TimeoutExpired:
        raise Failure(f"'{name}' was still running after {PATIENCE} seconds") from None
    if done.returncode != 0:
        said = "".join("\n  " + line for line in (done.stdout + (done.stderr or "")).splitlines()[-5:])
        raise Failure(f"'{name}' ended with status {done.returncode}{said}")
    lines = done.stdout.splitlines()
    if len(lines) > lines_shown > 0:
        lines[lines_shown - 1:] = lines[-1:] if lines_shown > 1 else lines[:1]
    for line in lines[:lines_shown]:
        say("    " + line.strip())
    return done.stdout


class Castree:
    """The program, and the store that it works on."""

    def __init__(self, program, store):
        self.program, self.store = program, store
        self.env = dict(os.environ, CASTREE_STORE=shown(store))

    def __call__(self, *arguments, lines=1):
        """Runs a command and shows so many lines of what it prints."""
        return run(["castree", *arguments], lines, str(self.program), self.env)

    def document(self, *arguments):
        """What the command says with --json; nothing is shown."""
        output = self(*arguments, "--json", lines=0)
        try:
            return json.loads(output)
        except json.JSONDecodeError as error:
            raise Failure(f"'castree {shlex.join(arguments)} --json' printed no JSON: {error}") from None
