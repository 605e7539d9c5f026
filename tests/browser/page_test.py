#!/usr/bin/python3
"""The pages of `inspect report`: whole, well-formed, without anything from outside."""

import pathlib
import re
import subprocess
import sys
import tempfile
import unittest
import xml.etree.ElementTree

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))
import samples  # noqa: E402

_INSPECT = pathlib.Path.cwd() / "tools/inspect"


class PageTest(unittest.TestCase):

    def page(self, *texts):
        """The page of runs with these reports."""
        with tempfile.TemporaryDirectory() as folder:
            runs = []
            for i, text in enumerate(texts):
                run = pathlib.Path(folder) / f"run{i}"
                run.mkdir()
                (run / "report.textproto").write_text(text, encoding="utf-8")
                runs.append(str(run))
            output = pathlib.Path(folder) / "page.html"
            run = subprocess.run([str(_INSPECT), "report", *runs, f"--output={output}"],
                                 capture_output=True, text=True, check=False)
            self.assertEqual(run.returncode, 0, run.stderr)
            return output.read_text(encoding="utf-8")

    def parsed(self, page):
        return xml.etree.ElementTree.fromstring(page.partition("\n")[2])

    def text(self, element):
        return "".join(element.itertext())

    def test_needs_nothing_from_outside(self):
        for page in [self.page(samples.residual_net(2)),
                     self.page(samples.residual_net(2), samples.residual_net(3, bits=4))]:
            self.assertNotRegex(page, r"https?:|url\(|@import")
            root = self.parsed(page)
            for element in root.iter():
                self.assertNotIn("src", element.attrib)
                self.assertRegex(element.attrib.get("href", "#"), "^#")
            self.assertEqual([child.tag for child in root.iter("link")], [])
            self.assertEqual(len(list(root.iter("script"))), 1)

    def test_no_name_becomes_markup(self):
        page = self.page(samples.residual_net(1, name=samples.HOSTILE))
        root = self.parsed(page)
        self.assertEqual(list(root.iter("img")), [])
        self.assertIn(samples.HOSTILE, root.find("head/title").text)
        for element in root.iter():
            self.assertNotIn("onerror", element.attrib)
        cards = [card for card in root.iter("details") if samples.HOSTILE in self.text(card)]
        self.assertEqual(len(cards), 1)

    def test_bytes_that_are_no_text_are_replaced(self):
        root = self.parsed(self.page(samples.hostile_bytes()))
        self.assertIn("\ufffd\ufffd no UTF-8 \ufffd\ufffd\ufffd\ufffd \ufffd", self.text(root))

    def test_shows_every_decision_with_its_reason(self):
        root = self.parsed(self.page(samples.residual_net(2)))
        cards = {card.find("summary/code").text: self.text(card)
                 for card in root.iter("details") if card.get("class") == "layer"}
        self.assertEqual(len(cards), 2 * 3 + 1)  # relus, which were lowered, are no layers
        self.assertIn("by_target: quantized, as the target does for its type", cards["conv_0a"])
        self.assertIn("no_residual: float: it adds no residual", cards["add_1"])
        self.assertIn("8 bits, signed, per tensor, symmetric, abs_max", cards["conv_1b"])
        self.assertIn("Its widest channel has 20 times the range", cards["conv_1b"])
        table = next(table for table in root.iter("table") if table.get("class") == "layers")
        rows = [self.text(row.find("th")) for row in table.find("tbody")]
        self.assertEqual(len(rows), len(cards))

    def test_links_lead_somewhere_and_ids_are_unique(self):
        root = self.parsed(self.page(samples.residual_net(2), samples.residual_net(3)))
        ids = [element.get("id") for element in root.iter() if element.get("id")]
        self.assertEqual(len(ids), len(set(ids)))
        for link in root.iter("a"):
            self.assertIn(link.get("href")[1:], ids)

    def test_marks_what_differs_in_two_runs(self):
        root = self.parsed(self.page(samples.residual_net(2), samples.residual_net(3, bits=4)))
        marks = {card.find("summary/code").text:
                 [mark.text for mark in card.iter("span") if mark.get("class") == "mark"]
                 for card in root.iter("details") if card.get("class") == "layer"}
        self.assertEqual(marks["conv_0a"], ["codes differ"])
        self.assertEqual(marks["conv_2a"], ["in one run only"])
        self.assertEqual(marks["add_0"], [])
        settings = [row.find("th").text for row in root.iter("tr") if row.get("class") == "differs"]
        self.assertEqual(settings, ["bits"])

    def test_is_the_same_for_the_same_reports(self):
        report = samples.residual_net(2)
        self.assertEqual(self.page(report), self.page(report))

    def test_the_graph_of_a_large_network_is_folded(self):
        root = self.parsed(self.page(samples.residual_net(60)))
        parts = [part for part in root.iter("details") if part.get("class") == "part"]
        self.assertEqual([part.get("open") for part in parts], ["open"] + [None] * 4)
        nodes = sum(1 for part in parts for _ in part.iter("rect"))
        self.assertEqual(nodes, 60 * 3 + 1)

    def test_nodes_do_not_overlap_and_edges_go_down(self):
        root = self.parsed(self.page(samples.residual_net(5)))
        graph = next(svg for svg in root.iter("svg") if svg.get("class") == "graph")
        width, height = float(graph.get("width")), float(graph.get("height"))
        boxes = [[float(rect.get(name)) for name in ("x", "y", "width", "height")]
                 for rect in graph.iter("rect")]
        for i, (x, y, wide, high) in enumerate(boxes):
            self.assertTrue(0 <= x <= width - wide and 0 <= y <= height - high, boxes[i])
            for other_x, other_y, _, _ in boxes[:i]:
                self.assertTrue(abs(x - other_x) >= wide or abs(y - other_y) >= high)
        edges = [path.get("d") for path in graph.findall("path")]
        self.assertEqual(len(edges), 5 * 2 - 1 + 4 + 5 + 1)
        for edge in edges:
            heights = [float(number) for number in re.findall(r"[\d.]+", edge)][1::2]
            self.assertEqual(heights, sorted(heights))

    def test_says_what_is_wrong_with_a_report(self):
        with tempfile.TemporaryDirectory() as folder:
            report = pathlib.Path(folder) / "wrong.textproto"
            report.write_text("ops { reads: 3 }", encoding="utf-8")
            page = pathlib.Path(folder) / "page.html"
            for arguments, code, message in [
                ([report, f"--output={page}"], 3, "wrong.textproto: ops[0]: reads op 3"),
                ([report], 2, "want an output: --output=FILE.html"),
                ([report, f"--output={report}"], 2, "wrong.textproto"),
                ([folder, f"--output={page}"], 3, "report.textproto"),
            ]:
                run = subprocess.run([str(_INSPECT), "report", *map(str, arguments)],
                                     capture_output=True, text=True, check=False)
                self.assertEqual(run.returncode, code, run.stderr)
                self.assertIn(message, run.stderr)
                self.assertFalse(page.exists())


if __name__ == "__main__":
    unittest.main()
