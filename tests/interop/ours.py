"""Programs that our backends run: what `paddle_run` is for PaddlePaddle."""

import pathlib
import subprocess
import tempfile

import numpy

# The backends of runtime/backends.h: the executor and the interpreter.
BACKENDS = ("onednn", "reference")


class Refused(AssertionError):
    """A backend's error; the text is its message."""


class Runner:
    """A process of run_programs.cc, which runs one program after the other."""

    def __init__(self, binary):
        self._folder = tempfile.TemporaryDirectory(prefix="fixpoint-interop-")
        self._process = subprocess.Popen([binary], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                                         text=True)
        self._runs = 0

    def _ask(self, line):
        self._process.stdin.write(line + "\n")
        self._process.stdin.flush()
        answer = self._process.stdout.readline().rstrip("\n")
        assert answer, f"run_programs ended with status {self._process.wait()} at: {line}"
        return answer

    def types(self, backend):
        """The op types that a backend runs."""
        return frozenset(self._ask(f"types {backend}").split(" "))

    def run(self, backend, program, scope, feeds, fetches, lods=None):
        """What each run fetched, the offsets that it has, and what the scope holds after the last.

        `program` is serialized; `scope` and each of the `feeds`, one per run, are arrays by name.
        Offsets of sequences are lists by name, one for each level; of what is fed `lods` has them.
        """
        self._runs += 1
        folder = pathlib.Path(self._folder.name) / str(self._runs)
        folder.mkdir()
        (folder / "program.pdmodel").write_bytes(program)
        (folder / "fetches").write_text("".join(f"{name}\n" for name in fetches))
        (folder / "lod").write_text("".join(
            " ".join([name, *(",".join(map(str, level)) for level in lod)]) + "\n"
            for name, lod in (lods or {}).items()))
        numpy.savez(folder / "scope.npz", **scope)
        for step, feed in enumerate(feeds):
            numpy.savez(folder / f"feeds.{step}.npz", **feed)
        answer = self._ask(f"run {backend} {folder}")
        if answer != "done":
            raise Refused(answer)
        steps = range(len(feeds))
        return ([_load(folder / f"fetched.{step}.npz") for step in steps],
                [_load_lods(folder / f"fetched.{step}.lod") for step in steps],
                _load(folder / "left.npz"))


def _load(path):
    with numpy.load(path) as archive:
        return {name: archive[name] for name in archive.files}


def _load_lods(path):
    lods = {}
    for line in path.read_text().splitlines():
        name, *levels = line.split(" ")
        lods[name] = [[int(offset) for offset in level.split(",")] for level in levels]
    return lods
