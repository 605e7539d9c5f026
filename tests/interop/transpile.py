"""The transpile tool, as the tests call it."""

import os
import pathlib
import subprocess
import tempfile

from paddle_program import read_bytes


class TranspileError(AssertionError):
    """The tool refused, or failed."""


class Transpiler:
    """Runs the tool in a folder of its own."""

    def __init__(self, binary):
        self._binary = os.path.abspath(binary)
        self._folder = tempfile.TemporaryDirectory(prefix="fixpoint-interop-")
        self._runs = 0
        # The tool would otherwise read relative paths as those of who called `bazel run`.
        self._environment = {name: value for name, value in os.environ.items()
                             if name != "BUILD_WORKING_DIRECTORY"}

    def run(self, *arguments):
        done = subprocess.run([self._binary, *map(str, arguments)], capture_output=True,
                              text=True, check=False, env=self._environment)
        if done.returncode != 0:
            raise TranspileError(f"transpile {' '.join(map(str, arguments))}: exit code "
                                 f"{done.returncode}: {done.stderr.strip()}")
        return done.stdout

    def new_folder(self):
        self._runs += 1
        folder = pathlib.Path(self._folder.name) / str(self._runs)
        folder.mkdir()
        return folder

    def transpile(self, program, config, startup=None):
        """The bytes of the quantized program and of its startup program.

        `program` and `startup` are serialized programs, `config` the text of a QuantConfig. Without
        a startup program the second result holds the initialisers of the new state alone.
        """
        folder = self.new_folder()
        (folder / "program.pdmodel").write_bytes(program)
        (folder / "config.textproto").write_text(config)
        arguments = [folder / "program.pdmodel", f"--config={folder / 'config.textproto'}",
                     f"--output={folder / 'quantized.pdmodel'}",
                     f"--startup_output={folder / 'quantized.startup.pdmodel'}"]
        if startup is not None:
            (folder / "startup.pdmodel").write_bytes(startup)
            arguments.append(f"--startup={folder / 'startup.pdmodel'}")
        self.run(*arguments)
        made = folder / "quantized.startup.pdmodel"
        return (read_bytes(folder / "quantized.pdmodel"),
                read_bytes(made) if made.exists() else startup or b"")

    def undo(self, program):
        folder = self.new_folder()
        (folder / "program.pdmodel").write_bytes(program)
        self.run("--undo", folder / "program.pdmodel", f"--output={folder / 'original.pdmodel'}")
        return read_bytes(folder / "original.pdmodel")

    def test_program(self, program):
        folder = self.new_folder()
        (folder / "program.pdmodel").write_bytes(program)
        self.run("--mode=test", folder / "program.pdmodel", f"--output={folder / 'test.pdmodel'}")
        return read_bytes(folder / "test.pdmodel")

    def freeze(self, program, parameters, feeds=(), fetches=(), form="portable", dynamic=False):
        """The bytes of the frozen program, and where its parameters are.

        `parameters` is a combined file or a folder of files; the result's are in the same form.
        """
        folder = self.new_folder()
        (folder / "program.pdmodel").write_bytes(program)
        arguments = ["--mode=freeze", folder / "program.pdmodel", f"--params={parameters}",
                     f"--output={folder / 'frozen.pdmodel'}",
                     f"--params_output={folder / 'frozen'}", f"--frozen_form={form}"]
        if feeds:
            arguments.append(f"--feeds={','.join(feeds)}")
        if fetches:
            arguments.append(f"--fetches={','.join(fetches)}")
        if dynamic:
            arguments.append("--allow_dynamic")
        self.run(*arguments)
        return read_bytes(folder / "frozen.pdmodel"), folder / "frozen"
