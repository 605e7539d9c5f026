"""Parameters of programs that come without them."""

import collections

import numpy
from paddle_program import is_quantization

NUMPY_TYPES = {2: "int32", 3: "int64", 5: "float32"}


def readers_of(program):
    """The (op, slot) pairs that read each variable."""
    readers = collections.defaultdict(list)
    for op in program.ops():
        for slot, _, name in op.reads():
            readers[name].append((op, slot))
    return readers


def _draw_parameter(generator, dims, readers):
    """Values with which a deep network neither grows nor vanishes."""
    slots = {slot for _, slot in readers}
    quantizes = any(is_quantization(op) for op, _ in readers)
    if quantizes and not slots & {"X"}:
        return generator.uniform(2, 4, dims)  # a range of activations
    if "Variance" in slots or (len(dims) == 1 and "Scale" in slots):
        return generator.uniform(0.8, 1.2, dims)
    if slots & {"Filter", "Weight"} or len(dims) > 2:
        return generator.standard_normal(dims) * numpy.sqrt(2 / max(1, numpy.prod(dims[1:])))
    if len(dims) == 2:
        return generator.standard_normal(dims) / numpy.sqrt(dims[0])
    if list(dims) == [1]:
        return generator.uniform(0.9, 1.1, dims)
    return generator.uniform(-0.1, 0.1, dims)


def draw_parameters(generator, program, readers):
    drawn = {}
    for name in sorted(program.variables):
        variable = program.variables[name]
        tensor = variable.type.lod_tensor.tensor
        if not variable.persistable or name in ("feed", "fetch") or not tensor.dims:
            continue
        values = _draw_parameter(generator, [max(1, dim) for dim in tensor.dims], readers[name])
        drawn[name] = values.astype(NUMPY_TYPES.get(tensor.data_type, "float32"))
    return drawn
