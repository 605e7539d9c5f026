#!/usr/bin/env python3
"""Real models with drawn parameters beside Paddle Inference, with oneDNN, and ONNX Runtime, on one
core: processor time, medians, all in turn in one run.

  ./bazelw run --config=opt //benchmarks:models_beside_paddle -- [--rounds=N] [MODEL ...]

python3 on the PATH has paddlepaddle 2.6.2, onnx, onnxruntime and paddle2onnx 1.3, which does not
convert every model. Prints a table in Markdown.
"""

import argparse
import os
import pathlib
import subprocess
import sys
import tempfile

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))
import timing  # noqa: E402

_HERE = pathlib.Path(__file__).resolve().parent
_PEERS = {"paddle": "float", "onnxruntime": "float.onnx"}
_MODELS = ("detector", "recognizer", "ssd", "tagger", "lstm")
# All that the target computes on codes.
_CONFIG = """target: "onednn_int8"
also_quantize: ["concat", "elementwise_mul", "gelu", "gru", "hard_sigmoid", "lookup_table",
                "lookup_table_v2", "lstm", "pool2d", "rnn", "sigmoid", "slice", "swish", "tanh"]
"""


class _Runner:
    """A model in a slot of a worker."""

    def __init__(self, worker, slot, **load):
        self._worker = worker
        self._slot = slot
        worker.ask(cmd="load", slot=slot, **load)

    def time(self, runs):
        return self._worker.ask(cmd="time", slot=self._slot, iters=runs)["cpu_ms"]


def _write(model, models, quantize, folder):
    os.mkdir(folder)
    subprocess.run([sys.executable, str(_HERE / "real_models.py"), folder, model, models],
                   check=True, stdout=sys.stderr)
    config = os.path.join(folder, "config.textproto")
    pathlib.Path(config).write_text(_CONFIG, encoding="ascii")
    done = subprocess.run(
        [quantize, f"{folder}/float.pdmodel", f"--params={folder}/float.pdiparams",
         f"--data=npz:{folder}/samples.npz", f"--config={config}", "--batch_size=1", "--notimes",
         f"--output={folder}/int8"], check=False, stdout=sys.stderr)
    if done.returncode != 0:
        print(f"{model} stays in float", file=sys.stderr)


def _runners(ours, peers, folder):
    """Ours in float and on integers, and the peers, where there is such a model."""
    feeds = f"{folder}/feeds.npz"
    runners = {form: _Runner(ours, folder + form, model=f"{folder}/{path}", feeds=feeds)
               for form, path in (("float", "float"), ("int8", "int8/lowered"))
               if os.path.exists(f"{folder}/{path}.pdmodel")}
    for peer, file in _PEERS.items():
        if os.path.exists(f"{folder}/{file}") or os.path.exists(f"{folder}/{file}.pdmodel"):
            runners[peer] = _Runner(peers[peer], folder, path=f"{folder}/{file}", feeds=feeds)
    return runners


def _row(*cells):
    print("| " + " | ".join(map(str, cells)) + " |", flush=True)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("model_worker")
    parser.add_argument("quantize")
    parser.add_argument("chosen", nargs="*", metavar="MODEL", default=_MODELS)
    parser.add_argument("--rounds", type=int, default=9)
    parser.add_argument("--models", default="../reference_data/models")
    parser.add_argument("--keep", metavar="FOLDER", help="where the models are left")
    arguments = parser.parse_intermixed_args()
    os.environ["OMP_NUM_THREADS"] = "1"
    os.sched_setaffinity(0, {max(os.sched_getaffinity(0))})
    ours = timing.Worker(arguments.model_worker)
    peers = {name: timing.Worker(sys.executable, str(_HERE / "peer_worker.py"), name)
             for name in _PEERS}
    _row("processor time, ms", "float", *_PEERS, "int8", "float : better one", "int8 : float")
    _row("---", *["--:"] * (len(_PEERS) + 4))
    with tempfile.TemporaryDirectory() as own:
        for model in arguments.chosen:
            folder = os.path.join(arguments.keep or own, model)
            if not os.path.exists(folder):
                _write(model, arguments.models, arguments.quantize, folder)
            runners = _runners(ours, peers, folder)
            times = dict(zip(runners, timing.medians(list(runners.values()), arguments.rounds)))
            better = min(times[peer] for peer in _PEERS if peer in times)
            _row(model, *(f"{times[name]:.4g}" if name in times else "-"
                          for name in ("float", *_PEERS, "int8")),
                 f"{times['float'] / better:.2f}",
                 f"{times['int8'] / times['float']:.2f}" if "int8" in times else "-")


if __name__ == "__main__":
    main()
