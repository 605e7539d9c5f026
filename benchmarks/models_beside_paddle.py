#!/usr/bin/env python3
"""Real models with drawn parameters beside Paddle Inference, with oneDNN, and ONNX Runtime, on one
core: processor time, medians, all in turn in one run.

  ./bazelw run --config=opt //benchmarks:models_beside_paddle -- [--rounds=N] [MODEL ...]
  ./bazelw run --config=opt //benchmarks:models_beside_paddle -- [--rounds=N] --update_docs

python3 on the PATH has paddlepaddle 2.6.2, onnx, onnxruntime and paddle2onnx 1.3, which does not
convert every model. A MODEL is one of real_models.py, or a program of the reference data. Prints a
table in Markdown; --update_docs writes the columns of times of docs/models_beside_paddle.md, of
all its programs.
"""

import argparse
import contextlib
import datetime
import importlib.metadata
import json
import os
import pathlib
import platform
import subprocess
import sys
import tempfile

import numpy

_HERE = pathlib.Path(__file__).resolve().parent
sys.path[:0] = [str(_HERE), str(_HERE.parent / "tests" / "interop")]
import models_page  # noqa: E402
import timing  # noqa: E402

_PEERS = {"paddle": "float", "onnxruntime": "float.onnx"}
_MODELS = ("detector", "recognizer", "ssd", "tagger", "lstm")
# All that the target computes on codes.
_CONFIG = """target: "onednn_int8"
also_quantize: ["concat", "elementwise_mul", "gelu", "gru", "hard_sigmoid", "lookup_table",
                "lookup_table_v2", "lstm", "pool2d", "rnn", "sigmoid", "slice", "swish", "tanh"]
"""
_PACKAGES = ("paddlepaddle", "onnxruntime", "paddle2onnx")


class _Runner:
    """A model in a worker of its own, which a model that it cannot run may end."""

    def __init__(self, *command, **load):
        self.has_failed = False
        self._worker = timing.Worker(*command)
        try:
            self._worker.ask(cmd="load", slot="model", **load)
        except timing.WorkerFailed:
            self.close()
            raise

    def time(self, runs):
        try:
            return self._worker.ask(cmd="time", slot="model", iters=runs)["cpu_ms"]
        except timing.WorkerFailed:
            self.has_failed = True
            raise

    def close(self):
        self._worker.close()


def _write(model, models, quantize, folder):
    os.makedirs(folder)
    subprocess.run([sys.executable, str(_HERE / "real_models.py"), folder, model, models],
                   check=True, stdout=sys.stderr)
    config = os.path.join(folder, "config.textproto")
    pathlib.Path(config).write_text(_CONFIG, encoding="ascii")
    done = subprocess.run(
        [quantize, f"{folder}/float.pdmodel", f"--params={folder}/float.pdiparams",
         f"--data=npz:{folder}/samples.npz", f"--config={config}", "--batch_size=1", "--notimes",
         "--json", f"--output={folder}/int8"], check=False, stdout=subprocess.PIPE)
    if done.returncode == 0:
        pathlib.Path(folder, "int8.json").write_bytes(done.stdout)
    else:
        print(f"{model} stays in float", file=sys.stderr)


def _runners(model_worker, folder, closed):
    """Ours in float and on integers, and the peers, where there is such a model."""
    feeds = f"{folder}/feeds.npz"
    made = [(form, [model_worker], path, {"model": f"{folder}/{path}"})
            for form, path in (("float", "float"), ("int8", "int8/lowered"))]
    made += [(peer, [sys.executable, str(_HERE / "peer_worker.py"), peer], path,
              {"path": f"{folder}/{path}"}) for peer, path in _PEERS.items()]
    runners = {}
    for name, command, path, load in made:
        if not any(os.path.exists(f"{folder}/{path}{end}") for end in ("", ".pdmodel")):
            continue
        try:
            runners[name] = _Runner(*command, **load, feeds=feeds)
        except timing.WorkerFailed as failed:
            print(f"{name}: {failed}", file=sys.stderr)
        else:
            closed.callback(runners[name].close)
    return runners


