#!/usr/bin/env python3
"""Training steps beside PyTorch's, on one core: processor time, medians, all in turn in one run.

  ./bazelw run --config=opt //benchmarks:beside_pytorch -- [ROUNDS]

python3 on the PATH has torch. Prints a table in Markdown: PyTorch's float step with images
in its own order and channels last, ours in float and quantized, and ratios, those to PyTorch for both
of its orders.
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
}


class _PyTorch:
    """Steps of a network in PyTorch, with gradient descent with momentum."""

    def __init__(self, make, shape, memory_format):
        torch.manual_seed(1)
        self._model = make().train().to(memory_format=memory_format)
        self._images = torch.randn(shape).to(memory_format=memory_format)
        self._labels = torch.arange(shape[0]) * 7 % 10
        self._optimizer = torch.optim.SGD(self._model.parameters(), 0.01, 0.9)
        self._loss = nn.CrossEntropyLoss()

    def time(self, steps):
        """Milliseconds of processor time of a step, a mean."""
        begin = time.process_time()
        for _ in range(steps):
            self._optimizer.zero_grad()
            self._loss(self._model(self._images), self._labels).backward()
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


def main(arguments):
    if len(arguments) not in (1, 2):
        sys.exit("usage: beside_pytorch.py TRAINING_WORKER [ROUNDS]")
    rounds = int(arguments[1]) if len(arguments) == 2 else 9
    os.sched_setaffinity(0, {max(os.sched_getaffinity(0))})
    torch.set_num_threads(1)
    worker = timing.Worker(arguments[0])
    print(f"| network | PyTorch {torch.__version__}, float | channels last | float | quantized "
          "| quantized : float | float : PyTorch | quantized : PyTorch |")
    print("|---|---|---|---|---|---|---|---|", flush=True)
    for name, (batch, dims, make) in _NETWORKS.items():
        ours = [_Ours(worker, name, batch, variant) for variant in ("float", "quantized")]
        theirs = [_PyTorch(make, (batch, *dims), memory_format)
                  for memory_format in (torch.contiguous_format, torch.channels_last)]
        milliseconds = timing.medians([*theirs, *ours], rounds)
        peers, (in_float, quantized) = milliseconds[:2], milliseconds[2:]
        cells = [f"{name}, batch {batch}", *(f"{value:.1f} ms" for value in milliseconds),
                 f"{quantized / in_float:.2f}",
                 ", ".join(f"{in_float / peer:.2f}" for peer in peers),
                 ", ".join(f"{quantized / peer:.2f}" for peer in peers)]
        print("| " + " | ".join(cells) + " |", flush=True)
        for runner in ours:
            runner.close()


if __name__ == "__main__":
    main(sys.argv[1:])
