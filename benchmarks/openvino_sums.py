#!/usr/bin/env python3
"""How many sums of a quantized convolution OpenVINO gets wrong: its weights are drawn from a normal
distribution, as those of layers that were trained, and its inputs are codes of 8 bits without a
sign, drawn evenly. What is right is computed in double precision. Without VNNI oneDNN's kernels,
which OpenVINO has too, add pairs of products in 16 bits, where they saturate. Prints a share for
each convolution, as JSON.
"""

import json

import numpy
import openvino
import torch
from openvino import opset13 as ops

# Channels, filters, the window's size and the image's.
_CONVOLUTIONS = {"1x1, 64 to 256": (64, 256, 1, 28), "3x3, 128 to 128": (128, 128, 3, 28),
                 "1x1, 1024 to 256": (1024, 256, 1, 14), "3x3, 512 to 512": (512, 512, 3, 7)}
_DEVIATION = 36


def _wrong_share(random, channels, filters, kernel, size):
    inputs = random.integers(0, 256, (1, channels, size, size)).astype("float32")
    weights = random.normal(0, _DEVIATION, (filters, channels, kernel, kernel))
    weights = numpy.clip(numpy.rint(weights), -127, 127).astype("int8")
    edge = [kernel // 2, kernel // 2]
    x = ops.parameter(inputs.shape, numpy.float32)
    ends = numpy.float32(0), numpy.float32(255)
    scaled = ops.multiply(ops.convert(ops.constant(weights), numpy.float32),
                          ops.constant(numpy.ones((filters, 1, 1, 1), "float32")))
    sums = ops.convolution(ops.fake_quantize(x, *ends, *ends, 256), scaled, [1, 1], edge, edge,
                           [1, 1])
    compiled = openvino.Core().compile_model(openvino.Model([sums], [x], "sums"), "CPU",
                                             {"INFERENCE_PRECISION_HINT": "f32"})
    inputs_and_weights = (torch.tensor(array).double() for array in (inputs, weights))
    right = torch.nn.functional.conv2d(*inputs_and_weights, padding=kernel // 2)
    return float((numpy.rint(compiled(inputs)[0]) != right.numpy()).mean())


def main():
    random = numpy.random.default_rng(1)
    print(json.dumps({name: _wrong_share(random, *extents)
                      for name, extents in _CONVOLUTIONS.items()}))


if __name__ == "__main__":
    main()
