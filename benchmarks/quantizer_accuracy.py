#!/usr/bin/env python3
"""The accuracies of quantizers at few bits of docs/results.md: LeNet-5 on MNIST and a residual
network on CIFAR-10, trained in float, and from there with each quantizer.

  ./bazelw run --config=opt //benchmarks:quantizer_accuracy -- --mnist=FOLDER --cifar10=FOLDER
      OUTPUT [--rows=lsq,pact] [--bits=4,2] [--threads=N] [--mnist_epochs=N] [--cifar10_epochs=N]
      [--mnist_float_epochs=N] [--cifar10_float_epochs=N] [--cifar10_network=resnet20]

A data set that is not given has no table. OUTPUT keeps checkpoints, parameters, programs and
accuracies: a run that was interrupted goes on there, and rows that are there already are printed
too. It is for one number of epochs. Every entry is of the lowered
program. Prints tables in Markdown.

As in the papers the first and the last layer have 8 bits, and what residual connections add stays
float.
"""

import argparse
import json
import pathlib
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))
import training_runs  # noqa: E402

_BITS = (8, 4, 3, 2, 1)
# Name; quantizers of weights and of activations; the bits that it has, with codes of at most 8.
_ROWS = (
    ("moving_average_abs_max", "channel_wise_abs_max", "moving_average_abs_max", (8, 4, 3, 2)),
    ("fold_batch_norm", "channel_wise_abs_max", "moving_average_abs_max", (8, 4, 3, 2)),
    ("lsq", "channel_wise_lsq", "lsq", (8, 4, 3, 2)),
    ("tqt", "tqt", "tqt", (8, 4, 3, 2)),
    ("pact", "dorefa", "pact", (4, 3, 2)),
    ("dorefa", "dorefa", "dorefa_activation", (4, 3, 2)),
    ("lsq_plus", "channel_wise_lsq", "lsq_plus", (8, 4, 3, 2)),
    ("trained_min_max", "channel_wise_lsq", "trained_min_max", (8, 4, 3, 2)),
    ("ewgs", "channel_wise_ewgs", "lsq", (8, 4, 3, 2)),
    ("stochastic", "channel_wise_stochastic", "lsq", (8, 4, 3, 2)),
    ("dampened", "channel_wise_dampened", "lsq", (8, 4, 3, 2)),
    ("frozen_oscillations", "channel_wise_frozen_oscillations", "lsq", (8, 4, 3, 2)),
    ("grouped", "channel_wise_grouped", "lsq", (4, 3, 2)),
    ("ternary", "channel_wise_ternary", "lsq", (2,)),
    ("binary", "channel_wise_binary", "lsq", (1,)),
)
_PER_CHANNEL = "channel_wise_"
# Rows whose ranges of activations begin at those of a profile. PACT's 10 takes many epochs to fall.
_PROFILED = ("pact",)
# Rows that are no quantizer: the configuration says this too.
_SETTINGS = {"fold_batch_norm": "fold_batch_norm: true "}
# What 1-bit weights are multiplied with.
_ACTIVATION_BITS_OF_1 = 8


class _Task:

    def __init__(self, title, network, has_batch_norm, last_layer, scores, float_rate, rate):
        self.title = title
        self.network = network
        self.has_batch_norm = has_batch_norm
        self.last_layer = last_layer
        self.scores = scores
        self.float_rate = float_rate
        self.rate = rate


_TASKS = {
    "lenet5": _Task("LeNet-5, MNIST", "lenet5", False, "fc_2", "fc_2.tmp_1", "cosine:0.001",
                   "cosine:0.0005"),
}
for _title, _network in (("A small residual network", "small_resnet"), ("ResNet-20", "resnet20")):
    _TASKS[_network] = _Task(f"{_title}, CIFAR-10", _network, True, "fc_0", "fc_0.tmp_1",
                             "cosine:0.1,warmup=400", "cosine:0.02")


def _spec(quantizer, bits):
    granularity = "PER_CHANNEL" if quantizer.startswith(_PER_CHANNEL) else "PER_TENSOR"
    return f"quantizer: '{quantizer}' form: FUSED bits: {bits} granularity: {granularity}"


