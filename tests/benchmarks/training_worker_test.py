#!/usr/bin/python3
"""What the worker answers to a driver: a line for a line, and why where it cannot."""

import json
import subprocess
import sys
import unittest

_LOAD = {"cmd": "load", "slot": "a", "model": "lenet5", "variant": "quantized", "batch": 2,
         "threads": 1}


class TrainingWorkerTest(unittest.TestCase):

    def _answers(self, *lines):
        done = subprocess.run([sys.argv[1]], input="".join(f"{line}\n" for line in lines),
                              text=True, stdout=subprocess.PIPE, timeout=60, check=True)
        return [json.loads(line) for line in done.stdout.splitlines()]

    def _ask(self, *requests):
        return self._answers(*map(json.dumps, requests))

    def test_steps_are_timed_in_the_slot_that_was_loaded(self):
        loaded, timed = self._ask(_LOAD, {"cmd": "time", "slot": "a", "iters": 3})
        self.assertTrue(loaded["ok"])
        self.assertTrue(timed["ok"])
        self.assertGreater(timed["cpu_ms"], 0)
        self.assertGreater(timed["wall_ms"], 0)
        self.assertGreaterEqual(timed["peak_mb"], loaded["peak_mb"])

    def test_a_name_counts_without_its_underscores(self):
        answers = self._ask({**_LOAD, "model": "smallseparable"}, {**_LOAD, "model": "le_net5"})
        self.assertEqual([answer["ok"] for answer in answers], [True, True])

    def test_a_slot_that_was_dropped_has_no_steps(self):
        time = {"cmd": "time", "slot": "a", "iters": 1}
        answers = self._ask(_LOAD, time, {"cmd": "drop", "slot": "a"}, time)
        self.assertEqual([answer["ok"] for answer in answers], [True, True, True, False])

    def test_what_cannot_be_done_is_answered_with_why(self):
        for request, why in (
                ({**_LOAD, "model": "x"}, 'there is no model "x"; want one of lenet5, '),
                ({**_LOAD, "variant": "int8"}, 'variant is "int8"; want float, quantized or quantized_bf16'),
                ({**_LOAD, "threads": 0}, "want a batch of 1 or more, and 1 thread or more"),
                ({**_LOAD, "batch": 0}, "want a batch of 1 or more, and 1 thread"),
                ({"cmd": "time", "slot": "b", "iters": 1}, "want a slot that was loaded, "),
                ({"cmd": "fly"}, 'cmd is "fly"; want info, load, time, drop or exit')):
            answer, = self._ask(request)
            self.assertFalse(answer["ok"])
            self.assertIn(why, answer["err"])

    def test_a_line_that_is_no_json_is_answered_and_the_next_one_too(self):
        answers = self._answers("load", '{"cmd": "info"}')
        self.assertEqual(answers, [{"ok": False, "err": "the line is no JSON object"},
                                   {"ok": True, "tool": "fixpoint"}])

    def test_nothing_is_answered_after_exit(self):
        self.assertEqual(self._ask({"cmd": "exit"}, {"cmd": "info"}), [])


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
