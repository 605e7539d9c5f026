"""Runs one part of the tests."""

import argparse
import gzip  # noqa: F401  (PaddlePaddle's library exports a zlib of its own: Python's goes first)
import importlib
import pathlib
import sys

import numpy.random  # noqa: F401  (it uses zlib when it is imported)
import paddle

import cases
from ours import Runner
from transpile import Transpiler


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("part")
    parser.add_argument("--transpile", required=True)
    parser.add_argument("--infer", required=True, type=pathlib.Path)
    parser.add_argument("--quantize", required=True, type=pathlib.Path)
    parser.add_argument("--ocr", required=True, type=pathlib.Path)
    parser.add_argument("--run_programs", required=True, type=pathlib.Path)
    parser.add_argument("--models", required=True, type=pathlib.Path)
    parser.add_argument("--docs", required=True, type=pathlib.Path)
    parser.add_argument("--counts", required=True)
    parser.add_argument("--update", action="store_true")
    arguments = parser.parse_args()
    paddle.enable_static()
    environment = cases.Environment(
        Transpiler(arguments.transpile), Runner(arguments.run_programs),
        arguments.infer.absolute(), arguments.quantize.absolute(),
        arguments.ocr.absolute(),
        arguments.models if arguments.models.exists() else None, arguments.docs, arguments.update)
    part = importlib.import_module(arguments.part)
    return 0 if cases.run(part.cases(environment), arguments.counts) else 1


if __name__ == "__main__":
    sys.exit(main())
