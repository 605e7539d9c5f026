#!/usr/bin/env python3
"""The accuracies of ResNet-20 on CIFAR-10 of docs/results.md: in float, quantized without training,
and trained with learned ranges from there.

  ./bazelw run --config=opt //benchmarks:cifar10_accuracy -- FOLDER OUTPUT [--epochs=N]
      [--quantized_epochs=N] [--threads=N]

FOLDER has the binary version of CIFAR-10. OUTPUT keeps checkpoints, parameters and quantized
programs: a run that was interrupted goes on there. Takes hours. Prints a table in Markdown.
"""

import argparse
import pathlib
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))
import training_runs  # noqa: E402

_TARGET = 'target: "onednn_int8"'
# As in the paper of learned ranges, the operands of products have 4 bits, those of the first and the
# last layer 8, and what the residual connections add stays float.
_LEARNED = (f"{_TARGET} weights {{ bits: 4 quantizer: 'channel_wise_lsq' form: FUSED }} "
            "activations { bits: 4 quantizer: 'lsq' form: FUSED } "
            "rules { name_pattern: 'conv2d_0.w_0' spec { bits: 8 } } "
            "rules { name_pattern: 'image' spec { bits: 8 } } "
            "rules { op_type: 'mul' spec { bits: 8 } } "
            "rules { op_type: 'elementwise_add' skip: true } ")
# Name, configuration, flags of quantize.
_UNTRAINED = (
    ("8 bits, not trained", _TARGET, ()),
    ("4-bit weights, 8-bit activations, not trained", f"{_TARGET} weights {{ bits: 4 }}", ()),
    ("4-bit weights, learned rounding, not trained", f"{_TARGET} weights {{ bits: 4 }}",
     ("--rounding=learned",)),
)


def _quantized(runs, program, params, data, name, config, flags):
    """The accuracy of the program on integers, without training."""
    output = runs.path(name.replace(" ", "_").replace(",", ""))
    if not output.exists():
        runs.path("config.textproto").write_text(config, encoding="utf-8")
        runs.tool("quantize", program, f"--params={params}", f"--data={data}",
                  f"--config={runs.path('config.textproto')}", "--samples=1024", *flags,
                  f"--output={output}")
    return runs.accuracy(output / "lowered.pdmodel", output / "lowered.pdiparams")


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--tools", required=True)  # paths, comma separated
    parser.add_argument("--epochs", type=int, default=50)
    parser.add_argument("--quantized_epochs", type=int, default=30)
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("folder")
    parser.add_argument("output")
    arguments = parser.parse_args()
    data = f"cifar10:{arguments.folder}"
    runs = training_runs.TrainingRuns(arguments.tools, "resnet20", "fc_0.tmp_1", data,
                                      arguments.output, arguments.threads)
    program, params, in_float = runs.in_float(arguments.epochs, "cosine:0.1,warmup=400")
    rows = [("float", in_float)]
    for name, config, flags in _UNTRAINED:
        rows.append((name, _quantized(runs, program, params, data, name, config, flags)))
    rows.append(("4 bits, `lsq`, trained", runs.trained("lsq", _LEARNED, params,
                                                        arguments.quantized_epochs, "cosine:0.02")))
    print("\n| ResNet-20, CIFAR-10 | accuracy | beside float |\n|---|---|---|")
    for name, accuracy in rows:
        beside = "" if name == "float" else f"{accuracy - in_float:+.2f}"
        print(f"| {name} | {accuracy:.2f} % | {beside} |")


if __name__ == "__main__":
    main()
