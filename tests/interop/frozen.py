"""(c) PaddlePaddle runs what we froze, and computes what it simulated in training.

The simulation is our test program with the trained float weights. Each layer of the frozen program
is run on the simulation's own inputs and compared; then the whole program is run, and every
quantized value that came out another code, a flipped rounding, is counted.
"""

import collections
import dataclasses
import functools
import itertools

import nets
import numpy
import paddle_run
import train
from cases import need_models
from paddle_program import QUANTIZE_OPS, Program, is_quantization, parse, read_bytes, without_feeds

# In the portable form each kernel gets the numbers that the simulation's got. The legacy form
# multiplies the integers first and the scales last, in float32: 24 bits, and a sum of up to 2**10
# products in both.
_TOLERANCE = {"portable": 0.0, "legacy": 1e-5}
# The outputs that are stored were computed on another machine: the reference picks its kernels by the
# processor, and each sums in its own order.
_TOLERANCE_OF_STORED = 1e-5
# How near to a tie, as a part of the largest value, float rounding can flip a code.
_TIE = 1e-5
_SUFFIX = "@simulated"


def _read_simulated(desc, names):
    """The program whose ops read each named value as it is fed, and write it beside."""
    block = desc.blocks[0]
    variables = {variable.name: variable for variable in block.vars}
    for name in names:
        fed = block.vars.add()
        fed.CopyFrom(variables[name])
        fed.name = name + _SUFFIX
    for op in block.ops:
        for slot in op.inputs:
            slot.arguments[:] = [name + _SUFFIX if name in names else name
                                 for name in slot.arguments]
    return desc


def _float_values(data):
    """The values that ops of block 0 compute in float32."""
    program = Program(data)
    return [name for op in program.blocks[0] if op.type not in ("feed", "fetch")
            for slot, name in op.writes()
            # XShape is a shape without data.
            if slot != "XShape" and not program.variables[name].persistable
            and program.variables[name].type.lod_tensor.tensor.data_type == 5]


@dataclasses.dataclass
class _QuantizedActivation:
    """What quantizes a value, and the variable with the codes or what a fused op makes of them."""
    value: str
    result: str
    scale: str
    largest_code: int
    fused: bool

    def codes(self, values, scale):
        result = values[self.result]
        return numpy.rint(result * (self.largest_code / scale)) if self.fused else result

    def distance_to_tie(self, values, scale):
        """How far from a rounding tie each element of the value is, in the value's own unit."""
        step = scale / self.largest_code
        position = values[self.value].astype("float64") / step
        return numpy.abs(position - numpy.floor(position) - 0.5) * step


def _quantized_activations(program):
    """The results of a simulation, or of a frozen program in either form."""
    found = []
    for op in program.blocks[0]:
        if "X" not in op.inputs or program.variables[op.inputs["X"][0]].persistable:
            continue
        largest_code = 2 ** (op.attribute("bit_length", 8) - 1) - 1
        if op.type in QUANTIZE_OPS:
            found.append(_QuantizedActivation(
                op.inputs["X"][0], op.outputs["Out"][0], op.outputs["OutScale"][0], largest_code,
                "_quantize_dequantize_" in op.type))
        elif op.type == "quantize_linear":
            found.append(_QuantizedActivation(
                op.inputs["X"][0], op.outputs["Y"][0], op.inputs["Scale"][0], largest_code, False))
    return found


def _paired(simulated, frozen):
    """Each quantizer of the simulation with the one of the frozen program.

    A value with several quantizers has them in the same order in both.
    """
    by_value = collections.defaultdict(list)
    for quantized in frozen:
        by_value[quantized.value].append(quantized)
    pairs = [(quantized, by_value[quantized.value].pop(0)) for quantized in simulated]
    left_over = [value for value, unpaired in by_value.items() if unpaired]
    assert not left_over, f"quantized in the frozen program alone: {left_over}"
    return pairs


