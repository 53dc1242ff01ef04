"""What the grounds of `ground` share: a place to work in, and the word for what cannot be done here."""

import os
import shutil
import subprocess

from . import disks, removal, verbs


class CannotDo(Exception):
    """This machine has not what the ground needs; says nothing about castree."""


class Lab:
    """A directory for one ground, with the releases in it."""

    def __init__(self, options, tools, directory, name):
        self.options, self.tools = options, tools
        self.directory = os.path.join(directory, name)
        os.makedirs(self.directory)
        self.sources = verbs.write_sources(self.directory, options.seed)
        self.mounted, self.devices = [], []

    @property
    def seed(self):
        return self.options.seed

    def place(self, name, mode=0o755):
        """A new directory in the lab."""
        path = os.path.join(self.directory, name)
        os.makedirs(path)
        os.chmod(path, mode)
        return path

    def work(self, name):
        """A new directory for one telling of the ten verbs, with the releases in it."""
        path = self.place(name)
        verbs.write_sources(path, self.seed)
        return path

    def mount(self, what, place, *words):
        """Mounts for as long as the ground lasts."""
        need_root()
        try:
            disks.run("mount", *words, what, place)
        except OSError as error:
            raise CannotDo(str(error)) from error
        self.mounted.append(place)

    def unmount(self, place):
        disks.run("umount", place)
        self.mounted.remove(place)

    def end(self):
        """Takes away what was mounted and made."""
        for place in reversed(self.mounted):
            subprocess.run(["umount", "-l", place], check=False, capture_output=True)
        for device in self.devices:
            subprocess.run(["losetup", "--detach", device], check=False, capture_output=True)
        removal.remove(self.directory)


def need_root():
    if os.geteuid():
        raise CannotDo("it needs root")


def need(*programs):
    """Refuses where a program is not installed."""
    for program in programs:
        if not shutil.which(program, path=disks.PATH):
            raise CannotDo(f"{program} is not installed; scripts/setup ground installs it")


def works(*words):
    """Refuses where a program cannot do what it is asked for here."""
    done = subprocess.run(words, capture_output=True, text=True, check=False, env={**os.environ, "PATH": disks.PATH})
    if done.returncode:
        raise CannotDo(f"{' '.join(words)}: {done.stderr.strip() or 'status ' + str(done.returncode)}")


def difference(source, tree):
    """Where a tree is not what its source is now, or None: paths, bytes, who may run it."""
    seen = {}
    for root in (source, tree):
        for parent, _, names in os.walk(root):
            for name in names:
                full = os.path.join(parent, name)
                with open(full, "rb") as file:
                    content = file.read()
                found = (content, bool(os.stat(full).st_mode & 0o100))
                seen.setdefault(os.path.relpath(full, root), {})[root] = found
    for path, sides in sorted(seen.items()):
        if len(sides) < 2:
            return f"{path} is only in {next(iter(sides))}"
        if sides[source] != sides[tree]:
            return f"{path} of {tree} is not what {source} holds"
    return None if seen else f"{source} and {tree} are empty"
