#!/usr/bin/env python3
"""Accuracy of networks quantized without training, beside ONNX Runtime and NNCF (run by OpenVINO),
from the same float parameters; and what a sample of calibration takes, in processor time.

  ./bazelw run --config=opt //benchmarks:accuracy_beside_peers -- \\
      --mnist=FOLDER --cifar10=FOLDER [--resnet20=FOLDER] OUTPUT [NETWORK ...]

OUTPUT keeps the float networks, so that a second run does not train them; --resnet20 names trained
parameters of ResNet-20, which take hours. python3 on the PATH has torch, onnx, onnxruntime,
openvino and nncf. Prints tables in Markdown. A peer's copy of a network is checked first: its
scores are those of ours up to rounding.
"""

import argparse
import gzip
import json
import pathlib
import resource
import shutil
import subprocess
import sys
import time

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))
import nncf  # noqa: E402
import numpy  # noqa: E402
import onnxruntime  # noqa: E402
import openvino  # noqa: E402
import parameter_folder  # noqa: E402
import pytorch_networks  # noqa: E402
import torch  # noqa: E402
from onnxruntime import quantization  # noqa: E402
from onnxruntime.quantization import shape_inference  # noqa: E402

_SAMPLES = 300  # that ranges are found of
_TIMED = (100, 1100)  # what the further samples take
_BATCH = 100
_SPREAD = 300   # the last channel's range, in ranges of the first
_NETWORKS = {"resnet20": "cifar10", "small_separable": "mnist", "encoder": "mnist"}


def _cpu_seconds(run):
    """What a call takes, in this process and in those that it waits for."""
    def now():
        return time.process_time() + sum(resource.getrusage(resource.RUSAGE_CHILDREN)[:2])
    begin = now()
    run()
    return now() - begin


def _mnist(folder, part):
    folder = pathlib.Path(folder)
    images = gzip.decompress((folder / f"{part}-images-idx3-ubyte.gz").read_bytes())
    labels = gzip.decompress((folder / f"{part}-labels-idx1-ubyte.gz").read_bytes())
    pixels = numpy.frombuffer(images, "u1", offset=16).reshape(-1, 1, 28, 28)
    return pixels.astype("f4") / 255, numpy.frombuffer(labels, "u1", offset=8)


def _cifar10(folder, part):
    names = {"train": "data_batch_1.bin", "t10k": "test_batch.bin"}
    records = numpy.fromfile(pathlib.Path(folder) / names[part], "u1").reshape(-1, 3073)
    return records[:, 1:].reshape(-1, 3, 32, 32).astype("f4") / 255, records[:, 0]


class _Tools:

    def __init__(self, paths):
        self._paths = {pathlib.Path(path).name: path for path in paths.split(",")}

    def run(self, tool, *arguments):
        command = [self._paths[tool], *map(str, arguments)]
        result = subprocess.run(command, text=True, stdout=subprocess.PIPE, check=False)
        if result.returncode != 0:
            sys.exit(f"{' '.join(command)}: exit code {result.returncode}")
        return result.stdout

    def accuracy(self, program, params, data):
        report = self.run("infer", program, f"--params={params}", f"--data={data}", "--json")
        return json.loads(report)["accuracy"]


