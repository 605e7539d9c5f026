"""A program of one op and its gradient: made, run by PaddlePaddle, and compared.

The gradient op is the one that PaddlePaddle's own registry makes of the op.
"""

import dataclasses
import zlib

import numpy
import paddle
import paddle_run
from paddle.base import core
from paddle.base.framework import OpProtoHolder

GRADIENT = "@GRAD"

# How far results may be apart, as a part of the largest number, by what the ops of a family do.
EXACT = 0.0  # They move elements, or round them to codes.
ROUNDED = 2e-6  # A few operations of 24 bits, and functions that both know to some units of that.
SUMMED = 1e-5  # Sums of up to 2**10 such numbers, in another order.

# What a network keeps from step to step is persistable, as is what an op writes in place; all other
# inputs are fed.
_WEIGHT_SLOTS = {"Filter", "W", "Scale", "Bias"}
# Shapes without data, and a scratch buffer of the reference's GPU kernels.
_OUTPUTS_WITHOUT_MEANING = {"XShape", "ReserveSpace"}


@dataclasses.dataclass(frozen=True)
class Floats:
    """Drawn uniformly from [low, high)."""
    shape: tuple
    low: float = -1
    high: float = 1

    def draw(self, generator):
        return generator.uniform(self.low, self.high, self.shape).astype("float32")


@dataclasses.dataclass(frozen=True)
class Integers:
    """Drawn uniformly from [0, below)."""
    shape: tuple
    below: int
    dtype: str = "int64"

    def draw(self, generator):
        return generator.integers(0, self.below, self.shape).astype(self.dtype)


@dataclasses.dataclass(frozen=True)
class Probabilities:
    """Rows of positive numbers whose sum is 1."""
    shape: tuple

    def draw(self, generator):
        drawn = generator.uniform(0.1, 1, self.shape)
        return (drawn / drawn.sum(-1, keepdims=True)).astype("float32")


@dataclasses.dataclass(frozen=True)
class Values:
    """These numbers."""
    numbers: object
    dtype: str = "float32"

    @property
    def shape(self):
        return numpy.shape(self.numbers)

    def draw(self, generator):
        return numpy.array(self.numbers, self.dtype)


@dataclasses.dataclass(frozen=True)
class Cut:
    """Rows that are cut into sequences, by the offsets of each level."""
    rows: object
    lod: tuple

    @property
    def shape(self):
        return self.rows.shape

    def draw(self, generator):
        return self.rows.draw(generator)


def floats(*shape, low=-1, high=1):
    return Floats(shape, low, high)


@dataclasses.dataclass(frozen=True)
class Case:
    """An op with what it reads; slots hold one of the above, or a list where they take several."""
    op: str
    inputs: dict
    attributes: dict = dataclasses.field(default_factory=dict)
    # How many variables an output slot has, where that is not one.
    counts: dict = dataclasses.field(default_factory=dict)
    # Outputs with what they hold before the op runs.
    state: dict = dataclasses.field(default_factory=dict)
    # What the gradients of outputs are, whose shape the offsets of sequences decide.
    gradients: dict = dataclasses.field(default_factory=dict)
    # Outputs that the gradient op is given; the op itself does not run.
    given: dict = dataclasses.field(default_factory=dict)
    # Output slots that hold nothing of meaning with these attributes.
    ignored: tuple = ()
    has_gradient: bool = True
    # Input slots of numbers that no gradient is asked of.
    constant: tuple = ()
    # Part of the message with which both backends, or the executor, say that they do not do this.
    refused: str = ""
    executor_refuses: str = ""

    def title(self):
        def told(spec):
            if isinstance(spec, list):
                return " ".join(map(told, spec))
            if isinstance(spec, Values) and numpy.size(spec.numbers) <= 4:
                return f"={spec.numbers}"
            shape = "[" + ",".join(map(str, spec.shape)) + "]"
            if isinstance(spec, Cut):
                shape += " cut at " + " in ".join(" ".join(map(str, level)) for level in spec.lod)
            return shape
        parts = [f"{slot}{told(spec)}" for slot, spec in self.inputs.items()]
        parts += [f"{name}={value}" for name, value in self.attributes.items()]
        return f"{self.op}: {' '.join(parts)}"


def _listed(spec):
    return spec if isinstance(spec, list) else [spec]


def _input_slot_written_by(slot, inputs):
    """The input slot whose variable an output slot writes in place, or None."""
    if slot.endswith("Out") and slot[:-3] in inputs:
        return slot[:-3]
    of_quantizers = {"OutScale": ("InScale", "Scale"), "OutState": ("InState",),
                     "OutAccum": ("InAccum",)}
    return next((name for name in of_quantizers.get(slot, ()) if name in inputs), None)


