#!/usr/bin/env python3
"""Writes a network for the peers: NAME.float.onnx and NAME.int8.onnx for ONNX Runtime, which
quantizes statically to codes of activations u8 and of weights s8 for each channel, and NAME.int8.xml
as OpenVINO quantizes it (NNCF). Weights are random.

  peer_models.py FOLDER NETWORK BATCH DIM...    the extents of an image
"""

import os
import pathlib
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))
import nncf  # noqa: E402
import numpy  # noqa: E402
import openvino  # noqa: E402
import pytorch_networks  # noqa: E402
import torch  # noqa: E402
from onnxruntime import quantization  # noqa: E402
from onnxruntime.quantization import shape_inference  # noqa: E402

_SAMPLES = 2  # what ranges are found of


class _Samples(quantization.CalibrationDataReader):

    def __init__(self, samples):
        self._samples = iter([{"x": sample} for sample in samples])

    def get_next(self):
        return next(self._samples, None)


def _export(network, shape, path):
    torch.manual_seed(1)
    model = getattr(pytorch_networks, network)().eval()
    torch.onnx.export(model, (torch.randn(shape),), path, input_names=["x"], output_names=["y"],
                      dynamo=False)


def _quantize_onnx(source, samples, path):
    prepared = path + ".prepared"
    shape_inference.quant_pre_process(source, prepared)
    quantization.quantize_static(prepared, path, _Samples(samples), per_channel=True,
                                 quant_format=quantization.QuantFormat.QDQ,
                                 activation_type=quantization.QuantType.QUInt8,
                                 weight_type=quantization.QuantType.QInt8)
    os.remove(prepared)


def _quantize_openvino(source, samples, path, model_type):
    model = openvino.Core().read_model(source)
    quantized = nncf.quantize(model, nncf.Dataset(samples), subset_size=_SAMPLES,
                              model_type=model_type)
    openvino.save_model(quantized, path, compress_to_fp16=False)


def main(folder, network, *dims):
    shape = tuple(map(int, dims))
    model_type = nncf.ModelType.TRANSFORMER if network.startswith("encoder") else None
    path = os.path.join(folder, network)
    random = numpy.random.default_rng(1)
    samples = [random.standard_normal(shape).astype("float32") for _ in range(_SAMPLES)]
    _export(network, shape, path + ".float.onnx")
    _quantize_onnx(path + ".float.onnx", samples, path + ".int8.onnx")
    _quantize_openvino(path + ".float.onnx", samples, path + ".int8.xml", model_type)


if __name__ == "__main__":
    main(*sys.argv[1:])
