"""Runs every part in a process of its own, counts, and tells once more at the end what failed."""

import argparse
import itertools
import json
import os
import pathlib
import subprocess
import sys
import tempfile
import time

PARTS = ("pairs", "train", "frozen", "acceptance", "ops", "sparse", "five_steps",
         "stored_outputs", "whole_models", "quantize", "searches", "ocr")


def run_part(part, arguments, folder):
    """[passed, failed, skipped] and what failed; a crash counts as one failed case more."""
    counts_path = pathlib.Path(folder) / part
    command = [sys.executable, os.path.join(os.path.dirname(os.path.abspath(__file__)),
                                            "run_part.py"),
               part, f"--transpile={arguments.transpile}", f"--infer={arguments.infer}",
               f"--quantize={arguments.quantize}",
               f"--ocr={arguments.ocr}",
               f"--run_programs={arguments.run_programs}", f"--models={arguments.models}",
               f"--docs={arguments.docs}", f"--counts={counts_path}"]
    if arguments.update_docs:
        command.append("--update")
    print(f"== {part}", flush=True)
    start = time.monotonic()
    status = subprocess.run(command, check=False).returncode
    counts, failures = (json.loads(counts_path.read_text()) if counts_path.exists()
                        else ([0, 0, 0], []))
    if status not in (0, 1) or (status == 1 and counts[1] == 0):
        failures.append(f"{part} ended with status {status}")
        print(f"failed: {failures[-1]}")
        counts[1] += 1
    print(f"== {part}: {time.monotonic() - start:.0f} s", flush=True)
    return counts, [f"{part}: {failure}" for failure in failures]


def main():
    workspace = os.environ.get("BUILD_WORKSPACE_DIRECTORY", ".")
    parser = argparse.ArgumentParser(prog="interop", description=__doc__)
    parser.add_argument("parts", nargs="*", metavar="PART",
                        help=f"{', '.join(PARTS)}; all without")
    parser.add_argument("--update_docs", action="store_true",
                        help="write docs/paddle_acceptance.md as PaddlePaddle now answers")
    parser.add_argument("--transpile", default="tools/transpile")
    parser.add_argument("--infer", default="tools/infer")
    parser.add_argument("--quantize", default="tools/quantize")
    parser.add_argument("--ocr", default="examples/ocr")
    parser.add_argument("--run_programs", default="tests/interop/run_programs")
    parser.add_argument("--models", default="../reference_data/models")
    arguments = parser.parse_args()
    arguments.docs = os.path.join(workspace, "docs")
    unknown = set(arguments.parts) - set(PARTS)
    if unknown:
        parser.error(f"no such part: {', '.join(sorted(unknown))}")

    with tempfile.TemporaryDirectory(prefix="fixpoint-interop-") as folder:
        counts, failures = zip(*(run_part(part, arguments, folder)
                                 for part in arguments.parts or PARTS))
    passed, failed, skipped = map(sum, zip(*counts))
    for failure in itertools.chain.from_iterable(failures):
        print(f"failed: {failure}")
    print(f"{passed} passed, {failed} failed" + (f", {skipped} skipped" if skipped else ""))
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