class OpProgram:
    """The program of a case with its values: `data` serialized, `scope`, `feed` and `fetches`."""

    def __init__(self, case, with_gradient):
        self._case = case
        self._generator = numpy.random.default_rng(zlib.crc32(case.title().encode()))
        self._program = paddle.static.Program()
        self._block = self._program.current_block()
        self.scope, self.feed, self.lods, self.fetches = {}, {}, {}, []
        self.written_in_place = set()
        with paddle.static.program_guard(self._program, paddle.static.Program()):
            op = self._append_op()
            if with_gradient:
                self._append_gradient(op)
            if case.given:
                self._block._remove_op(0)
        self.data = self._program.desc.serialize_to_string()
        self.op_types = {self._block.desc.op(i).type()
                         for i in range(self._block.desc.op_size())}

    def _declare(self, name, spec, persistable):
        """The variable, with a value that a run begins with."""
        array = spec.draw(self._generator)
        (self.scope if persistable else self.feed)[name] = array
        lod = spec.lod if isinstance(spec, Cut) else ()
        if lod:
            self.lods[name] = [list(level) for level in lod]
        return self._block.create_var(name=name, shape=list(array.shape), dtype=str(array.dtype),
                                      persistable=persistable, stop_gradient=False,
                                      lod_level=len(lod))

    def _append_op(self):
        case = self._case
        proto = OpProtoHolder.instance().get_op_proto(case.op)
        aliases = {slot.name: _input_slot_written_by(slot.name, case.inputs)
                   for slot in proto.outputs}
        written = set(aliases.values())
        inputs = {
            slot: [self._declare(slot if i == 0 else f"{slot}.{i}", one,
                                 slot in _WEIGHT_SLOTS or slot in written)
                   for i, one in enumerate(_listed(spec))]
            for slot, spec in case.inputs.items()}
        outputs = {}
        for slot in proto.outputs:
            name = slot.name
            if aliases[name] is not None:
                outputs[name] = inputs[aliases[name]]
                self.written_in_place.update(one.name for one in outputs[name])
            elif name in case.state or name in case.given:
                spec = case.state.get(name) or case.given[name]
                outputs[name] = [self._declare(name + ".out", spec, name in case.state)]
                self.written_in_place.update([name + ".out"] if name in case.state else [])
            elif not slot.dispensable or name in case.counts:
                outputs[name] = [
                    self._block.create_var(name=f"{name}.out.{i}", dtype="float32")
                    for i in range(case.counts.get(name, 1))]
            if not case.given and name in outputs and name not in _OUTPUTS_WITHOUT_MEANING \
                    and name not in case.ignored:
                self.fetches += [one.name for one in outputs[name]]
        return self._block.append_op(type=case.op, inputs=inputs, outputs=outputs,
                                     attrs=dict(case.attributes))

    def _append_gradient(self, op):
        block = self._block.desc
        without = {name + GRADIENT for name in op.input_arg_names
                   if self._block.var(name).dtype != core.VarDesc.VarType.FP32
                   or name.split(".")[0] in self._case.constant}
        for desc in core.get_grad_op_desc(op.desc, without, [])[0]:
            added = block.append_op()
            added.copy_from(desc)
            for name in added.input_arg_names():
                if name.endswith(GRADIENT) and block.find_var(name.encode()) is None:
                    forward = self._block.var(name[:-len(GRADIENT)])
                    spec = self._case.gradients.get(name.split(".")[0],
                                                    Floats(tuple(forward.shape)))
                    self._declare(name, spec, persistable=False)
            for name in added.output_arg_names():
                if name.endswith(GRADIENT):
                    forward = self._block.var(name[:-len(GRADIENT)])
                    self._block.create_var(name=name, shape=forward.shape, dtype=forward.dtype)
            added.infer_var_type(block)
            added.infer_shape(block)
            self.fetches += [name for name in added.output_arg_names() if name != "@EMPTY@"]
        self._program._sync_with_cpp()

    def run_by_paddle(self):
        """The fetches by name, and the offsets of those that have some."""
        scope = paddle.static.Scope()
        for name, array in self.scope.items():
            paddle_run.set_value(scope, name, array)
        feed = {name: paddle_run.cut(array, self.lods[name]) if name in self.lods else array
                for name, array in self.feed.items()}
        values, lods = paddle_run.run_with_lods(self._program, scope, feed, self.fetches)
        return (dict(zip(self.fetches, values)),
                {name: lod for name, lod in zip(self.fetches, lods) if lod})

    def run_by_us(self, runner, backend):
        fetched, lods, left = runner.run(backend, self.data, self.scope, [self.feed], self.fetches,
                                         self.lods)
        return ({name: left[name] if name in self.written_in_place else fetched[0][name]
                 for name in self.fetches}, lods[0])
