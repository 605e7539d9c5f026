#!/usr/bin/env python3
"""Training steps beside PyTorch's, on one core: processor time, medians, all in turn in one run.

  ./bazelw run --config=opt //benchmarks:beside_pytorch -- [ROUNDS]

python3 on the PATH has torch. Prints a table in Markdown: PyTorch's float step with images in its
own order and, where there are images, channels last, ours in float and quantized, and ratios, those
to PyTorch for both of its orders. Where the processor has AVX512_BF16 also a table of what bfloat16
makes faster: PyTorch's step under autocast, channels last, and ours with such a backward pass.
"""

import os
import pathlib
import sys
import time

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))
import pytorch_networks  # noqa: E402
import timing  # noqa: E402
import torch  # noqa: E402
from torch import nn  # noqa: E402

# What the worker calls a network: its batch, an image, and what PyTorch has for it.
_NETWORKS = {
    "lenet5": (64, (1, 28, 28), pytorch_networks.lenet5),
    "resnet20": (128, (3, 32, 32), pytorch_networks.resnet20),
    "mobilenet_v1": (32, (3, 96, 96), pytorch_networks.mobilenet_v1),
    "encoder_256": (32, (128, 256), pytorch_networks.encoder_256),
}


class _PyTorch:
    """Steps of a network in PyTorch, with gradient descent with momentum."""

    def __init__(self, make, shape, channels_last=False, bfloat16=False):
        torch.manual_seed(1)
        memory_format = torch.channels_last if channels_last else torch.contiguous_format
        self._model = make().train().to(memory_format=memory_format)
        self._images = torch.randn(shape).to(memory_format=memory_format)
        self._labels = torch.arange(shape[0]) * 7 % 10
        self._optimizer = torch.optim.SGD(self._model.parameters(), 0.01, 0.9)
        self._loss = nn.CrossEntropyLoss()
        self._bfloat16 = bfloat16

    def _forward(self):
        with torch.autocast("cpu", torch.bfloat16, enabled=self._bfloat16):
            return self._loss(self._model(self._images), self._labels)

    def time(self, steps):
        """Milliseconds of processor time of a step, a mean."""
        begin = time.process_time()
        for _ in range(steps):
            self._optimizer.zero_grad()
            self._forward().backward()
            self._optimizer.step()
        return 1e3 * (time.process_time() - begin) / steps


class _Ours:
    """Steps of a network in the worker."""

    def __init__(self, worker, name, batch, variant):
        self._worker = worker
        self._slot = f"{name} {variant}"
        worker.ask(cmd="load", slot=self._slot, model=name, variant=variant, batch=batch, threads=1)

    def time(self, steps):
        return self._worker.ask(cmd="time", slot=self._slot, iters=steps)["cpu_ms"]

    def close(self):
        self._worker.ask(cmd="drop", slot=self._slot)


def _has_channels(dims):
    return len(dims) == 3


def _row(name, batch, cells):
    print("| " + " | ".join([f"{name}, batch {batch}", *cells]) + " |", flush=True)


def _ratios(values, peers):
    return [", ".join(f"{value / peer:.2f}" for peer in peers) for value in values]


def _in_float(worker, rounds):
    print(f"| network | PyTorch {torch.__version__}, float | channels last | float | quantized "
          "| quantized : float | float : PyTorch | quantized : PyTorch |")
    print("|---|---|---|---|---|---|---|---|", flush=True)
    for name, (batch, dims, make) in _NETWORKS.items():
        ours = [_Ours(worker, name, batch, variant) for variant in ("float", "quantized")]
        theirs = [_PyTorch(make, (batch, *dims), channels_last)
                  for channels_last in ((False, True) if _has_channels(dims) else (False,))]
        *peers, in_float, quantized = timing.medians([*theirs, *ours], rounds)
        _row(name, batch, [*(f"{value:.1f} ms" for value in peers), *["-"] * (2 - len(peers)),
                           f"{in_float:.1f} ms", f"{quantized:.1f} ms",
                           f"{quantized / in_float:.2f}",
                           *_ratios((in_float, quantized), peers)])
        for runner in ours:
            runner.close()


def _in_bfloat16(worker, rounds):
    print(f"| network | PyTorch {torch.__version__}, bf16 | quantized | with a backward pass in bf16 "
          "| quantized : PyTorch | with bf16 : PyTorch | with bf16 : quantized |")
    print("|---|---|---|---|---|---|---|", flush=True)
    for name, (batch, dims, make) in _NETWORKS.items():
        ours = [_Ours(worker, name, batch, variant) for variant in ("quantized", "quantized_bf16")]
        theirs = _PyTorch(make, (batch, *dims), _has_channels(dims), bfloat16=True)
        milliseconds = timing.medians([theirs, *ours], rounds)
        peer, quantized, with_bfloat16 = milliseconds
        _row(name, batch, [*(f"{value:.1f} ms" for value in milliseconds),
                           *_ratios((quantized, with_bfloat16), [peer]),
                           f"{with_bfloat16 / quantized:.2f}"])
        for runner in ours:
            runner.close()


def main(arguments):
    if len(arguments) not in (1, 2):
        sys.exit("usage: beside_pytorch.py TRAINING_WORKER [ROUNDS]")
    rounds = int(arguments[1]) if len(arguments) == 2 else 9
    os.sched_setaffinity(0, {max(os.sched_getaffinity(0))})
    torch.set_num_threads(1)
    worker = timing.Worker(arguments[0])
    _in_float(worker, rounds)
    if "avx512_bf16" in pathlib.Path("/proc/cpuinfo").read_text(encoding="utf-8"):
        print()
        _in_bfloat16(worker, rounds)


if __name__ == "__main__":
    main(sys.argv[1:])
