"""(a) The reference's own rewrites, compared with ours.

For each program of the reference data that is there before and after the reference's pass: our
target of that era, with the same settings, gives the same quantizers on the same values. What is
different is listed in EXPECTED with its cause; anything else fails.
"""

import collections
import dataclasses
import re

from cases import need_models
from paddle_program import (
    Program, initial_values, is_quantization, observers, quantizers, read_bytes)

# (pattern of a difference, its cause)
EXPECTED = (
    (r"op \w+_grad -> .*: op_role_var is \['(\S+)\.quantized\.dequantized', '\1@GRAD'\] there, "
     r"\['\1', '\1@GRAD'\] here",
     "op_role_var there names no parameter any more: a gradient that is averaged over devices by "
     "that name is lost"),
    (r"op increment -> @STEP_COUNTER@: 1 there, 0 here",
     "the test program there is a clone of the training program and still counts its steps"),
    (r"quantizer fake_channel_wise_quantize_abs_max \+ .* of \S+\.w_\d+: "
     r"fake_channel_wise_quantize_abs_max\.is_test is True there, False here",
     "a weight's scale follows the weight: with is_test the op reads a stored scale, which a "
     "program that was not trained does not have"),
    (r"ours alone: observer of \S+ \(of \w+\.\w+\) in block 0, whose @scale is taken there",
     "the quantizer's scale has the name that the observer's would have there; so the output is "
     "not observed"),
    (r"ours alone: observer of \S+ \(of \w+\.\w+\) in block [1-9]\d*(, .*)?",
     "an output in a loop's body: the passes of 2.x rewrite block 0 alone"),
    (r"theirs alone: observer of _generated_var_\d+ \(of scale\.Out\)",
     "an op of the optimizer (here of a regularizer) is no op of the model"),
    (r"theirs alone: observer of \S+ \(of fill_constant\.Out\)",
     "the range of a constant is known"),
    (r"ours alone: quantizer fake_quantize_dequantize_moving_average_abs_max of (x|tanh_0\.tmp_0 "
     r"\(of tanh\.Out\))",
     "an addition in a loop's body: the passes of 2.x rewrite block 0 alone"),
    (r"op elementwise_add -> tmp_2: (activation_bits|quantization_type|with_quant_attr) is .*",
     "the mark of that addition"),
)


@dataclasses.dataclass(frozen=True)
class Pair:
    """A program before and after the reference's pass."""
    era: str
    name: str
    before: object
    after: object
    activations: str
    weights: str

    def startup(self, quantized):
        """The startup program's path, before or after; None where the reference made none."""
        if self.era != "fluid185" or "-train_main" not in self.name:
            return None
        path = self.after if quantized else self.before
        return path.with_name(path.name.replace("-train_main", "-train_startup"))

    def config(self):
        lines = [f'target: "{"paddle_1_8" if self.era == "fluid185" else "paddle_2_6"}"',
                 f'activations {{ quantizer: "{self.activations}" }}',
                 f'weights {{ quantizer: "{self.weights}" }}']
        if self.era == "paddle262":
            # The pairs were made with conv2d, depthwise_conv2d and mul, then elementwise_add and
            # pool2d in the second pass, then observers in the training programs.
            lines += [f'rules {{ op_type: "{op}" slot: "{slot}" skip: true optional: true }}'
                      for op in ("matmul", "matmul_v2") for slot in ("X", "Y")]
            lines += ['also_quantize: "elementwise_add"', 'also_quantize: "pool2d"']
            if "-train_main-" in self.name:
                lines.append("observe_outputs: true")
        return "\n".join(lines)


_PAIR_NAME = re.compile(
    r"(?P<before>.+?)-(?:QuantizeTranspiler-)?act_(?P<act>.+?)(?:-w_(?P<weight>.+?))?"
    r"_paddle_quantized\.pdmodel(?:\.gz)?$")


def find_pairs(models):
    for era in ("fluid185", "paddle262"):
        for after in sorted((models / "generated" / era).glob("*_paddle_quantized.pdmodel*")):
            match = _PAIR_NAME.match(after.name)
            before = after.with_name(match["before"] + ".pdmodel")
            if before.name.endswith("-train_startup.pdmodel"):
                continue
            yield Pair(era, after.name.split("_paddle_quantized")[0], before, after,
                       match["act"], match["weight"] or "abs_max")


def differences(theirs, ours):
    """What two rewrites of one program do differently, one sentence each."""
    found = []
    their_quantizers, our_quantizers = quantizers(theirs), quantizers(ours)
    for key in sorted(their_quantizers.keys() | our_quantizers.keys()):
        what = f"quantizer {key[1]} of {key[0]}"
        if key not in our_quantizers:
            found.append(f"theirs alone: {what}")
        elif key not in their_quantizers:
            found.append(f"ours alone: {what}")
        else:
            a, b = their_quantizers[key], our_quantizers[key]
            found += _attribute_differences(what, a.attributes, b.attributes)
            found += [f"theirs alone: {what}: reader {r}" for r in sorted(a.readers - b.readers)]
            found += [f"ours alone: {what}: reader {r}" for r in sorted(b.readers - a.readers)]
    their_observers, our_observers = observers(theirs), observers(ours)
    for value in sorted(their_observers.keys() | our_observers.keys()):
        if value not in our_observers:
            found.append(f"theirs alone: observer of {value}")
        elif value not in their_observers:
            observer = our_observers[value]
            taken = f"{observer.variable}@scale" in theirs.variables
            found.append(f"ours alone: observer of {value} in block {observer.block}"
                         + (", whose @scale is taken there" if taken else ""))
        else:
            found += _attribute_differences(
                f"observer of {value}", their_observers[value].attributes,
                our_observers[value].attributes)
    return found + _other_op_differences(theirs, ours)