class Comparison:
    """A simulation and its frozen program, run by PaddlePaddle on one batch."""

    def __init__(self, simulation, simulation_scope, frozen, frozen_scope, feed, labels=()):
        frozen_values = set(_float_values(frozen))
        names = [name for name in dict.fromkeys(_float_values(simulation))
                 if name in frozen_values]
        self._quantized = _paired(_quantized_activations(Program(simulation)),
                                  _quantized_activations(Program(frozen)))
        self.simulated = self._run(
            without_feeds(simulation), simulation_scope, feed,
            names + [name for quantized, _ in self._quantized
                     for name in (quantized.result, quantized.scale)])
        self.simulated.update(feed)
        # An output without data, such as the batch statistics of a batch norm that is tested.
        names = [name for name in names if self.simulated[name] is not None]
        feed = {name: value for name, value in feed.items() if name not in labels}
        self.frozen = self._run(without_feeds(frozen), frozen_scope, feed,
                                names + [other.result for _, other in self._quantized])
        # The values that layers begin and end with: those of the net itself.
        inner = {name for op in Program(simulation).blocks[0] if is_quantization(op)
                 for _, name in op.writes()}
        self.layers = [name for name in names if name not in inner]
        fed = {name + _SUFFIX: self.simulated[name] for name in self.layers}
        self.by_layer = self._run(_read_simulated(without_feeds(frozen), set(self.layers)),
                                  frozen_scope, {**feed, **fed}, names)

    @staticmethod
    def _run(desc, scope, feed, names):
        program = paddle_run.load(desc.SerializeToString())
        return dict(zip(names, paddle_run.run(program, scope, feed, names)))

    def worst_layer(self):
        """(difference, as a part of the layer's largest value, and the layer) of the worst one."""
        def difference(name):
            simulated = self.simulated[name]
            largest = numpy.abs(simulated).max() or 1.0
            return float(numpy.abs(self.by_layer[name] - simulated).max() / largest)
        return max((difference(name), name) for name in self.layers)

    def flips(self):
        """How many codes of the quantized activations differ, and of how many.

        Up to the first quantizer with a flip all values are equal but for float rounding, so that
        its flips are by one code and at ties. What comes after it reads other values.
        """
        flipped = total = 0
        for quantized, other in self._quantized:
            scale = float(self.simulated[quantized.scale].ravel()[0])
            assert scale > 0, f"{quantized.value} was never seen in training"
            difference = numpy.abs(other.codes(self.frozen, scale)
                                   - quantized.codes(self.simulated, scale))
            if flipped == 0 and difference.any():
                assert difference.max() == 1, f"{quantized.value}: {difference.max()} codes apart"
                at_flips = quantized.distance_to_tie(self.simulated, scale)[difference > 0]
                largest = numpy.abs(self.simulated[quantized.value]).max()
                assert at_flips.max() <= _TIE * largest, f"{quantized.value}: {at_flips.max()}"
            flipped += int(numpy.count_nonzero(difference))
            total += difference.size
        return flipped, total


@functools.lru_cache(maxsize=1)
def _trained_files(environment, make_net, activations, weights):
    """A net, our quantized program of it, and a folder with what PaddlePaddle trained of that."""
    net = make_net()
    main, startup = environment.transpiler.transpile(
        net.main, train.config_of(net, activations, weights), net.startup)
    program = paddle_run.load(main)
    trained = train.Trained(program, paddle_run.start(startup), net)
    folder = environment.transpiler.new_folder()
    paddle_run.save_parameters(program, trained.scope, folder)
    return net, main, folder


def _compare(environment, make_net, activations, weights, form):
    net, main, folder = _trained_files(environment, make_net, activations, weights)
    *feeds, label = net.inputs
    frozen, frozen_path = environment.transpiler.freeze(
        main, folder, feeds, [net.prediction], form, dynamic=activations == "abs_max")
    simulation = environment.transpiler.test_program(main)
    simulation_scope = paddle_run.load_parameters(paddle_run.load(simulation), folder)
    frozen_scope = paddle_run.load_parameters(paddle_run.load(frozen), frozen_path)
    return net, Comparison(simulation, simulation_scope, frozen, frozen_scope, net.feed(100),
                           {label})


def _off(values, expected):
    return float(numpy.abs(values - expected).max())


def _judge(comparison, prediction, form):
    worst, layer = comparison.worst_layer()
    flipped, total = comparison.flips()
    off = _off(comparison.frozen[prediction], comparison.simulated[prediction])
    told = (f"{len(comparison.layers)} layers, worst {worst:.1e}; {flipped} of {total} codes "
            f"flipped; prediction off by {off:.1e}")
    assert comparison.layers and total, told
    assert worst <= _TOLERANCE[form], f"{layer} differs: {told}"
    if form == "portable":
        assert flipped == 0 and off == 0, told
    return told


def computes_the_simulation(environment, make_net, activations, weights, form):
    net, comparison = _compare(environment, make_net, activations, weights, form)
    return _judge(comparison, net.prediction, form)