class _Network:
    """A float network: a program for inference with its parameters, and PyTorch's copy of it."""

    def __init__(self, name, data, output, tools, params):
        self.name = name
        self.data = f"{_NETWORKS[name]}:{data}"
        read = _mnist if _NETWORKS[name] == "mnist" else _cifar10
        self.samples = read(data, "train")[0][:_TIMED[1]]
        self.images, self.labels = read(data, "t10k")
        self.folder = pathlib.Path(output) / name
        self.folder.mkdir(parents=True, exist_ok=True)
        self.program = self.folder / "float.pb"
        self.params = pathlib.Path(params) if params else self.folder / "float.params"
        training = self.folder / f"{name}.train.pb"
        if not training.exists():
            tools.run("write_training", self.folder, name)
        if not self.params.exists():
            self._train(tools, training)
        tools.run("transpile", "--mode=test", f"--output={self.program}", training)
        if name == "small_separable":
            self._spread()
        self.model = self._in_pytorch()

    def _train(self, tools, training):
        startup = self.folder / f"{self.name}.startup.pb"
        tools.run("train", training, f"--startup={startup}", f"--data={self.data}", "--epochs=8",
                  "--batch_size=128", "--learning_rate=cosine:0.001", f"--save={self.params}",
                  f"--checkpoint_dir={self.folder / 'checkpoints'}", "--checkpoint_every=1000",
                  "--resume")

    def _spread(self):
        """The channels of depthwise convolutions get ranges of 1 to _SPREAD; the batch norms after
        them undo it, so that the network stays the same function."""
        spread = self.folder / "spread.params"
        shutil.copytree(self.params, spread, dirs_exist_ok=True)
        for number in (1, 3, 5):
            filters = parameter_folder.read(self.params, f"conv2d_{number}.w_0")
            factors = _SPREAD ** numpy.linspace(0, 1, len(filters))
            parameter_folder.write(spread, f"conv2d_{number}.w_0",
                                   filters * factors[:, None, None, None])
            for statistic, power in (("w_1", 1), ("w_2", 2)):
                norm = f"batch_norm_{number}.{statistic}"
                values = parameter_folder.read(self.params, norm)
                parameter_folder.write(spread, norm, values * factors**power)
        self.params = spread

    def _in_pytorch(self):
        model = getattr(pytorch_networks, self.name)().eval()
        counts = {}

        def take(kind, module, fields):
            number = counts.setdefault(kind, 0)
            counts[kind] += 1
            for field, suffix in fields.items():
                target = getattr(module, field)
                if target is None:
                    continue
                values = parameter_folder.read(self.params, f"{kind}_{number}.{suffix}")
                target.data.copy_(torch.from_numpy(values.T.copy() if kind == "fc" else values))

        for module in model.modules():
            if isinstance(module, torch.nn.Conv2d):
                take("conv2d", module, {"weight": "w_0", "bias": "b_0"})
            elif isinstance(module, torch.nn.BatchNorm2d):
                take("batch_norm", module, {"weight": "w_0", "bias": "b_0", "running_mean": "w_1",
                                            "running_var": "w_2"})
            elif isinstance(module, torch.nn.LayerNorm):
                take("layer_norm", module, {"weight": "w_0", "bias": "b_0"})
            elif isinstance(module, torch.nn.Linear):
                take("fc", module, {"weight": "w_0", "bias": "b_0"})
        return model

    def accuracy_of(self, run):
        right = 0
        for begin in range(0, len(self.images), _BATCH):
            scores = run(self.images[begin:begin + _BATCH])
            right += int((numpy.argmax(scores, 1) == self.labels[begin:begin + _BATCH]).sum())
        return right / len(self.images)

    def run_model(self, images):
        with torch.no_grad():
            return self.model(torch.from_numpy(images)).numpy()


class _Reader(quantization.CalibrationDataReader):

    def __init__(self, samples):
        self._samples = iter([{"x": sample[None]} for sample in samples])

    def get_next(self):
        return next(self._samples, None)


def _export(network):
    path = str(network.folder / "float.onnx")
    torch.onnx.export(network.model, (torch.from_numpy(network.samples[:1]),), path,
                      input_names=["x"], output_names=["y"], dynamo=False,
                      dynamic_axes={"x": {0: "n"}, "y": {0: "n"}})
    return path


class _OnnxRuntime:
    name = "ONNX Runtime"

    def __init__(self, network, source):
        self._prepared = str(network.folder / "prepared.onnx")
        self._path = str(network.folder / "int8.onnx")
        shape_inference.quant_pre_process(source, self._prepared)

    def quantize(self, samples):
        quantization.quantize_static(self._prepared, self._path, _Reader(samples),
                                     per_channel=True, quant_format=quantization.QuantFormat.QDQ,
                                     activation_type=quantization.QuantType.QUInt8,
                                     weight_type=quantization.QuantType.QInt8)

    def runner(self):
        session = onnxruntime.InferenceSession(self._path)
        return lambda images: session.run(None, {"x": images})[0]


