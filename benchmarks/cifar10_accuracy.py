#!/usr/bin/env python3
"""The accuracies of ResNet-20 on CIFAR-10 of docs/results.md: in float, quantized without training,
and trained with learned ranges from there.

  ./bazelw run --config=opt //benchmarks:cifar10_accuracy -- FOLDER OUTPUT [--epochs=N]
      [--quantized_epochs=N] [--threads=N]

FOLDER has the binary version of CIFAR-10. OUTPUT keeps checkpoints, parameters and quantized
programs: a run that was interrupted goes on there. Takes hours. Prints a table in Markdown.
"""

import argparse
import json
import pathlib
import subprocess
import sys

_NETWORK = "resnet20"
_SCORES = "fc_0.tmp_1"
_BATCH = 128
_STEPS_PER_EPOCH = -(-50000 // _BATCH)
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


class _Run:

    def __init__(self, arguments):
        self._tools = {pathlib.Path(path).name: path for path in arguments.tools.split(",")}
        self._data = f"cifar10:{arguments.folder}"
        self._folder = pathlib.Path(arguments.output)
        self._threads = arguments.threads
        self._folder.mkdir(parents=True, exist_ok=True)

    def tool(self, name, *arguments):
        command = [self._tools[name], *map(str, arguments)]
        result = subprocess.run(command, text=True, stdout=subprocess.PIPE, check=False)
        if result.returncode != 0:
            sys.exit(f"{' '.join(command)}: exit code {result.returncode}")
        return result.stdout

    def path(self, name):
        return self._folder / name

    def train(self, program, startup, params, save, epochs, rate):
        """The accuracy at the end."""
        if not self.path(save).exists():
            start = (f"--params={params}",) if params else ()
            self.tool("train", program, f"--startup={startup}", *start, f"--data={self._data}",
                      f"--epochs={epochs}", f"--batch_size={_BATCH}", f"--learning_rate={rate}",
                      "--augment_padding=4", "--augment_flip", "--seed=1",
                      f"--threads={self._threads}", f"--save={self.path(save)}",
                      f"--checkpoint_dir={self.path(save + '.checkpoints')}",
                      f"--checkpoint_every={_STEPS_PER_EPOCH}", "--keep_checkpoints=2", "--resume",
                      f"--metrics={self.path(save + '.jsonl')}")
        test = self.path(save + ".test.pb")
        self.tool("transpile", "--mode=test", f"--output={test}", program)
        return test, self.path(save), self.accuracy(test, self.path(save))

    def accuracy(self, program, params):
        report = self.tool("infer", program, f"--params={params}", f"--data={self._data}", "--json")
        return 100 * json.loads(report)["accuracy"]

    def quantized(self, program, params, name, config, flags):
        """The accuracy of the program on integers."""
        output = self.path(name.replace(" ", "_").replace(",", ""))
        if not output.exists():
            self.path("config.textproto").write_text(config, encoding="utf-8")
            self.tool("quantize", program, f"--params={params}", f"--data={self._data}",
                      f"--config={self.path('config.textproto')}", "--samples=1024", *flags,
                      f"--output={output}")
        return self.accuracy(output / "lowered.pdmodel", output / "lowered.pdiparams")

    def learned(self, params, epochs):
        """The accuracy of the program on integers."""
        config = self.path("lsq.textproto")
        config.write_text(_LEARNED, encoding="utf-8")
        program, startup = self.path("lsq.train.pb"), self.path("lsq.startup.pb")
        self.tool("transpile", f"--config={config}", f"--output={program}",
                  f"--startup={self.path(_NETWORK + '.startup.pb')}", f"--startup_output={startup}",
                  self.path(_NETWORK + ".train.pb"))
        trained = self.train(program, startup, params, "lsq.params", epochs, "cosine:0.02")[1]
        frozen, frozen_params = self.path("lsq.frozen.pb"), self.path("lsq.frozen.params")
        self.tool("transpile", "--mode=freeze", f"--params={trained}", f"--fetches={_SCORES}",
                  f"--output={frozen}", f"--params_output={frozen_params}", program)
        lowered, lowered_params = self.path("lsq.lowered.pb"), self.path("lsq.lowered.params")
        self.tool("transpile", "--mode=lower", f"--params={frozen_params}", f"--output={lowered}",
                  f"--params_output={lowered_params}", frozen)
        return self.accuracy(lowered, lowered_params)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--tools", required=True)  # paths, comma separated
    parser.add_argument("--epochs", type=int, default=50)
    parser.add_argument("--quantized_epochs", type=int, default=30)
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("folder")
    parser.add_argument("output")
    arguments = parser.parse_args()
    run = _Run(arguments)
    run.tool("write_training", arguments.output, _NETWORK)
    program, params, in_float = run.train(
        run.path(_NETWORK + ".train.pb"), run.path(_NETWORK + ".startup.pb"), "", "float.params",
        arguments.epochs, "cosine:0.1,warmup=400")
    rows = [("float", in_float)]
    for name, config, flags in _UNTRAINED:
        rows.append((name, run.quantized(program, params, name, config, flags)))
    rows.append(("4 bits, `lsq`, trained", run.learned(params, arguments.quantized_epochs)))
    print("\n| ResNet-20, CIFAR-10 | accuracy | beside float |\n|---|---|---|")
    for name, accuracy in rows:
        beside = "" if name == "float" else f"{accuracy - in_float:+.2f}"
        print(f"| {name} | {accuracy:.2f} % | {beside} |")


if __name__ == "__main__":
    main()
