#!/usr/bin/python3
"""Who writes columns of the page of models keeps those of the other."""

import pathlib
import sys
import tempfile
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))
from models_page import DIFFERENCES, NAME, TIMES, ModelsPage  # noqa: E402

_HOW = "one core of a machine: " + "processor time " * 20 + "as medians."


def _cells(columns, cell):
    return [cell] * len(columns)


class ModelsPageTest(unittest.TestCase):

    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self._docs = pathlib.Path(folder.name)
        ModelsPage(self._docs).write_differences(
            {name: _cells(DIFFERENCES, "1e-07") for name in ("a/net.pdmodel", "b.__model__")})

    def _text(self):
        return (self._docs / NAME).read_text(encoding="utf-8")

    def _rows(self):
        return [line for line in self._text().splitlines() if line.startswith("| `")]

    def _write_times(self):
        page = ModelsPage(self._docs)
        page.write_times(_HOW, {name: _cells(TIMES, "2.5") for name in page.programs()})

    def test_what_is_not_measured_yet_is_empty(self):
        self.assertEqual(self._rows()[1],
                         "| `b.__model__` | 1e-07 | 1e-07 | 1e-07 |  |  |  |  |  |  |")

    def test_times_keep_differences(self):
        self._write_times()
        self.assertEqual(self._rows()[0],
                         "| `a/net.pdmodel` | 1e-07 | 1e-07 | 1e-07 " + "| 2.5 " * 6 + "|")

    def test_differences_keep_times_and_how_they_were_measured(self):
        self._write_times()
        before = self._text()
        ModelsPage(self._docs).write_differences(
            {name: _cells(DIFFERENCES, "3e-07") for name in ModelsPage(self._docs).programs()})
        self.assertIn("\nMeasured on one core of a machine: processor", before)
        self.assertEqual(self._text(), before.replace("1e-07", "3e-07"))

    def test_the_programs_are_those_that_have_differences(self):
        self._write_times()
        ModelsPage(self._docs).write_differences(
            {name: _cells(DIFFERENCES, "-") for name in ("b.__model__", "c.pdmodel")})
        self.assertEqual(self._rows(), [
            "| `b.__model__` | - | - | - " + "| 2.5 " * 6 + "|",
            "| `c.pdmodel` | - | - | - |  |  |  |  |  |  |"])


if __name__ == "__main__":
    unittest.main()