def other_weights_are_seen(environment):
    """For a frozen program with other parameters, the comparison names the layers that differ."""
    net, main, folder = _trained_files(
        environment, nets.small, "moving_average_abs_max", "abs_max")
    frozen, path = environment.transpiler.freeze(main, folder, ["image"], [net.prediction])
    simulation = environment.transpiler.test_program(main)
    scope = paddle_run.load_parameters(paddle_run.load(frozen), path)
    quantized = next(op for op in Program(frozen).ops() if op.type == "conv2d")
    producer = next(op for op in Program(frozen).ops()
                    if quantized.inputs["Filter"][0] in op.outputs.get("Y", ()))
    scale = producer.inputs["Scale"][0]
    paddle_run.set_value(scope, scale, paddle_run.value(scope, scale) * numpy.float32(1.1))
    comparison = Comparison(
        simulation, paddle_run.load_parameters(paddle_run.load(simulation), folder), frozen, scope,
        net.feed(100), {"label"})
    differing = [name for name in comparison.layers
                 if _off(comparison.by_layer[name], comparison.simulated[name]) > 0]
    assert differing == [quantized.outputs["Output"][0]], differing


def shared_weight_is_right(environment):
    """The reference's freeze puts the codes where the float op reads the weight, too."""
    net, comparison = _compare(
        environment, nets.shared_weight, "moving_average_abs_max", "abs_max", "portable")
    told = _judge(comparison, net.prediction, "portable")

    scope = paddle_run.start(net.startup)
    program = paddle_run.quantize_by_reference(
        net.main, scope, "moving_average_abs_max", "abs_max", (), observe=False)
    train.Trained(program, scope, net)
    feed = net.feed(100)

    def predicted(run):
        return paddle_run.run(run, scope, feed, [net.prediction])[0]
    simulation, freeze = paddle_run.freezing_by_reference(
        net, scope, "moving_average_abs_max", "abs_max")
    simulated = predicted(simulation)
    off = _off(predicted(freeze()), simulated) / numpy.abs(simulated).max()
    assert off > 10, off
    return f"{told}; the reference's own is off by {off:.0f} times the largest value"


def _with_own_weight_scales(data):
    """The program whose weights are quantized with their own ranges.

    The reference's test program reads the ranges of the last training step, from before the last
    update, and clips the weights that grew in it.
    """
    desc = parse(data)
    for op in desc.blocks[0].ops:
        for attribute in op.attrs:
            if op.type == "fake_channel_wise_quantize_abs_max" and attribute.name == "is_test":
                attribute.b = False
    return desc.SerializeToString()


def freezes_what_the_reference_trained(environment, folder, form):
    """Also for programs of 1.8.5; PaddlePaddle 2.6.2 runs both sides."""
    stem, extension = (("inference", ".pdmodel") if "262" in folder.parent.name
                       else ("__model__", ""))
    program = read_bytes(folder / "qat_inference" / (stem + extension))
    parameters = folder / "qat_inference" / (
        "inference.pdiparams" if extension else "__params__")
    frozen, path = environment.transpiler.freeze(
        program, parameters, form=form, dynamic="-abs_max" in folder.name)
    image = next(folder.glob("input_*.npy"))
    feed = {image.stem[len("input_"):]: numpy.load(image)}
    simulation = _with_own_weight_scales(program)
    comparison = Comparison(
        simulation, paddle_run.load_parameters(paddle_run.load(program), parameters),
        frozen, paddle_run.load_parameters(paddle_run.load(frozen), path), feed)
    prediction = Program(frozen).blocks[0][-1].inputs["X"][0]
    told = _judge(comparison, prediction, form)
    off = _off(comparison.frozen[prediction], numpy.load(folder / "qat_test_output.npy"))
    has_own_scales = parse(simulation) == parse(program)
    assert off <= _TOLERANCE_OF_STORED or not has_own_scales, off
    return (f"{told}; off by {off:.1e} from what the training version computed"
            + ("" if has_own_scales else " with the weights' ranges of before the last update"))


def cases(environment):
    for case in (other_weights_are_seen, shared_weight_is_right):
        yield case.__name__.replace("_", " "), functools.partial(case, environment)
    if environment.models is None:
        yield "programs of the reference data", lambda: need_models(environment)
    else:
        for folder in sorted((environment.models / "generated").glob("*_frozen/*")):
            for form in _TOLERANCE:
                yield (f"{folder.parent.name}/{folder.name}, {form}",
                       functools.partial(freezes_what_the_reference_trained, environment, folder,
                                         form))
    for name, make_net in nets.makers(environment.models).items():
        for activations, weights in itertools.product(train.ACTIVATIONS, train.WEIGHTS):
            for form in _TOLERANCE:
                yield (f"{name}: activations {activations}, weights {weights}, {form}",
                       functools.partial(computes_the_simulation, environment, make_net,
                                         activations, weights, form))
