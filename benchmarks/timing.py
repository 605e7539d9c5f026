"""Workers (benchmarks/worker.h says how they are spoken to) and medians of what they take in turn."""

import json
import os
import statistics
import subprocess

_SAMPLE_SECONDS = 0.1


class WorkerFailed(SystemExit):
    """What a worker cannot do; ends a driver that does not go on without it."""


class Worker:
    """A process that answers a line of JSON with one."""

    def __init__(self, *command):
        self._name = os.path.basename(command[-1])
        self._process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                                         text=True)

    def ask(self, **request):
        self._process.stdin.write(json.dumps(request) + "\n")
        self._process.stdin.flush()
        line = self._process.stdout.readline()
        answer = json.loads(line) if line else {"ok": False, "err": "it has ended"}
        if not answer["ok"]:
            raise WorkerFailed(f"{self._name}: {answer['err']}")
        return answer

    def close(self):
        self._process.stdin.close()
        self._process.wait()


def medians(runners, rounds):
    """The median time of each runner, with the runners taking turns."""
    return [statistics.median(times) for times in _in_turn(runners, rounds)]


def fastest(runners, rounds):
    """As `medians`; for times by the clock, which grow with whatever else runs."""
    return [min(times) for times in _in_turn(runners, rounds)]


def _in_turn(runners, rounds):
    """The times of each runner."""
    steps = []
    for runner in runners:
        runner.time(1)
        steps.append(max(1, int(1e3 * _SAMPLE_SECONDS / runner.time(1))))
    times = [[runner.time(count) for runner, count in zip(runners, steps)] for _ in range(rounds)]
    return zip(*times)