def _medians(runners, rounds):
    """Milliseconds by runner; where one fails, the others are timed anew without it."""
    while runners:
        try:
            return dict(zip(runners, timing.medians(list(runners.values()), rounds)))
        except timing.WorkerFailed as failed:
            print(failed, file=sys.stderr)
            runners = {name: runner for name, runner in runners.items() if not runner.has_failed}
    return {}


def _measure(model, arguments, folder):
    """Milliseconds by runner."""
    if not os.path.exists(folder):
        _write(model, arguments.models, arguments.quantize, folder)
    with contextlib.ExitStack() as closed:
        return _medians(_runners(arguments.model_worker, folder, closed), arguments.rounds)


def _times(times, names):
    return [f"{times[name]:.4g}" if name in times else "-" for name in names]


def _ratio(times, above, below):
    found = [times[name] for name in below if name in times]
    return f"{times[above] / min(found):.2f}" if above in times and found else "-"


def _fed(folder):
    """The shape of the largest array."""
    with numpy.load(f"{folder}/feeds.npz") as archive:
        shapes = [archive[name].shape for name in archive.files]
    return "×".join(map(str, max(shapes, key=numpy.prod)))


def _differ(folder):
    path = pathlib.Path(folder, "int8.json")
    if not path.exists():
        return "-"
    compared = json.loads(path.read_text(encoding="utf-8"))["compared"]
    return f"{compared['ties']} of {compared['elements']}"


def _processor():
    with open("/proc/cpuinfo", encoding="ascii") as described:
        names = [line.split(": ")[1].strip() for line in described
                 if line.startswith("model name")]
    return names[0] if names else platform.machine()


def _how(rounds):
    versions = [f"{package} {importlib.metadata.version(package)}" for package in _PACKAGES]
    return (f"one pinned core of {_processor()} on {datetime.date.today()}, "
            f"with a load of {os.getloadavg()[2]:.1f} on {os.cpu_count()} cores: processor time "
            f"of one thread, medians of {rounds} rounds with all in turn; {', '.join(versions)}.")


def _row(*cells):
    print("| " + " | ".join(map(str, cells)) + " |", flush=True)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("model_worker")
    parser.add_argument("quantize")
    parser.add_argument("chosen", nargs="*", metavar="MODEL")
    parser.add_argument("--rounds", type=int, default=9)
    parser.add_argument("--models", default="../reference_data/models")
    parser.add_argument("--keep", metavar="FOLDER", help="where the models are left")
    parser.add_argument("--update_docs", action="store_true",
                        help="time every program that docs/models_beside_paddle.md has")
    arguments = parser.parse_intermixed_args()
    if arguments.update_docs and arguments.chosen:
        parser.error("--update_docs times all programs")
    os.environ["OMP_NUM_THREADS"] = "1"
    os.sched_setaffinity(0, {max(os.sched_getaffinity(0))})
    page = None
    if arguments.update_docs:
        page = models_page.ModelsPage(os.environ["BUILD_WORKSPACE_DIRECTORY"] + "/docs")
        arguments.chosen = page.programs()
    written = {}
    _row("processor time, ms", "float", *_PEERS, "int8", "float : better one", "int8 : float")
    _row("---", *["--:"] * (len(_PEERS) + 4))
    for model in arguments.chosen or _MODELS:
        with tempfile.TemporaryDirectory() as own:
            folder = os.path.join(arguments.keep or own, model)
            times = _measure(model, arguments, folder)
            _row(model, *_times(times, ("float", *_PEERS, "int8")),
                 _ratio(times, "float", _PEERS), _ratio(times, "int8", ["float"]))
            written[model] = [_fed(folder), *_times(times, ("float", "int8", *_PEERS)),
                              _differ(folder)]
    if page:
        print(page.write_times(_how(arguments.rounds), written), file=sys.stderr)


if __name__ == "__main__":
    main()
