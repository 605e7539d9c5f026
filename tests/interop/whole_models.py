"""(h) Every program of the reference data that infers, with parameters drawn here: our backends
give what PaddlePaddle gives.

How close they are is written to docs/models_beside_paddle.md by
`./bazelw run //tests/interop -- whole_models --update_docs`.
"""

import functools
import pathlib
import re
import zlib

import numpy
import paddle
import paddle_run
from cases import need_models
from drawn_parameters import NUMPY_TYPES, draw_parameters, readers_of
from ours import BACKENDS, Refused
from paddle_program import QUANTIZE_OPS, Program, read_bytes, without_feeds

_DOCUMENT = "models_beside_paddle.md"

# Float sums in another order: of the largest output.
_SUMMED_IN_FLOAT = 1e-5
# A code on the other side of a tie, in a layer whose codes many others read.
_CODES_DIFFER = 0.05
# Corners of boxes are differences of coordinates that are larger than they.
_BOXES = 1e-4
# Of what is fed: every layer rounds, and a network whose parameters are drawn may magnify it.
_NOISE = 1e-5

_BATCH = 2
# The slot of what an op compares with labels: the answer of a network that computes its loss.
_ANSWERS = {"softmax_with_cross_entropy": "Logits", "cross_entropy": "X", "cross_entropy2": "X",
            "elementwise_sub": "X"}
# What a program leaves open: the height and width of its images.
_SIDES = {"SLANet": (96, 128), "_det_": (96, 128), "_rec_": (32, 96), "PNet": (40, 56)}
# The interpreter computes one element after the other.
_MOST_PIXELS_INTERPRETED = 96 * 128


def _programs(models):
    for path in sorted(models.rglob("*")):
        name = str(path.relative_to(models))
        if not path.name.removesuffix(".gz").endswith((".pdmodel", "__model__")):
            continue
        if name.startswith("generated/") and not name.endswith("-test.pdmodel"):
            continue
        if "TRAIN" in name or "NOT_PARSEABLE" in name:
            continue
        yield name, path


def _fetches(program):
    fetched = [op.inputs["X"][0] for op in program.blocks[0] if op.type == "fetch"]
    return fetched or next([op.inputs[_ANSWERS[op.type]][0]]
                           for op in reversed(program.blocks[0]) if op.type in _ANSWERS)


def _feeds(program):
    fed = [op.outputs["Out"][0] for op in program.blocks[0] if op.type == "feed"]
    return fed or sorted(variable.name for variable in program.desc.blocks[0].vars
                         if variable.need_check_feed)


def _sides(name, dims):
    height, width = next((sides for part, sides in _SIDES.items() if part in name), (64, 64))
    return (dims[-2] if dims[-2] > 0 else height, dims[-1] if dims[-1] > 0 else width)


def _height_of_table(program, readers, name):
    """How many ids there are for what is fed; 2 where no table says."""
    heights = [program.variables[op.inputs["W"][0]].type.lod_tensor.tensor.dims[0]
               for op, slot in readers[name] if slot == "Ids"]
    return min(heights, default=2)


def _draw_feed(generator, program, readers, name, feed):
    """An array, and its offsets where the variable has levels of them."""
    described = program.variables[feed].type.lod_tensor
    dims = [int(dim) for dim in described.tensor.dims]
    if described.lod_level > 0:
        dims[0] = 6
    elif dims[0] < 0:
        dims[0] = _BATCH
    if len(dims) == 4:
        dims[2:] = _sides(name, dims)
    dtype = NUMPY_TYPES[described.tensor.data_type]
    if feed == "scale_factor":
        values = numpy.ones(dims)
    elif feed == "im_size":
        values = numpy.full(dims, 96)
    elif dtype == "float32":
        values = generator.uniform(-1, 1, dims)
    else:
        values = generator.integers(0, _height_of_table(program, readers, feed), dims)
    return values.astype(dtype), [[0, 2, 6]] if described.lod_level > 0 else None


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
        return values * (1 + generator.uniform(-_NOISE, _NOISE, values.shape)).astype("float32")

    return {name: moved(values) if values.dtype == numpy.float32 else values
            for name, values in feeds.items()}


def gives_what_paddle_gives(environment, rows, name, path):
    """Adds the distances to the rows of the document."""
    data = read_bytes(path)
    program = Program(data)
    readers = readers_of(program)
    generator = numpy.random.default_rng(zlib.crc32(name.encode()))
    parameters = draw_parameters(generator, program, readers)
    fetches = _fetches(program)
    feeds, lods = {}, {}
    for feed in _feeds(program):
        feeds[feed], lod = _draw_feed(generator, program, readers, name, feed)
        if lod:
            lods[feed] = lod
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
    rows[name] = "".join(f"| {distances[backend]:.0e} " if backend in distances else "| - "
                         for backend in BACKENDS) + f"| {by_noise:.0e} |"
    assert max(distances.values()) <= tolerance, f"{found}, of {tolerance:.1e}"
    return f"{found}, of {tolerance:.1e}"


def _document(rows):
    lines = "\n".join(f"| `{name}` {row}" for name, row in rows.items())
    return f"""# Every program that infers, beside PaddlePaddle {paddle.__version__}

Made by `./bazelw run //tests/interop -- whole_models --update_docs`; `//tests/interop` runs it anew.

Each program of the reference data that infers, in float unless it was quantized, with the same drawn parameters and inputs for
all. *executor* and *interpreter*: the largest difference of what they and PaddlePaddle fetch, as a part of the largest value
(*-*: the interpreter is not asked about large images). *noise*: the same of PaddlePaddle's own outputs when each value that is
fed moves by up to {_NOISE:.0e} of itself. Drawn parameters may magnify what is rounded, and in a quantized network a code on the
other side of a tie is many others some layers on. What is computed on integers is a table of [models.md](models.md).
[The manual](manual.md#first-parameters) says how to get parameters for a program that comes without.

| program | executor | interpreter | noise |
|---|--:|--:|--:|
{lines}
"""


def document_has_all(environment, rows):
    """The figures differ from machine to machine; the programs do not."""
    path = pathlib.Path(environment.docs) / _DOCUMENT
    if environment.update:
        path.write_text(_document(rows))
        return f"wrote {path}"
    written = re.findall("^[|] `(.*?)`", path.read_text() if path.exists() else "", re.MULTILINE)
    assert written == list(rows), (
        f"docs/{_DOCUMENT} is out of date; "
        "./bazelw run //tests/interop -- whole_models --update_docs writes it")
    return None


def cases(environment):
    if environment.models is None:
        yield "programs of the reference data", lambda: need_models(environment)
        return
    rows = {}
    for name, path in _programs(environment.models):
        yield name, functools.partial(gives_what_paddle_gives, environment, rows, name, path)
    yield _DOCUMENT, functools.partial(document_has_all, environment, rows)
