#!/usr/bin/env python3
"""Inference beside ONNX Runtime and OpenVINO, on one core: processor time, medians, all in turn in
one run; then, each in a process of its own, the time from a saved int8 model to the first output,
and the process's peak memory; then how many sums of codes OpenVINO gets wrong (openvino_sums.py).
With --threads=N on N cores, in time by the clock, the fastest of the rounds, and nothing after it.
ONEDNN_MAX_CPU_ISA limits the instructions of ours and of OpenVINO, but not of ONNX Runtime.

  ./bazelw run --config=opt //benchmarks:beside_peers -- [--rounds=N] [--threads=N]
      [NETWORK:BATCH ...]

python3 on the PATH has torch, onnx, onnxruntime, openvino and nncf. Prints tables in Markdown.
What a process takes before it loads a model, with its libraries and the peers' interpreter, stands
after a plus.
"""

import argparse
import json
import os
import pathlib
import statistics
import subprocess
import sys
import tempfile

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))
import timing  # noqa: E402

_HERE = pathlib.Path(__file__).resolve().parent
_PEERS = {"onnxruntime": "int8.onnx", "openvino": "int8.xml"}
# The shape of an image.
_NETWORKS = {"lenet5": [1, 28, 28], "resnet20": [3, 32, 32], "mobilenet_v1": [3, 224, 224],
             "resnet50": [3, 224, 224], "encoder_256": [128, 256], "encoder_512": [128, 512]}
_ALL = [f"{network}:{batch}" for network in _NETWORKS for batch in (1, 32)]
_PROCESSES = 3


class _Runner:
    """A model in a slot of a worker, and the field of an answer that has its time."""

    def __init__(self, worker, slot, clock, **load):
        self._worker = worker
        self._slot = slot
        self._clock = clock
        self.loaded = worker.ask(cmd="load", slot=slot, **load)

    def time(self, runs):
        return self._worker.ask(cmd="time", slot=self._slot, iters=runs)[self._clock]

    def close(self):
        self._worker.ask(cmd="drop", slot=self._slot)


def _peer(name, threads=1):
    return timing.Worker(sys.executable, str(_HERE / "peer_worker.py"), name, str(threads))


class _Network:

    def __init__(self, case, folder):
        self.name, batch = case.split(":")
        self.batch = int(batch)
        self.shape = [self.batch, *_NETWORKS[self.name]]
        self.path = os.path.join(folder, self.name)
        subprocess.run([sys.executable, str(_HERE / "peer_models.py"), folder, self.name,
                        *map(str, self.shape)], check=True, stdout=sys.stderr)

    def __str__(self):
        return f"{self.name}, batch {self.batch}"

    def times(self, ours, peers, rounds, threads):
        """Milliseconds, float and int8: ours, and those of the peers in their order."""
        clock = "cpu_ms" if threads == 1 else "wall_ms"
        summary = timing.medians if threads == 1 else timing.fastest
        runners = []
        for form in ("float", "int8"):
            runners.append(_Runner(ours, form, clock, model=self.name, variant=form,
                                   batch=self.batch, threads=threads))
            for peer, worker in peers.items():
                suffix = "float.onnx" if form == "float" else _PEERS[peer]
                runners.append(_Runner(worker, form, clock, path=f"{self.path}.{suffix}",
                                       shape=self.shape))
        milliseconds = summary(runners, rounds)
        for runner in runners:
            runner.close()
        half = len(milliseconds) // 2
        return milliseconds[:half], milliseconds[half:]

    def first_output_of_ours(self, infer):
        """Milliseconds, the peak in megabytes, and that of a process that loads nothing."""
        done = subprocess.run(
            [infer, f"{self.path}.int8.pdmodel", f"--params={self.path}.int8.pdiparams", "--bench",
             "--seconds=0", "--json", f"--batch_size={self.batch}"],
            check=True, stdout=subprocess.PIPE, text=True)
        answer = json.loads(done.stdout)
        idle = subprocess.Popen([infer, "--help"], stdout=subprocess.DEVNULL)
        idle_megabytes = os.wait4(idle.pid, 0)[2].ru_maxrss / 1024
        return answer["first_output_ms"], answer["peak_memory_bytes"] / 2**20, idle_megabytes

    def first_output_of(self, peer):
        worker = _peer(peer)
        loaded = _Runner(worker, "int8", "cpu_ms", path=f"{self.path}.{_PEERS[peer]}",
                         shape=self.shape).loaded
        worker.close()
        return 1e3 * loaded["load_s"], loaded["peak_mb"], loaded["import_mb"]


def _row(*cells):
    print("| " + " | ".join(map(str, cells)) + " |", flush=True)


def _time_all(networks, inference_worker, rounds, threads):
    ours = timing.Worker(inference_worker)
    peers = {name: _peer(name, threads) for name in _PEERS}
    _row("processor time, ms" if threads == 1 else f"{threads} threads, ms", "float: ours",
         *_PEERS, "int8: ours", *_PEERS, "float : better one", "int8 : better one",
         "int8 : float")
    _row(*["---"] * 10)
    for network in networks:
        in_float, in_codes = network.times(ours, peers, rounds, threads)
        _row(network, *(f"{value:.4g}" for value in in_float + in_codes),
             f"{in_float[0] / min(in_float[1:]):.2f}", f"{in_codes[0] / min(in_codes[1:]):.2f}",
             f"{in_codes[0] / in_float[0]:.2f}")


def _load_all(networks, infer):
    _row("int8", "first output: ours", *_PEERS, "peak memory: ours", *_PEERS)
    _row(*["---"] * 7)
    for network in networks:
        ours = [network.first_output_of_ours(infer) for _ in range(_PROCESSES)]
        theirs = [[network.first_output_of(peer) for _ in range(_PROCESSES)] for peer in _PEERS]
        medians = [[statistics.median(column) for column in zip(*runs)] for runs in [ours, *theirs]]
        _row(network, *(f"{median[0]:.1f} ms" for median in medians),
             *(f"{peak - before:.0f} + {before:.0f} MB" for _, peak, before in medians))


def _count_wrong_sums():
    done = subprocess.run([sys.executable, str(_HERE / "openvino_sums.py")], check=True,
                          stdout=subprocess.PIPE, text=True)
    shares = json.loads(done.stdout)
    _row("wrong sums", *shares)
    _row(*["---"] * (1 + len(shares)))
    _row("openvino", *(f"{100 * share:.1f} %" for share in shares.values()))


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("inference_worker")
    parser.add_argument("write_models")
    parser.add_argument("infer")
    parser.add_argument("cases", nargs="*", metavar="NETWORK:BATCH", default=_ALL)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--threads", type=int, default=1)
    arguments = parser.parse_intermixed_args()
    threads = arguments.threads
    os.environ["OMP_NUM_THREADS"] = str(threads)
    os.sched_setaffinity(0, sorted(os.sched_getaffinity(0))[-threads:])
    with tempfile.TemporaryDirectory() as folder:
        networks = []
        for case in arguments.cases:
            os.mkdir(os.path.join(folder, case))
            networks.append(_Network(case, os.path.join(folder, case)))
            subprocess.run([arguments.write_models, os.path.join(folder, case),
                            networks[-1].name], check=True)
        _time_all(networks, arguments.inference_worker, arguments.rounds, threads)
        if threads == 1:
            print()
            _load_all(networks, arguments.infer)
            print()
            _count_wrong_sums()


if __name__ == "__main__":
    main()
