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
    say("\n" + styled(text, "1"))


def conclude(text):
    say("  " + styled(text, "32"))


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
LINES_SHOWN = 14


class Failure(Exception):
    """A step that did not do what it promised; its message is for people."""


def run(arguments, show=True, program=None, env=None):
    """Runs a command, shows it as one would type it with what it printed, and returns the output."""
    typed = shlex.join(arguments)
    if show:
        say("\n  " + styled("$ " + typed, "36"))
    try:
        done = subprocess.run(
            [program or arguments[0], *arguments[1:]], stdin=subprocess.DEVNULL, capture_output=True,
            text=True, errors="replace", timeout=PATIENCE, env=env)
    except FileNotFoundError:
        raise Failure(f"{program or arguments[0]} is not there; is it installed?") from None
    except subprocess.TimeoutExpired:
        raise Failure(f"'{typed}' was still running after {PATIENCE} seconds") from None
    lines = (done.stdout + done.stderr).splitlines()
    if show:
        if done.returncode == 0 and len(lines) > LINES_SHOWN + 2:  # the last line may sum up
            lines[LINES_SHOWN:-1] = [f"… {some(len(lines) - LINES_SHOWN - 1, 'more line')} …"]
        for line in lines:
            say(("    " + line).rstrip())
    if done.returncode != 0:
        if not show:
            say("\n".join("    " + line for line in lines))
        raise Failure(f"'{typed}' ended with status {done.returncode}")
    return done.stdout


class Castree:
    """The program, and the store that it works on."""

    def __init__(self, program, store):
        self.program, self.store = program, store
        self.env = dict(os.environ, CASTREE_STORE=shown(store))

    def __call__(self, *arguments, show=True):
        return run(["castree", *arguments], show=show, program=str(self.program), env=self.env)

    def document(self, *arguments, show=True):
        """What the command says with --json."""
        output = self(*arguments, "--json", show=show)
        try:
            return json.loads(output)
        except json.JSONDecodeError as error:
            raise Failure(f"'castree {shlex.join(arguments)} --json' printed no JSON: {error}") from None

    def tree(self, release):
        return self.store / "versions" / release.version


def demand(condition, message):
    if not condition:
        raise Failure(message)