class _Nncf:
    name = "NNCF"

    def __init__(self, network, source):
        self._model = openvino.Core().read_model(source)
        self._is_transformer = network.name == "encoder"
        self._quantized = None

    def quantize(self, samples):
        kind = {"model_type": nncf.ModelType.TRANSFORMER} if self._is_transformer else {}
        self._quantized = nncf.quantize(self._model.clone(),
                                        nncf.Dataset([sample[None] for sample in samples]),
                                        subset_size=len(samples), **kind)

    def runner(self):
        compiled = openvino.Core().compile_model(
            self._quantized, "CPU", {"INFERENCE_PRECISION_HINT": "f32"})
        return lambda images: compiled(images)[0]


class _Ours:
    name = "Fixpoint"

    def __init__(self, network, tools):
        self._network = network
        self._tools = tools
        self._folder = network.folder / "int8"

    def quantize(self, samples):
        shutil.rmtree(self._folder, ignore_errors=True)
        self._tools.run("quantize", self._network.program, f"--params={self._network.params}",
                        f"--data={self._network.data}", f"--samples={len(samples)}",
                        f"--output={self._folder}")

    def accuracy(self):
        return self._tools.accuracy(self._folder / "lowered.pdmodel",
                                    self._folder / "lowered.pdiparams", self._network.data)


def _check_copy(network, ours):
    copy = network.accuracy_of(network.run_model)
    if abs(copy - ours) > 1e-4 + 1e-9:
        sys.exit(f"{network.name}: PyTorch's copy has an accuracy of {copy}, ours {ours}")


def _calibration_ms(runner, samples):
    """For each further sample, so that what does not depend on their number is left out."""
    fewer, more = (_cpu_seconds(lambda: runner.quantize(samples[:count])) for count in _TIMED)
    return 1e3 * (more - fewer) / (_TIMED[1] - _TIMED[0])


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--tools", required=True)  # paths, comma separated
    parser.add_argument("--mnist", required=True)
    parser.add_argument("--cifar10", required=True)
    parser.add_argument("--resnet20", default="")
    parser.add_argument("output")
    parser.add_argument("networks", nargs="*", default=list(_NETWORKS))
    arguments = parser.parse_args()
    tools = _Tools(arguments.tools)
    torch.set_num_threads(1)
    accuracies, times = [], []
    for name in arguments.networks:
        network = _Network(name, getattr(arguments, _NETWORKS[name]), arguments.output, tools,
                           arguments.resnet20 if name == "resnet20" else "")
        in_float = tools.accuracy(network.program, network.params, network.data)
        _check_copy(network, in_float)
        source = _export(network)
        runners = [_Ours(network, tools), _Nncf(network, source), _OnnxRuntime(network, source)]
        took = [_calibration_ms(runner, network.samples) for runner in runners]
        for runner in runners:
            runner.quantize(network.samples[:_SAMPLES])
        after = [runners[0].accuracy()]
        after += [network.accuracy_of(runner.runner()) for runner in runners[1:]]
        error = (in_float * (1 - in_float) / len(network.labels))**0.5
        accuracies.append([name, in_float, *after, error])
        times.append([name, *took])
    print("\n| network | float | Fixpoint | NNCF | ONNX Runtime | one standard error |")
    print("|---|---|---|---|---|---|")
    for name, *row in accuracies:
        print(f"| {name} | " + " | ".join(f"{100 * value:.2f} %" for value in row) + " |")
    print("\n| calibration, ms for each sample | Fixpoint | NNCF | ONNX Runtime |\n|---|---|---|---|")
    for name, *row in times:
        print(f"| {name} | " + " | ".join(f"{value:.2f}" for value in row) + " |")


if __name__ == "__main__":
    main()
