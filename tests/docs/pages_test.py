#!/usr/bin/python3
"""What is read of a page, and what is complained of."""

import pathlib
import sys
import tempfile
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))
from pages import Page  # noqa: E402

_CONSOLE = "```console\n{}```\n"


class PagesTest(unittest.TestCase):

    def setUp(self):
        self._folder = tempfile.TemporaryDirectory()
        self.addCleanup(self._folder.cleanup)

    def _page(self, text):
        path = pathlib.Path(self._folder.name) / "page.md"
        path.write_text(text, encoding="utf-8")
        return Page(path, "page.md")

    def _complaints(self, text):
        page = self._page(text)
        page.check_names({"transpile": {"json"}}, {"//tools:transpile"}, {"ops/era.h"})
        return page.complaints

    def test_a_command_goes_on_after_a_bracket_and_is_followed_by_its_output(self):
        page = self._page(_CONSOLE.format("$ cat <<END\n> a\n> END\na\n$ true\n"))
        self.assertEqual([(c.line, c.text, c.output) for c in page.commands],
                         [(1, "cat <<END\na\nEND", ["a"]), (5, "true", [])])

    def test_output_that_is_shown_is_compared(self):
        command = self._page(_CONSOLE.format("$ cat x\na\n...\nd\n")).commands[0]
        self.assertTrue(command.accepts(["a", "b", "c", "d"]))
        self.assertTrue(command.accepts(["a", "d"]))
        self.assertFalse(command.accepts(["a", "b"]))
        self.assertFalse(command.accepts(["b", "d"]))

    def test_the_rest_of_a_line_can_be_left_open(self):
        command = self._page(_CONSOLE.format("$ ls x\nthere are ...\nb\n")).commands[0]
        self.assertTrue(command.accepts(["there are a, c", "b"]))
        self.assertFalse(command.accepts(["there is a", "b"]))
        self.assertFalse(command.accepts(["there are a, c", "d"]))

    def test_any_output_is_accepted_where_none_is_shown(self):
        self.assertTrue(self._page(_CONSOLE.format("$ ls\n")).commands[0].accepts(["a"]))

    def test_outputs_are_written_where_they_are_shown(self):
        page = self._page(_CONSOLE.format("$ one\nold\n$ two\n$ three\n...\nthird\n"))
        self.assertEqual(
            page.with_outputs({1: ["new", "lines"], 3: ["unseen"], 4: ["first", "third"]}),
            _CONSOLE.format("$ one\nnew\nlines\n$ two\n$ three\n...\nthird\n"))

    def test_what_is_there_is_not_complained_of(self):
        self.assertEqual(
            self._complaints("`transpile --json`, `ops/era.h`, [this](page.md), "
                             "`./bazelw run -c opt //tools:transpile -- //x`\n\n"
                             "    transpile --json ...\n"), [])

    def test_what_is_not_there_is_complained_of(self):
        for text, complaint in (
                ("```\n$ ls\n```", "2: a command in a block that is not marked console"),
                ("    transpile x", "1: a command in a block that is not marked console"),
                (_CONSOLE.format("text\n"), "2: output without a command"),
                ("`transpile --jsn`", "1: transpile has no flag --jsn"),
                ("`./bazelw run //x:y`", "1: //x:y is not in known_targets of //tests/docs"),
                ("`ops/eras.h`", "1: there is no file ops/eras.h"),
                ("[x](lists/x.md)", "1: there is no page lists/x.md"),
                ("`a", "1: inline code does not end in its line")):
            self.assertEqual(self._complaints(text), [f"page.md:{complaint}"])

    def test_a_page_without_a_link_to_it_is_complained_of(self):
        page = self._page("[a](docs/a.md)")
        page.check_links_to(["docs/a.md", "docs/b.md"])
        self.assertEqual(page.complaints, ["page.md: no link to docs/b.md"])


if __name__ == "__main__":
    unittest.main()
