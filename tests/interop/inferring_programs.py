"""Programs of the reference data that infer: which they are, and what they are fed and fetch."""

import numpy
from drawn_parameters import NUMPY_TYPES

# The slot of what an op compares with labels: the answer of a network that computes its loss.
_ANSWERS = {"softmax_with_cross_entropy": "Logits", "cross_entropy": "X", "cross_entropy2": "X",
            "elementwise_sub": "X"}


def paths(models):
    """The path of each program by its name."""
    found = {}
    for path in sorted(models.rglob("*")):
        name = str(path.relative_to(models))
        if not path.name.removesuffix(".gz").endswith((".pdmodel", "__model__")):
            continue
        if name.startswith("generated/") and not name.endswith("-test.pdmodel"):
            continue
        if "TRAIN" in name or "NOT_PARSEABLE" in name:
            continue
        found[name] = path
    return found


def fetches_of(program):
    fetched = [op.inputs["X"][0] for op in program.blocks[0] if op.type == "fetch"]
    return fetched or next([op.inputs[_ANSWERS[op.type]][0]]
                           for op in reversed(program.blocks[0]) if op.type in _ANSWERS)


def feeds_of(program):
    fed = [op.outputs["Out"][0] for op in program.blocks[0] if op.type == "feed"]
    return fed or sorted(variable.name for variable in program.desc.blocks[0].vars
                         if variable.need_check_feed)


def has_sequences(program, feed):
    return program.variables[feed].type.lod_tensor.lod_level > 0


def sides_of(name, known):
    """The height and width of images whose size a program leaves open, by a part of its name."""
    return next((sides for part, sides in known.items() if part in name), (64, 64))


def _height_of_table(program, readers, name):
    """How many ids there are for what is fed; 2 where no table says."""
    heights = [program.variables[op.inputs["W"][0]].type.lod_tensor.tensor.dims[0]
               for op, slot in readers[name] if slot == "Ids"]
    return min(heights, default=2)


def draw_feed(generator, program, readers, feed, lengths, sides):
    """An array of a sample for each of the lengths, which are those of its sequences.

    Images have the sides where the program says none.
    """
    tensor = program.variables[feed].type.lod_tensor.tensor
    dims = [int(dim) for dim in tensor.dims]
    if has_sequences(program, feed):
        dims[0] = sum(lengths)
    elif dims[0] < 0:
        dims[0] = len(lengths)
    if len(dims) == 4:
        dims[2:] = [dim if dim > 0 else side for dim, side in zip(dims[2:], sides)]
    dtype = NUMPY_TYPES[tensor.data_type]
    if feed == "scale_factor":
        values = numpy.ones(dims)
    elif feed == "im_size":
        values = numpy.full(dims, 96)
    elif dtype == "float32":
        values = generator.uniform(-1, 1, dims)
    else:
        values = generator.integers(0, _height_of_table(program, readers, feed), dims)
    return values.astype(dtype)
