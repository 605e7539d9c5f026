#!/usr/bin/python3
"""The README's figures are those of docs/results.md, and figures that differ are found."""

import pathlib
import sys
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))
from figures import complaints  # noqa: E402

_README = """
| | Fixpoint | Peer 1.2 |
|---|---|---|
| Net, batch 1: int8 (float) | 1.5 ms (4.0) | 2.5 ms (5.0) |
| LeNet-5 on MNIST at 8, 4 and 2 bits (float: 99.1 %) | 99.2, 98.9, 98.5 % | |
"""

_RESULTS = """
Beside Peer 1.2:

| LeNet-5, MNIST, 5 seeds | accuracy |
|---|---|
| float | 99.1 % |
| 8 bits, `moving_average_abs_max` | 99.2 % |
| 4 bits, `lsq` | 98.9 % |
| 2 bits, `lsq` | 98.5 % |

| network | float: ours | Peer | none | int8: ours | Peer |
|---|---|---|---|---|---|
| Net, batch 1 | 4.0 | 5.0 | - | 1.5 | 2.5 |
"""


class FiguresTest(unittest.TestCase):

    def test_the_readme_has_the_figures_of_the_results(self):
        root = pathlib.Path.cwd()
        readme = (root / "README.md").read_text(encoding="utf-8")
        results = (root / "docs/results.md").read_text(encoding="utf-8")
        self.assertEqual(complaints(readme, results), [])

    def test_equal_figures_are_not_complained_of(self):
        self.assertEqual(complaints(_README, _RESULTS), [])

    def test_other_figures_are_complained_of(self):
        for was, now, complaint in (
                ("| 5.0 | - |", "| 5.1 | - |",
                 "Net, batch 1: int8 (float): 1.5 ms (4.0), 2.5 ms (5.0); results.md has "
                 "1.5 ms (4.0), 2.5 ms (5.1)"),
                ("98.9 %", "98.8 %",
                 "accuracies: LeNet-5 on MNIST at 8, 4 and 2 bits (float: 99.1 %), "
                 "99.2, 98.9, 98.5 %; results.md has LeNet-5 on MNIST at 8, 4 and 2 bits "
                 "(float: 99.1 %), 99.2, 98.8, 98.5 %"),
                ("| Net, batch 1 |", "| Net, batch 2 |",
                 "Net, batch 1: int8 (float): results.md has no such row"),
                ("Peer 1.2:", "Peer 1.3:", "results.md has no Peer 1.2")):
            self.assertEqual(complaints(_README, _RESULTS.replace(was, now)), [complaint])

    def test_a_row_that_cannot_be_compared_is_complained_of(self):
        self.assertEqual(complaints(_README + "| Size | 1 | 2 |\n", _RESULTS),
                         ["Size: no figures of results.md are known for this row"])
        self.assertEqual(complaints("", _RESULTS), ["the README has no table of figures"])


if __name__ == "__main__":
    unittest.main()
