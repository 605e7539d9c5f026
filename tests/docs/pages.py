"""What a Markdown page says that a program can check: commands, flags, targets and file names.

A command stands in a block that is marked `console`, after `$ `; a line after `> ` goes on with
it. The lines below are what it prints, standard error and output together; a line `...` stands for
any lines, and at the end of a line ` ...` for the rest of it. A command without lines below it is
run and has to end with exit code 0, like all of them.
"""

import pathlib
import re

_FENCE = re.compile(r"^(\s*)```(\w*)\s*$")
_INLINE_CODE = re.compile(r"`([^`\n]+)`")
_FLAG = re.compile(r"(?<!\S)--(?:no)?(\w+)")
_TARGET = re.compile(r"(?:^|[\s(])\./bazelw (?:run|test|build) (.*)")
_LINK = re.compile(r"\]\(([^)#:\s]+\.md)\)")
_FILE = re.compile(r"^[a-z_]+(?:/[a-z_0-9]+)*/[a-z_0-9]+\.(?:cc|h|inc|proto|py|bzl|textproto)$")

_TOOL_WORDS = ("quantize ", "transpile ", "train ", "calibrate ", "infer ", "inspect ",
               "ocr ")

ANY_LINES = "..."
ANY_REST = " ..."
COMMAND = "$ "
CONTINUATION = "> "


class Command:
    """A command, and the lines that the page shows below it."""

    def __init__(self, line, text):
        self.line = line  # counted from 0
        self.text = text
        self.output_begin = line + 1
        self.output = []

    def accepts(self, printed):
        """Whether the printed lines are those of the page."""
        return not self.output or _matches(self.output, printed)


def _is_line(expected, printed):
    beginning = expected[:-len(ANY_LINES)]
    return expected == printed or (expected.endswith(ANY_REST) and printed.startswith(beginning))


def _matches(expected, printed):
    if ANY_LINES not in expected:
        return len(expected) == len(printed) and all(map(_is_line, expected, printed))
    gap = expected.index(ANY_LINES)
    head, tail = expected[:gap], expected[gap + 1:]
    if not _matches(head, printed[:gap]):
        return False
    rest = printed[gap:]
    return any(_matches(tail, rest[skipped:]) for skipped in range(len(rest) + 1))


class Page:
    def __init__(self, path, name):
        self.name = name
        self.path = pathlib.Path(path)
        self.lines = self.path.read_text(encoding="utf-8").splitlines()
        self.commands = []
        self.complaints = []
        self._code = []  # (line, text): inline code, and lines of blocks that are not run
        self._read()

    def _complain(self, line, text):
        self.complaints.append(f"{self.name}:{line + 1}: {text}")

    def _read(self):
        language = None
        for number, line in enumerate(self.lines):
            fence = _FENCE.match(line)
            if fence:
                language = fence.group(2) if language is None else None
            elif language == "console":
                self._read_console_line(number, line)
            elif language is not None or line.startswith("    "):
                text = line.strip()
                self._code.append((number, text))
                # A line that ends in ... shows the form of a command, as inline code does.
                if text.startswith((COMMAND, *_TOOL_WORDS)) and not text.endswith(ANY_LINES):
                    self._complain(number, "a command in a block that is not marked console")
            else:
                self._code += [(number, code) for code in _INLINE_CODE.findall(line)]
                if line.count("`") % 2:
                    self._complain(number, "inline code does not end in its line")

    def _read_console_line(self, number, line):
        if line.startswith(COMMAND):
            self.commands.append(Command(number, line[len(COMMAND):]))
        elif not self.commands:
            self._complain(number, "output without a command")
        elif line.startswith(CONTINUATION) and not self.commands[-1].output:
            self.commands[-1].text += "\n" + line[len(CONTINUATION):]
            self.commands[-1].output_begin = number + 1
        else:
            self.commands[-1].output.append(line)

    def check_names(self, known_flags, known_targets, known_files):
        """Complains of flags, targets and files that there are not."""
        for number, code in self._code:
            tool = code.split(" ")[0]
            for flag in _FLAG.findall(code) if tool in known_flags else ():
                if flag not in known_flags[tool]:
                    self._complain(number, f"{tool} has no flag --{flag}")
            target = _TARGET.search(code)
            for word in target.group(1).split() if target else ():
                if word == "--":
                    break
                if word.startswith("//") and word not in known_targets:
                    self._complain(number, f"{word} is not in known_targets of //tests/docs")
            # Pages about adding something name files that are yet to be written.
            if (_FILE.match(code) and code not in known_files
                    and not self.path.name.startswith("adding_")):
                self._complain(number, f"there is no file {code}")
        for number, link in self._links():
            if not (self.path.parent / link).exists():
                self._complain(number, f"there is no page {link}")

    def check_links_to(self, names):
        """Complains of pages that it has no link to; their names are as a link says them."""
        links = {link for _, link in self._links()}
        self.complaints += [f"{self.name}: no link to {name}" for name in names
                            if name not in links]

    def _links(self):
        """Links to pages, each with its line."""
        return [(number, link) for number, line in enumerate(self.lines)
                for link in _LINK.findall(line)]

    def with_outputs(self, outputs):
        """The page's text, with the output of each command that shows one, by line."""
        lines = list(self.lines)
        for command in reversed(self.commands):
            if not command.accepts(outputs[command.line]):
                end = command.output_begin + len(command.output)
                lines[command.output_begin:end] = outputs[command.line]
        return "\n".join(lines) + "\n"