def _attribute_differences(what, theirs, ours):
    return [f"{what}: {name} is {theirs.get(name)} there, {ours.get(name)} here"
            for name in sorted(theirs.keys() | ours.keys()) if theirs.get(name) != ours.get(name)]


# What an op without the attribute means.
_FRAMEWORK_DEFAULTS = {
    "op_device": "", "op_namescope": "/", "op_role_var": [], "with_quant_attr": False}


def _other_op_differences(theirs, ours):
    """The ops that quantize nothing and are gone, or carry other attributes."""
    def attribute(op, name):
        return op.attributes.get(name, _FRAMEWORK_DEFAULTS.get(name))

    def by_title(program):
        ops = {}
        for op in program.ops():
            if not is_quantization(op):
                ops.setdefault(op.title(), []).append(op)
        return ops
    found = []
    their_ops, our_ops = by_title(theirs), by_title(ours)
    for title in sorted(their_ops.keys() | our_ops.keys()):
        a, b = their_ops.get(title, []), our_ops.get(title, [])
        if len(a) != len(b):
            found.append(f"op {title}: {len(a)} there, {len(b)} here")
            continue
        for their_op, our_op in zip(a, b):
            names = their_op.attributes.keys() | our_op.attributes.keys()
            found += [f"op {title}: {n} is {attribute(their_op, n)} there, "
                      f"{attribute(our_op, n)} here"
                      for n in sorted(names) if not n.startswith("fixpoint.")
                      and attribute(their_op, n) != attribute(our_op, n)]
    return found


def _state_differences(theirs, their_startup, ours, our_startup):
    """Which state of the quantizers does not begin with the same value."""
    their_state = initial_values(theirs, their_startup)
    our_state = initial_values(ours, our_startup)
    return [f"state {key}: {their_state.get(key)} there, {our_state.get(key)} here"
            for key in sorted(their_state.keys() | our_state.keys())
            if their_state.get(key) != our_state.get(key)]


def _cause(difference):
    for pattern, cause in EXPECTED:
        if re.fullmatch(pattern, difference):
            return cause
    return None


def compare(pair, transpiler, causes_seen):
    """Fails on a difference without a known cause; tells how many there are of each cause."""
    before = read_bytes(pair.before)
    their_startup = pair.startup(quantized=True)
    if their_startup is None:
        ours = Program(transpiler.transpile(before, pair.config())[0])
    else:
        program, startup = transpiler.transpile(
            before, pair.config(), read_bytes(pair.startup(quantized=False)))
        ours = Program(program)
    theirs = Program(read_bytes(pair.after))
    found = differences(theirs, ours)
    if their_startup is not None:
        found += _state_differences(
            theirs, Program(read_bytes(their_startup)), ours, Program(startup))
    unexpected = [difference for difference in found if _cause(difference) is None]
    assert not unexpected, "differences without a known cause:\n    " + "\n    ".join(unexpected)
    causes = collections.Counter(_cause(difference) for difference in found)
    causes_seen.update(causes)
    told = f"{len(quantizers(ours))} quantizers, {len(observers(ours))} observers"
    return told + "".join(f"\n    {n} x {cause}" for cause, n in causes.items())


def settings_that_differ_are_seen(environment):
    pair = next(pair for pair in find_pairs(environment.models) if pair.name.startswith("lenet"))
    config = (pair.config().replace("activations {", "activations { bits: 7")
              + "\nrules { op_type: 'pool2d' skip: true }")
    found = differences(
        Program(read_bytes(pair.after)),
        Program(environment.transpiler.transpile(read_bytes(pair.before), config)[0]))
    assert ("quantizer fake_quantize_abs_max + fake_dequantize_max_abs of image: "
            "fake_quantize_abs_max.bit_length is 8 there, 7 here") in found, found
    assert ("theirs alone: quantizer fake_quantize_dequantize_moving_average_abs_max of "
            "conv2d_0.tmp_2 (of relu.Out)") in found, found


def cases(environment):
    if environment.models is None:
        yield "pairs of programs", lambda: need_models(environment)
        return
    causes_seen = collections.Counter()
    yield "settings that differ are seen", lambda: settings_that_differ_are_seen(environment)
    for pair in find_pairs(environment.models):
        yield (f"{pair.era}/{pair.name}",
               lambda pair=pair: compare(pair, environment.transpiler, causes_seen))

    def every_cause_is_seen():
        stale = [cause for _, cause in EXPECTED if cause not in causes_seen]
        assert not stale, f"no pair differs for this reason any more: {stale}"
    yield "every expected difference occurs", every_cause_is_seen
