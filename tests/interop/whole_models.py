"""(h) Every program of the reference data that infers, with parameters drawn here: our backends
give what PaddlePaddle gives.

How close they are is written to docs/models_beside_paddle.md by
`./bazelw run //tests/interop -- whole_models --update_docs`.
"""

import functools
import zlib

import inferring_programs
import models_page
import numpy
import paddle
import paddle_run
from cases import need_models
from drawn_parameters import draw_parameters, readers_of
from models_page import NOISE
from ours import BACKENDS, Refused
from paddle_program import QUANTIZE_OPS, Program, read_bytes, without_feeds

# Float sums in another order: of the largest output.
_SUMMED_IN_FLOAT = 1e-5
# A code on the other side of a tie, in a layer whose codes many others read.
_CODES_DIFFER = 0.05
# Corners of boxes are differences of coordinates that are larger than they.
_BOXES = 1e-4

# Of the sequences of each sample that is fed.
_LENGTHS = (2, 4)
# What a program leaves open: the height and width of its images, by a part of its name.
_SIDES = {"SLANet": (96, 128), "_det_": (96, 128), "_rec_": (32, 96), "PNet": (40, 56)}
# The interpreter computes one element after the other.
_MOST_PIXELS_INTERPRETED = 96 * 128


def _by_paddle(data, parameters, feeds, lods, fetches):
    program = paddle_run.load(without_feeds(data).SerializeToString())
    scope = paddle.static.Scope()
    for name, values in parameters.items():
        paddle_run.set_value(scope, name, values)
    fed = {name: paddle_run.cut(values, lods[name]) if name in lods else values
           for name, values in feeds.items()}
    return paddle_run.run_with_lods(program, scope, fed, fetches)[0]


def _distance(ours, theirs):
    assert ours.shape == theirs.shape, f"shape {ours.shape}, PaddlePaddle's {theirs.shape}"
    largest = numpy.abs(theirs).max(initial=0)
    return float(numpy.abs(ours.astype("float64") - theirs).max(initial=0) / (largest or 1))


def _tolerance(program):
    types = {op.type for op in program.ops()}
    if types & QUANTIZE_OPS.keys():
        return _CODES_DIFFER
    return _BOXES if any(type.startswith("multiclass_nms") for type in types) else _SUMMED_IN_FLOAT


def _with_noise(generator, feeds):
    def moved(values):
        return values * (1 + generator.uniform(-NOISE, NOISE, values.shape)).astype("float32")

    return {name: moved(values) if values.dtype == numpy.float32 else values
            for name, values in feeds.items()}


def gives_what_paddle_gives(environment, rows, name, path):
    """Adds the distances to the rows of the page."""
    data = read_bytes(path)
    program = Program(data)
    readers = readers_of(program)
    generator = numpy.random.default_rng(zlib.crc32(name.encode()))
    parameters = draw_parameters(generator, program, readers)
    fetches = inferring_programs.fetches_of(program)
    sides = inferring_programs.sides_of(name, _SIDES)
    feeds = {feed: inferring_programs.draw_feed(generator, program, readers, feed, _LENGTHS, sides)
             for feed in inferring_programs.feeds_of(program)}
    lods = {feed: [[0, *numpy.cumsum(_LENGTHS).tolist()]] for feed in feeds
            if inferring_programs.has_sequences(program, feed)}
    theirs = _by_paddle(data, parameters, feeds, lods, fetches)
    moved = _by_paddle(data, parameters, _with_noise(generator, feeds), lods, fetches)
    pixels = max(numpy.prod(values.shape[2:]) for values in feeds.values())
    distances = {}
    for backend in BACKENDS if pixels <= _MOST_PIXELS_INTERPRETED else BACKENDS[:1]:
        try:
            fetched, _, _ = environment.runner.run(backend, data, parameters, [feeds], fetches,
                                                   lods)
        except Refused as refused:
            raise AssertionError(f"{backend}: {refused}") from refused
        ours = [fetched[0][name] for name in fetches]
        distances[backend] = max(map(_distance, ours, theirs))
    found = ", ".join(f"{backend} {distance:.1e}" for backend, distance in distances.items())
    by_noise = max(map(_distance, moved, theirs))
    tolerance = max(_tolerance(program), by_noise)
    rows[name] = [f"{distances[backend]:.0e}" if backend in distances else "-"
                  for backend in BACKENDS] + [f"{by_noise:.0e}"]
    assert max(distances.values()) <= tolerance, f"{found}, of {tolerance:.1e}"
    return f"{found}, of {tolerance:.1e}"


def page_has_all(environment, rows):
    """The figures differ from machine to machine; the programs do not."""
    page = models_page.ModelsPage(environment.docs)
    if environment.update:
        return page.write_differences(rows)
    assert page.programs() == list(rows), (
        f"docs/{models_page.NAME} is out of date; "
        "./bazelw run //tests/interop -- whole_models --update_docs writes it")
    return None


def cases(environment):
    if environment.models is None:
        yield "programs of the reference data", lambda: need_models(environment)
        return
    rows = {}
    for name, path in inferring_programs.paths(environment.models).items():
        yield name, functools.partial(gives_what_paddle_gives, environment, rows, name, path)
    yield models_page.NAME, functools.partial(page_has_all, environment, rows)
