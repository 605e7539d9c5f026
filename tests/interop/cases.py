"""Named cases, run one after the other, with one line each and a count at the end."""

import dataclasses
import json
import pathlib
import time
import traceback


class Skip(Exception):
    """Ends a case that cannot be had here; the text says why."""


@dataclasses.dataclass(frozen=True)
class Environment:
    """What the cases work with."""
    transpiler: object
    runner: object  # of our backends
    infer: object  # the path of the tool
    quantize: object  # likewise
    ocr: object  # the folder of examples/ocr
    models: object  # the folder of the reference data's programs, or None
    docs: object  # the folder of this project's documents
    update: bool  # write what is checked otherwise


def need_models(environment):
    if environment.models is None:
        raise Skip("no reference data beside this checkout (FIXPOINT_REFERENCE_DATA)")
    return environment.models


def run(cases, counts_path):
    """Runs (name, function) pairs; a function's result is shown after its name.

    Writes [passed, failed, skipped] and what failed as JSON to `counts_path` after each case, so
    that the cases before a crash are known.
    """
    counts = {"passed": 0, "failed": 0, "skipped": 0}
    failures = []
    for name, function in cases:
        start = time.monotonic()
        try:
            outcome, detail = "passed", function()
        except Skip as skip:
            outcome, detail = "skipped", str(skip)
        except AssertionError as failure:
            outcome, detail = "failed", str(failure) or traceback.format_exc()
        except Exception:  # a case that breaks must not hide the ones after it
            outcome, detail = "failed", traceback.format_exc()
        counts[outcome] += 1
        told = f"{name} ({time.monotonic() - start:.1f} s)" + (f": {detail}" if detail else "")
        if outcome == "failed":
            failures.append(told)
        pathlib.Path(counts_path).write_text(json.dumps([list(counts.values()), failures]))
        print(f"{outcome}: {told}", flush=True)
    return counts["failed"] == 0
