#!/usr/bin/python3
"""Runs every command of every page, and compares what it prints with what the page shows.

As a test it says what is different. With --update it writes what the commands print into the
pages, where they show something.
"""

import difflib
import os
import pathlib
import re
import shutil
import stat
import subprocess
import sys
import tempfile

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))
from pages import Page  # noqa: E402

_TOOLS = ("quantize", "transpile", "train", "calibrate", "infer", "inspect", "ocr")
# Of those that are not in tools.
_FOLDERS = {"ocr": "examples/ocr"}
_SECONDS = 60
_README = "README.md"
_INDEX = "docs/index.md"
_MANUAL = "docs/manual.md"
# These depend on the list of known targets, and so are not in it.
_OWN_TARGETS = ("//tests/docs:update", "//tests/docs:update_models")

# A line that only some machines print.
_OF_MACHINE = re.compile(
    "^note: .*: slower than in float on this machine|^slower than in float: |^without VNNI codes are ")

# ./bazelw in the folder that commands run in: tools are run, other targets only have to be there.
_BAZELW = """#!/bin/sh
action=$1
shift
target=
while [ $# -gt 0 ] && [ "$1" != -- ]; do
  case $1 in -*) ;; *) target=$1 ;; esac
  shift
done
[ $# -eq 0 ] || shift
case $action:$target in
  run://tools:*) exec "${target#//tools:}" "$@" ;;
  test:*|run:*|build:*) grep -qxF -e "$target" "$KNOWN_TARGETS" && exit 0 ;;
esac
echo "bazelw: $target is not in known_targets of //tests/docs"
exit 1
"""


class Machine:
    """Where commands run: the built tools on the PATH, and copies of the examples."""

    def __init__(self, here, root):
        self._root = root
        self._bin = pathlib.Path(tempfile.mkdtemp())
        self._written = {}  # by page: what its commands wrote
        self.known_targets = _known_targets(here)
        (self._bin / "known_targets").write_text("\n".join(self.known_targets))
        for tool in _TOOLS:
            folder = _FOLDERS.get(tool, "tools")
            (self._bin / tool).symlink_to((here / folder / tool).resolve())

    def known_flags(self):
        """The names of each tool's flags, from its --help, without the no of --noname."""
        return {tool: {"help", "version",
                       *re.findall(r"^  --(?:no)?(\w+)", self._help(tool), re.MULTILINE)}
                for tool in _TOOLS}

    def _help(self, tool):
        return subprocess.run([self._bin / tool, "--help"], check=True, text=True,
                              stdout=subprocess.PIPE).stdout

    def run_page(self, page):
        """What each command printed, and its exit code, by the command's line."""
        with tempfile.TemporaryDirectory() as folder:
            folder = pathlib.Path(folder)
            for copied in ("examples/data", "examples/ocr/trained", "examples/targets",
                           "ops/quantizers/texts"):
                shutil.copytree(self._root / copied, folder / copied)
            for pattern in ("*.sh", "*.textproto"):
                for example in (self._root / "examples").glob(pattern):
                    shutil.copy(example, folder / "examples")
            for path in [folder, *folder.rglob("*")]:
                path.chmod(path.stat().st_mode | stat.S_IWUSR)
            (folder / "bazelw").write_text(_BAZELW)
            (folder / "bazelw").chmod(0o755)
            before = set(folder.rglob("*"))
            results = {command.line: self._run(command.text, folder) for command in page.commands}
            self._written[page.name] = sorted(path.relative_to(folder) for path in
                                              set(folder.rglob("*")) - before if path.is_file())
            return results

    def unignored(self, page):
        """The files that the page's commands wrote and that git would show as new in a checkout."""
        ignored = [pattern for pattern in _words(self._root / ".gitignore") if pattern[0] == "/"]
        return [path for path in self._written[page.name]
                if not any(("/" / part).match(pattern) for pattern in ignored
                           for part in [path, *path.parents])]

    def _run(self, text, folder):
        environment = {"PATH": f"{self._bin}:/usr/bin:/bin", "LC_ALL": "C.UTF-8",
                       "KNOWN_TARGETS": str(self._bin / "known_targets")}
        done = subprocess.run(["/bin/bash", "-c", text], cwd=folder, env=environment, text=True,
                              stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                              stderr=subprocess.STDOUT, timeout=_SECONDS, check=False)
        printed = [line for line in done.stdout.splitlines() if not _OF_MACHINE.search(line)]
        return printed, done.returncode

    def close(self):
        shutil.rmtree(self._bin)


def _find_pages(root):
    paths = [root / "README.md", root / "CONTRIBUTING.md", *sorted((root / "docs").rglob("*.md"))]
    return [Page(path, str(path.relative_to(root))) for path in paths]


def _words(path):
    return path.read_text(encoding="utf-8").split()


def _known_targets(here):
    labels = _words(here / "tests/docs/known_targets")
    # //tests/interop stands for //tests/interop:interop.
    short = [package for package, name in (label.split(":") for label in labels)
             if package.split("/")[-1] == name]
    return {"//...", *_OWN_TARGETS, *labels, *short}


def _known_files(here):
    return set(_words(here / "tests/docs/known_files"))


def _complaints(page, results, known_flags):
    yield from page.complaints
    if page.name == _MANUAL:
        told = set(re.findall(r"--(?:no)?(\w+)", "\n".join(page.lines)))
        for tool, flags in known_flags.items():
            yield from (f"{page.name}: says nothing of --{flag} of {tool}"
                        for flag in sorted(flags - told) if tool not in _FOLDERS)
    for command in page.commands:
        printed, exit_code = results[command.line]
        place = f"{page.name}:{command.line + 1}: $ {command.text}"
        if exit_code != 0:
            yield "\n".join([f"{place}\nended with exit code {exit_code}:", *printed])
        elif not command.accepts(printed):
            difference = difflib.unified_diff(command.output, printed, "shown", "printed",
                                              lineterm="")
            yield "\n".join([place, *difference])


def main(arguments):
    here = pathlib.Path.cwd()
    update = "--update" in arguments
    root = pathlib.Path(os.environ["BUILD_WORKSPACE_DIRECTORY"]) if update else here
    machine = Machine(here, root)
    known_flags = machine.known_flags()
    failures = []
    commands = 0
    try:
        pages = _find_pages(root)
        for page in pages:
            results = machine.run_page(page)
            commands += len(page.commands)
            if update:
                text = page.with_outputs({line: printed for line, (printed, _) in results.items()})
                if text != page.path.read_text(encoding="utf-8"):
                    page.path.write_text(text, encoding="utf-8")
                    print(f"wrote {page.name}")
                page = Page(page.path, page.name)
                results = machine.run_page(page)
            page.check_names(known_flags, machine.known_targets, _known_files(here))
            if page.name == _INDEX:
                page.check_links_to([os.path.relpath(other.name, "docs") for other in pages
                                     if other.name not in (_INDEX, _README)])
            failures += _complaints(page, results, known_flags)
            failures += [f"{page.name}: its commands write {path}; .gitignore has no line for it"
                         for path in machine.unignored(page)]
    finally:
        machine.close()
    print("\n\n".join(failures))
    if failures:
        print("\n./bazelw run //tests/docs:update writes what the commands print into the pages")
    print(f"{commands} commands, {len(failures)} complaints")
    return 1 if failures or commands == 0 else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