def _config(task, row, weights, activations, bits):
    activation_bits = _ACTIVATION_BITS_OF_1 if bits == 1 else bits
    ends = "".join(
        f"rules {{ layer: '{layer}' slot: '{slot}' spec {{ {_spec(quantizer, 8)} }} }} "
        for layer, weight, activation in (("conv2d_0", "Filter", "Input"),
                                          (task.last_layer, "Y", "X"))
        for slot, quantizer in ((weight, "channel_wise_abs_max"),
                                (activation, "moving_average_abs_max")))
    rule = " range_rule: MSE" if row in _PROFILED else ""
    return (f"target: 'onednn_int8' {_SETTINGS.get(row, '')}weights {{ {_spec(weights, bits)} }} "
            f"activations {{ {_spec(activations, activation_bits)}{rule} }} {ends}"
            "rules { op_type: 'elementwise_add' skip: true optional: true }")


def _table(task, runs, epochs, float_epochs, wanted):
    """Prints the table; what is not there yet is trained where `wanted` says so."""
    results = runs.path("accuracies.json")
    known = json.loads(results.read_text()) if results.exists() else {}

    def kept(name, find):
        if name not in known:
            known[name] = find()
            print(f"{task.title}, {name}: {known[name]:.2f} %", file=sys.stderr, flush=True)
            results.write_text(json.dumps(known, indent=1))
        return known[name]

    trained_for = [float_epochs, epochs]
    if known.setdefault("epochs", trained_for) != trained_for:
        sys.exit(f"{results}: networks are trained for {known['epochs']} epochs, in float and with "
                 f"quantizers; want another OUTPUT for {trained_for}")
    params = runs.path("float.params")
    in_float = kept("float", lambda: runs.in_float(float_epochs, task.float_rate)[2])
    print(f"\n| {task.title}, float {in_float:.2f} % | "
          + " | ".join(f"{bits} bits" if bits > 1 else "1 bit" for bits in _BITS)
          + " |\n|---" + "|---" * len(_BITS) + "|")
    for row, weights, activations, has in _ROWS:
        if row == "fold_batch_norm" and not task.has_batch_norm:
            continue
        cells = []
        for bits in _BITS:
            name = f"{row}.{bits}"
            if bits in has and wanted(row, bits):
                config = _config(task, row, weights, activations, bits)
                kept(name, lambda: runs.trained(
                    name, config, params, epochs, task.rate,
                    runs.profile(params) if row in _PROFILED else None))
            cells.append(f"{known[name]:.2f} %" if name in known else "" if bits in has else "-")
        print(f"| `{row}` | " + " | ".join(cells) + " |", flush=True)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--tools", required=True)  # paths, comma separated
    for name, float_epochs, epochs in (("mnist", 10, 3), ("cifar10", 50, 10)):
        parser.add_argument(f"--{name}")
        parser.add_argument(f"--{name}_float_epochs", type=int, default=float_epochs)
        parser.add_argument(f"--{name}_epochs", type=int, default=epochs)
    parser.add_argument("--cifar10_network", choices=("small_resnet", "resnet20"),
                        default="small_resnet")
    parser.add_argument("--rows", default=",".join(row[0] for row in _ROWS))
    parser.add_argument("--bits", default=",".join(map(str, _BITS)))
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("output")
    arguments = parser.parse_args()
    rows = arguments.rows.split(",")
    unknown = set(rows) - {row[0] for row in _ROWS}
    if unknown:
        parser.error(f"unknown rows: {', '.join(sorted(unknown))}")
    bits = set(map(int, arguments.bits.split(",")))
    if not arguments.mnist and not arguments.cifar10:
        parser.error("want --mnist=FOLDER, --cifar10=FOLDER or both")
    for data, network in (("mnist", "lenet5"), ("cifar10", arguments.cifar10_network)):
        folder = getattr(arguments, data)
        if folder:
            task = _TASKS[network]
            runs = training_runs.TrainingRuns(
                arguments.tools, task.network, task.scores, f"{data}:{folder}",
                pathlib.Path(arguments.output) / network, arguments.threads)
            _table(task, runs, getattr(arguments, f"{data}_epochs"),
                   getattr(arguments, f"{data}_float_epochs"),
                   lambda row, count: row in rows and count in bits)


if __name__ == "__main__":
    main()
