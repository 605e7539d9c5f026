#!/usr/bin/env python3
"""Writes a model for ours, Paddle Inference and ONNX Runtime, with drawn parameters: float.pdmodel
with float.pdiparams, float.onnx where paddle2onnx converts it, feeds.npz, which is a batch of one,
and samples.npz, on which ranges are found.

  real_models.py FOLDER MODEL MODELS

MODEL is one of those below, or a program of the reference data, which MODELS has. The programs of
the tagger, which is LAC's network, and of the LSTM are written here. What was quantized is float
again, and what computes its loss ends where its answer is.
"""

import pathlib
import subprocess
import sys

_ROOT = pathlib.Path(__file__).resolve().parent.parent
sys.path.insert(0, str(_ROOT / "tests" / "interop"))
import inferring_programs  # noqa: E402
import numpy  # noqa: E402
import paddle  # noqa: E402
import paddle_run  # noqa: E402
from drawn_parameters import draw_parameters, readers_of  # noqa: E402
from paddle_program import (  # noqa: E402
    Program, is_quantization, parse, read_bytes, without_feeds)

_SAMPLES = 4
_WORDS, _TAGS, _WIDTH = 20000, 57, 128  # of LAC
_SENTENCE = 30
# Of images whose size a program leaves open.
_SIDES = {"SLANet": (488, 488), "_det_": (640, 640), "_rec_": (48, 320), "PNet": (160, 120)}
_LENGTHS = ".lengths"  # runtime/data/sequence_offsets.h
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


def _inference_program(data):
    """The program from what is fed to its answer, with ops that feed and fetch."""
    described = Program(data)
    if any(op.type == "feed" for op in described.blocks[0]):
        return data
    fetches = inferring_programs.fetches_of(described)
    feeds = inferring_programs.feeds_of(described)
    program = paddle_run.load(without_feeds(data).SerializeToString())._prune_with_input(
        feeds, fetches)
    block = program.global_block()
    read = {name for op in block.ops for name in op.input_arg_names}
    program = paddle.static.normalize_program(
        program, [block.var(name) for name in feeds if name in read],
        [block.var(name) for name in fetches])
    return program.desc.serialize_to_string()


def _written(inputs_and_outputs):
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


_WRITTEN = {"tagger": _tagger, "lstm": _lstm}
_NAMES = {"detector": "ch_PP-OCRv3_det_slim_infer.pdmodel.gz",
          "recognizer": "latin_PP-OCRv3_rec_infer.pdmodel.gz",
          "ssd": "ssd_mobilenet_v1_infer.__model__"}


def _make(model, models):
    if model in _WRITTEN:
        return _written(_WRITTEN[model])
    data = _inference_program(read_bytes(models / _NAMES.get(model, model)))
    return _without_quantization(data) if any(map(is_quantization, Program(data).ops())) else data


def _save_feeds(path, generator, program, readers, sides, count):
    """The arrays of so many samples, and the lengths of their sequences."""
    lengths = [_SENTENCE] * count
    arrays = {}
    for feed in inferring_programs.feeds_of(program):
        arrays[feed] = inferring_programs.draw_feed(
            generator, program, readers, feed, lengths, sides)
        if inferring_programs.has_sequences(program, feed):
            arrays[feed + _LENGTHS] = numpy.array(lengths)
    numpy.savez(path, **arrays)


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
    data = _make(model, pathlib.Path(models))
    program = Program(data)
    readers = readers_of(program)
    generator = numpy.random.default_rng(1)
    scope = paddle.static.Scope()
    for name, values in draw_parameters(generator, program, readers).items():
        paddle_run.set_value(scope, name, values)
    (folder / "float.pdmodel").write_bytes(data)
    paddle_run.save_parameters(paddle_run.load(data), scope, folder, "float.pdiparams")
    sides = inferring_programs.sides_of(_NAMES.get(model, model), _SIDES)
    for file, count in (("feeds.npz", 1), ("samples.npz", _SAMPLES)):
        _save_feeds(folder / file, generator, program, readers, sides, count)
    _write_onnx(folder)


if __name__ == "__main__":
    main(*sys.argv[1:])
