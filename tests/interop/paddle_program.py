"""Programs as data: files, ops, and the quantizers that a program holds.

Nothing here runs a program; `paddle_run` does.
"""

import collections
import dataclasses
import gzip
import pathlib

from paddle.base.proto import framework_pb2

# What a quantize op computes, by type: the slot of its result and the attributes that matter, with
# the defaults that a file without them means.
QUANTIZE_OPS = {
    "fake_quantize_abs_max": {"bit_length": 8, "round_type": 1},
    "fake_quantize_range_abs_max": {
        "bit_length": 8, "round_type": 1, "window_size": 10000, "is_test": False},
    "fake_quantize_moving_average_abs_max": {
        "bit_length": 8, "round_type": 1, "moving_rate": 0.9, "is_test": False},
    "fake_channel_wise_quantize_abs_max": {
        "bit_length": 8, "round_type": 1, "quant_axis": 0, "is_test": False},
    "fake_quantize_dequantize_moving_average_abs_max": {
        "bit_length": 8, "round_type": 1, "moving_rate": 0.9, "is_test": False},
    "fake_quantize_dequantize_abs_max": {"bit_length": 8, "round_type": 1},
    "fake_channel_wise_quantize_dequantize_abs_max": {
        "bit_length": 8, "round_type": 1, "quant_axis": 0},
}
DEQUANTIZE_OPS = {
    "fake_dequantize_max_abs": {"max_range": None},
    "fake_channel_wise_dequantize_max_abs": {
        "quant_bits": [8], "quant_axis": 0, "x_num_col_dims": 1},
}
OBSERVER_OPS = {"moving_average_abs_max_scale": {"moving_rate": 0.9, "is_test": False}}

_ATTRIBUTE_FIELDS = {
    0: "i", 1: "f", 2: "s", 3: "ints", 4: "floats", 5: "strings", 6: "b", 7: "bools",
    8: "block_idx", 9: "l", 10: "blocks_idx", 11: "longs", 12: "float64s", 13: "var_name",
    14: "vars_name", 15: "float64", 16: "scalar", 17: "scalars"}

_EMPTY = "@EMPTY@"


def read_bytes(path):
    """The bytes of a file; gunzipped where its name ends in ".gz"."""
    data = pathlib.Path(path).read_bytes()
    return gzip.decompress(data) if str(path).endswith(".gz") else data


def parse(data):
    """A serialized program as PaddlePaddle's own message."""
    desc = framework_pb2.ProgramDesc()
    desc.ParseFromString(data)
    return desc


def without_feeds(data):
    """A program as a message without feed and fetch ops, which PaddlePaddle's executor adds."""
    desc = parse(data)
    for block in desc.blocks:
        kept = [op for op in block.ops if op.type not in ("feed", "fetch")]
        del block.ops[:]
        block.ops.extend(kept)
    return desc


def attribute_value(attribute):
    value = getattr(attribute, _ATTRIBUTE_FIELDS[attribute.type])
    return value if isinstance(value, (bool, int, float, str)) else list(value)


@dataclasses.dataclass
class Op:
    type: str
    block: int
    index: int
    inputs: dict
    outputs: dict
    attributes: dict

    def reads(self):
        """(slot, position, name) of each argument that the op reads."""
        return [(slot, i, name) for slot, names in self.inputs.items()
                for i, name in enumerate(names) if name != _EMPTY]

    def writes(self):
        return [(slot, name) for slot, names in self.outputs.items()
                for name in names if name != _EMPTY]

    def attribute(self, name, default):
        value = self.attributes.get(name, default)
        # A FLOAT attribute holds the nearest float32.
        return round(value, 6) if isinstance(value, float) else value

    def title(self):
        """The op by its type and first result, which no rewrite renames."""
        written = [name for _, name in self.writes()]
        return f"{self.type} -> {written[0]}" if written else self.type


def _make_op(desc, block, index):
    return Op(
        desc.type, block, index,
        {slot.parameter: list(slot.arguments) for slot in desc.inputs},
        {slot.parameter: list(slot.arguments) for slot in desc.outputs},
        {a.name: attribute_value(a) for a in desc.attrs})


