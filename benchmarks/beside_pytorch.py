#!/usr/bin/env python3
"""Training steps beside PyTorch's, on one core: processor time, medians, all in turn in one run.

  ./bazelw run --config=opt //benchmarks:beside_pytorch -- [ROUNDS]

python3 on the PATH has torch. Prints a table in Markdown: PyTorch's float step with images
in its own order and channels last, ours in float and quantized, and ratios, those to PyTorch for both
of its orders.
"""

import json
import os
import statistics
import subprocess
import sys
import time

import torch
from torch import nn

_SAMPLE_SECONDS = 0.1


def _lenet5():
    return nn.Sequential(
        nn.Conv2d(1, 6, 5, padding=2), nn.ReLU(), nn.MaxPool2d(2),
        nn.Conv2d(6, 16, 5), nn.ReLU(), nn.MaxPool2d(2), nn.Flatten(),
        nn.Linear(400, 120), nn.ReLU(), nn.Linear(120, 84), nn.ReLU(), nn.Linear(84, 10))


def _convolution_norm(channels, filters, kernel, stride, groups=1):
    return [nn.Conv2d(channels, filters, kernel, stride, kernel // 2, groups=groups, bias=False),
            nn.BatchNorm2d(filters)]


class _ResidualBlock(nn.Module):

    def __init__(self, channels, filters, stride):
        super().__init__()
        self.inner = nn.Sequential(*_convolution_norm(channels, filters, 3, stride), nn.ReLU(),
                                   *_convolution_norm(filters, filters, 3, 1))
        self.shortcut = nn.Sequential(
            *(_convolution_norm(channels, filters, 1, stride) if stride > 1 else []))

    def forward(self, x):
        return torch.relu(self.shortcut(x) + self.inner(x))


def _resnet20():
    layers = [*_convolution_norm(3, 16, 3, 1), nn.ReLU()]
    channels = 16
    for filters in (16, 32, 64):
        for block in range(3):
            stride = 2 if filters > 16 and block == 0 else 1
            layers.append(_ResidualBlock(channels, filters, stride))
            channels = filters
    return nn.Sequential(*layers, nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(64, 10))


def _mobilenet_v1():
    layers = [*_convolution_norm(3, 32, 3, 2), nn.ReLU()]
    channels = 32
    blocks = [(64, 1), (128, 2), (128, 1), (256, 2), (256, 1), (512, 2), *[(512, 1)] * 5,
              (1024, 2), (1024, 1)]
    for filters, stride in blocks:
        layers += [*_convolution_norm(channels, channels, 3, stride, channels), nn.ReLU(),
                   *_convolution_norm(channels, filters, 1, 1), nn.ReLU()]
        channels = filters
    return nn.Sequential(*layers, nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(1024, 1000))


# What the worker calls a network: its batch, an image, and what PyTorch has for it.
_NETWORKS = {
    "lenet5": (64, (1, 28, 28), _lenet5),
    "resnet20": (128, (3, 32, 32), _resnet20),
    "mobilenet_v1": (32, (3, 96, 96), _mobilenet_v1),
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


class _Worker:
    """benchmarks/training_worker.cc."""

    def __init__(self, path):
        self._process = subprocess.Popen([path], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                                         text=True)

    def ask(self, **request):
        self._process.stdin.write(json.dumps(request) + "\n")
        self._process.stdin.flush()
        answer = json.loads(self._process.stdout.readline())
        if not answer["ok"]:
            sys.exit(f"training_worker: {answer['err']}")
        return answer


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


def _medians(runners, rounds):
    """Of each runner the median of its times, taken in turn."""
    steps = []
    for runner in runners:
        runner.time(1)
        steps.append(max(1, int(1e3 * _SAMPLE_SECONDS / runner.time(1))))
    times = [[runner.time(count) for runner, count in zip(runners, steps)] for _ in range(rounds)]
    return [statistics.median(column) for column in zip(*times)]


def main(arguments):
    if len(arguments) not in (1, 2):
        sys.exit("usage: beside_pytorch.py TRAINING_WORKER [ROUNDS]")
    rounds = int(arguments[1]) if len(arguments) == 2 else 9
    os.sched_setaffinity(0, {max(os.sched_getaffinity(0))})
    torch.set_num_threads(1)
    worker = _Worker(arguments[0])
    print(f"| network | PyTorch {torch.__version__}, float | channels last | float | quantized "
          "| quantized : float | float : PyTorch | quantized : PyTorch |")
    print("|---|---|---|---|---|---|---|---|", flush=True)
    for name, (batch, dims, make) in _NETWORKS.items():
        ours = [_Ours(worker, name, batch, variant) for variant in ("float", "quantized")]
        theirs = [_PyTorch(make, (batch, *dims), memory_format)
                  for memory_format in (torch.contiguous_format, torch.channels_last)]
        milliseconds = _medians([*theirs, *ours], rounds)
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
