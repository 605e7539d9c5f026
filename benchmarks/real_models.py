#!/usr/bin/env python3
"""Writes a model for ours, Paddle Inference and ONNX Runtime, with drawn parameters: float.pdmodel
with float.pdiparams, float.onnx where paddle2onnx converts it, feeds.npz, which is a batch of one,
and samples.npz, on which ranges are found.

  real_models.py FOLDER MODEL MODELS

MODELS has the programs of the reference data. Those of the tagger, which is LAC's network, and of
the LSTM are written here.
"""

import pathlib
import subprocess
import sys

_ROOT = pathlib.Path(__file__).resolve().parent.parent
sys.path.insert(0, str(_ROOT / "tests" / "interop"))
import numpy  # noqa: E402
import paddle  # noqa: E402
import paddle_run  # noqa: E402
from drawn_parameters import draw_parameters, readers_of  # noqa: E402
from paddle_program import Program, is_quantization, parse, read_bytes  # noqa: E402

_SAMPLES = 4
_WORDS, _TAGS, _WIDTH = 20000, 57, 128  # of LAC
_SENTENCE = 30
_ONNX_OPSET = 14


def _without_quantization(data):
    """The float program that was quantized."""
    desc = parse(data)
    block = desc.blocks[0]
    codes_of = {}
    kept = []
    for op, described in zip(Program(data).blocks[0], block.ops):
        if is_quantization(op):
            codes_of[op.outputs["Out"][0]] = op.inputs["X"][0]
        else:
            kept.append(described)
    for op in kept:
        for slot in op.inputs:
            slot.arguments[:] = [codes_of.get(name, name) for name in slot.arguments]
        attributes = [attribute for attribute in op.attrs if attribute.name != "skip_quant"]
        del op.attrs[:]
        op.attrs.extend(attributes)
    del block.ops[:]
    block.ops.extend(kept)
    used = {name for op in kept for slot in (*op.inputs, *op.outputs) for name in slot.arguments}
    variables = [variable for variable in block.vars if variable.name in used]
    del block.vars[:]
    block.vars.extend(variables)
    return desc.SerializeToString()


def _written(inputs_and_outputs):
    paddle.enable_static()
    program = paddle.static.Program()
    with paddle.static.program_guard(program, paddle.static.Program()):
        inputs, outputs = inputs_and_outputs()
    program = paddle.static.normalize_program(program, inputs, outputs)
    return program.desc.serialize_to_string()


def _gru(rows, number, is_reverse):
    block = paddle.static.default_main_program().global_block()

    def made(name):
        return block.create_var(name=f"{name}_{number}", dtype="float32", lod_level=1)

    gates = paddle.static.nn.fc(rows, 3 * _WIDTH)
    weight = paddle.static.create_parameter([_WIDTH, 3 * _WIDTH], "float32", f"gru_{number}.w")
    bias = paddle.static.create_parameter([1, 3 * _WIDTH], "float32", f"gru_{number}.b")
    hidden = made("hidden")
    block.append_op(
        type="gru", inputs={"Input": gates, "Weight": weight, "Bias": bias},
        outputs={"Hidden": hidden, "BatchGate": made("gate"), "BatchHidden": made("batch_hidden"),
                 "BatchResetHiddenPrev": made("reset")},
        attrs={"is_reverse": is_reverse, "gate_activation": "sigmoid", "activation": "tanh",
               "origin_mode": False, "is_test": True})
    hidden.desc.set_shape([-1, _WIDTH])
    return hidden


def _tagger():
    words = paddle.static.data("words", [-1, 1], "int64", lod_level=1)
    rows = paddle.reshape(paddle.static.nn.embedding(words, [_WORDS, _WIDTH]), [-1, _WIDTH])
    for layer in range(2):
        rows = paddle.concat([_gru(rows, 2 * layer, False), _gru(rows, 2 * layer + 1, True)], 1)
    emission = paddle.static.nn.fc(rows, _TAGS)
    transition = paddle.static.create_parameter([_TAGS + 2, _TAGS], "float32", "crf.w")
    block = paddle.static.default_main_program().global_block()
    path = block.create_var(name="path", dtype="int64", shape=[-1, 1], lod_level=1)
    block.append_op(type="crf_decoding",
                    inputs={"Emission": emission, "Transition": transition},
                    outputs={"ViterbiPath": path})
    return [words], [path]


def _lstm():
    rows = paddle.static.data("rows", [-1, 64, 256])
    return [rows], [paddle.nn.LSTM(256, 256)(rows)[0]]


def _image(height, width):
    return lambda generator, count: {
        "x": generator.standard_normal((count, 3, height, width)).astype("float32")}


def _ssd_image(generator, count):
    return {"image": generator.standard_normal((count, 3, 300, 300)).astype("float32")}


def _words(generator, count):
    return {"words": generator.integers(0, _WORDS, (count * _SENTENCE, 1)),
            "words.lengths": numpy.full(count, _SENTENCE)}


def _rows(generator, count):
    return {"rows": generator.standard_normal((count, 64, 256)).astype("float32")}


def _read(file):
    return lambda models: read_bytes(models / file)


# A program, and what it is fed for a number of samples.
_MODELS = {
    "detector": (lambda models: _without_quantization(
        read_bytes(models / "ch_PP-OCRv3_det_slim_infer.pdmodel.gz")), _image(640, 640)),
    "recognizer": (_read("latin_PP-OCRv3_rec_infer.pdmodel.gz"), _image(48, 320)),
    "ssd": (_read("ssd_mobilenet_v1_infer.__model__"), _ssd_image),
    "tagger": (lambda models: _written(_tagger), _words),
    "lstm": (lambda models: _written(_lstm), _rows),
}


def _write_onnx(folder):
    """In a process of its own, because paddle2onnx ends it where it cannot convert a model."""
    done = subprocess.run(
        [sys.executable, "-m", "paddle2onnx.command", f"--model_dir={folder}",
         "--model_filename=float.pdmodel", "--params_filename=float.pdiparams",
         f"--save_file={folder / 'float.onnx'}", f"--opset_version={_ONNX_OPSET}"],
        check=False, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    if done.returncode != 0:
        print(f"paddle2onnx does not convert {folder.name}", file=sys.stderr)


def main(folder, model, models):
    paddle.enable_static()
    folder = pathlib.Path(folder)
    make, feed = _MODELS[model]
    data = make(pathlib.Path(models))
    program = Program(data)
    generator = numpy.random.default_rng(1)
    scope = paddle.static.Scope()
    for name, values in draw_parameters(generator, program, readers_of(program)).items():
        paddle_run.set_value(scope, name, values)
    (folder / "float.pdmodel").write_bytes(data)
    paddle_run.save_parameters(paddle_run.load(data), scope, folder, "float.pdiparams")
    numpy.savez(folder / "feeds.npz", **feed(generator, 1))
    numpy.savez(folder / "samples.npz", **feed(generator, _SAMPLES))
    _write_onnx(folder)


if __name__ == "__main__":
    main(*sys.argv[1:])