class Program:
    """A parsed program with the question that comparisons ask: who wrote what an op reads?"""

    def __init__(self, data):
        self.desc = parse(data)
        self.blocks = [[_make_op(op, block.idx, i) for i, op in enumerate(block.ops)]
                       for block in self.desc.blocks]
        self.variables = {}
        for block in self.desc.blocks:
            for variable in block.vars:
                self.variables.setdefault(variable.name, variable)

    def ops(self):
        return [op for block in self.blocks for op in block]

    def op_counts(self):
        return collections.Counter(op.type for op in self.ops())

    def writer(self, name, block, index):
        """Who wrote the value that an op at `index` of `block` reads under `name`.

        The last write before it in its block, else in the enclosing blocks; "" for a value from
        outside: a parameter, a state or a feed.
        """
        for op in reversed(self.blocks[block][:index]):
            for slot, written in op.writes():
                if written == name:
                    return f"{op.type}.{slot}"
        parent = self.desc.blocks[block].parent_idx
        if parent < 0:
            return ""
        for op in self.blocks[parent]:
            if op.attributes.get("sub_block") == block:
                return self.writer(name, parent, op.index)
        return self.writer(name, parent, len(self.blocks[parent]))


@dataclasses.dataclass
class Quantizer:
    """One value, quantized: by which ops, with which attributes, for which readers."""
    value: str
    types: str
    attributes: dict
    readers: frozenset


def _semantics(op, defaults):
    return {f"{op.type}.{name}": op.attribute(name, default)
            for name, default in dict(defaults, op_role=0).items()}


def quantizers(program):
    """Every quantizer of a program, keyed by its value and its op types.

    A value is named by its variable and the op that wrote it. A quantizer's readers are the ops,
    with slot and position, that read its last result.
    """
    readers = collections.defaultdict(list)
    for op in program.ops():
        for slot, position, name in op.reads():
            readers[name].append((op, slot, position))

    found = {}
    for op in program.ops():
        if op.type not in QUANTIZE_OPS:
            continue
        result, types = op.outputs["Out"][0], op.type
        attributes = _semantics(op, QUANTIZE_OPS[op.type])
        for reader, _, _ in list(readers[result]):
            if reader.type in DEQUANTIZE_OPS:
                types = f"{op.type} + {reader.type}"
                attributes.update(_semantics(reader, DEQUANTIZE_OPS[reader.type]))
                result = reader.outputs["Out"][0]
        name = op.inputs["X"][0]
        writer = program.writer(name, op.block, op.index)
        value = f"{name} (of {writer})" if writer else name
        assert (value, types) not in found, f"{value} is quantized twice by {types}"
        found[value, types] = Quantizer(
            value, types, attributes,
            frozenset(f"{reader.title()}: {slot}[{i}]" for reader, slot, i in readers[result]))
    return found


@dataclasses.dataclass
class Observer:
    variable: str
    block: int
    attributes: dict


def observers(program):
    """Every observer of a program by the value that it observes."""
    found = {}
    for op in program.ops():
        if op.type in OBSERVER_OPS:
            name = op.inputs["X"][0]
            value = f"{name} (of {program.writer(name, op.block, op.index)})"
            found[value] = Observer(name, op.block, _semantics(op, OBSERVER_OPS[op.type]))
    return found


def is_quantization(op):
    return op.type in QUANTIZE_OPS or op.type in DEQUANTIZE_OPS or op.type in OBSERVER_OPS


def state_variables(program):
    """The persistable variables of each quantizer and observer, by its value, op type and slot."""
    found = {}
    for op in program.ops():
        if op.type not in QUANTIZE_OPS and op.type not in OBSERVER_OPS:
            continue
        name = op.inputs["X"][0]
        writer = program.writer(name, op.block, op.index)
        for slot, arguments in list(op.inputs.items()) + list(op.outputs.items()):
            for argument in arguments:
                if slot != "X" and program.variables[argument].persistable:
                    found[f"{slot} of {op.type} of {name} (of {writer})"] = argument
    return found


def initial_values(program, startup):
    """How the state of each quantizer begins: the op that initialises it, shape, dtype, value."""
    initialisers = {name: op for op in startup.ops() for _, name in op.writes()}

    def beginning(name):
        op = initialisers.get(name)
        if op is None:
            return None
        value = op.attribute("str_value", "") or op.attribute("value", None)
        return op.type, op.attributes["shape"], op.attributes["dtype"], float(value)

    return {key: beginning(name) for key, name in state_variables(program).items()}
