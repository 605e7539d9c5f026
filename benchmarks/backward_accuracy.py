#!/usr/bin/env python3
"""Accuracies of quantized networks whose backward pass is in float32 and in bfloat16, of
docs/results.md: LeNet-5 on MNIST from several seeds, and ResNet-20 on CIFAR-10.

  ./bazelw run --config=opt //benchmarks:backward_accuracy -- \\
      [--mnist=FOLDER] [--cifar10=FOLDER] OUTPUT [--seeds=N] [--epochs=N] [--backward=f32,bf16]

A folder has the data set, CIFAR-10 in its binary version; one that is not named is left out.
OUTPUT keeps checkpoints, parameters and quantized programs: a run that was interrupted goes on
there, so that two commands, each with one --backward, share the work. ResNet-20 takes most of an
hour for each row. Prints tables in Markdown.
"""

import argparse
import pathlib
import statistics
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))
import training_runs  # noqa: E402

_CONFIG = 'target: "onednn_int8"'


def _lenet5(arguments, precisions):
    folder = pathlib.Path(arguments.output) / "lenet5"
    runs = training_runs.TrainingRuns(arguments.tools, "lenet5", "fc_2.tmp_1",
                                      f"mnist:{arguments.mnist}", folder, threads=1)
    accuracies = {
        precision: [runs.trained(f"{precision}_{seed}", _CONFIG, None, 2, "cosine:0.001",
                                 seed=seed, backward=precision)
                    for seed in range(1, arguments.seeds + 1)]
        for precision in precisions
    }
    print("\n| LeNet-5, backward pass in | accuracy | of the seeds |\n|---|---|---|")
    for precision, of_seeds in accuracies.items():
        print(f"| {precision} | {statistics.mean(of_seeds):.2f} % | "
              f"{min(of_seeds):.2f} to {max(of_seeds):.2f} |")
    if len(accuracies) < 2:
        return
    first, second = accuracies.values()
    differences = [b - a for a, b in zip(first, second)]
    error = statistics.stdev(differences) / len(differences) ** 0.5 if len(differences) > 1 else 0
    print(f"\nThe same seed: {statistics.mean(differences):+.2f}, "
          f"with a standard error of {error:.2f}.")


def _resnet20(arguments, precisions):
    folder = pathlib.Path(arguments.output) / "resnet20"
    runs = training_runs.TrainingRuns(arguments.tools, "resnet20", "fc_0.tmp_1",
                                      f"cifar10:{arguments.cifar10}", folder, threads=1)
    accuracies = {
        precision: runs.trained(precision, _CONFIG, None, arguments.epochs,
                                "cosine:0.1,warmup=400", backward=precision)
        for precision in precisions
    }
    print("\n| ResNet-20, backward pass in | accuracy | one standard error |\n|---|---|---|")
    for precision, accuracy in accuracies.items():
        share = accuracy / 100
        error = 100 * (share * (1 - share) / 10000) ** 0.5
        print(f"| {precision} | {accuracy:.2f} % | {error:.2f} % |")


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--tools", required=True)  # paths, comma separated
    parser.add_argument("--mnist")
    parser.add_argument("--cifar10")
    parser.add_argument("--seeds", type=int, default=5)
    parser.add_argument("--epochs", type=int, default=30)
    parser.add_argument("--backward", default="f32,bf16")
    parser.add_argument("output")
    arguments = parser.parse_args()
    precisions = arguments.backward.split(",")
    if arguments.mnist:
        _lenet5(arguments, precisions)
    if arguments.cifar10:
        _resnet20(arguments, precisions)


if __name__ == "__main__":
    main()
