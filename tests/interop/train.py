"""(b) PaddlePaddle trains what we quantized, and what it quantized itself.

From the same parameters, on the same data, for five steps. Where both have the same quantizers,
every kernel gets the same numbers, so the losses, the parameters and the quantizers' state must be
the same to the bit: the tolerance is 0.
"""

import functools
import itertools

import nets
import numpy
import paddle_run
from cases import need_models
from paddle_program import Program, quantizers, state_variables

_STEPS = 5
ACTIVATIONS = ("abs_max", "range_abs_max", "moving_average_abs_max")
WEIGHTS = ("abs_max", "channel_wise_abs_max")


class Trained:
    """A program after its steps: the losses, and the scope with what was learned."""

    def __init__(self, program, scope, net, steps=_STEPS):
        self.program = Program(program.desc.serialize_to_string())
        self.scope = scope
        self.losses = paddle_run.train(program, scope, net, steps)

    def value(self, name):
        return paddle_run.value(self.scope, name)


def config_of(net, activations, weights):
    return "\n".join(
        ['target: "paddle_2_6"', f'activations {{ quantizer: "{activations}" }}',
         f'weights {{ quantizer: "{weights}" }}', "observe_outputs: true"]
        + [f'also_quantize: "{op}"' for op in net.also_quantize])


def train_ours(environment, net, activations, weights, steps=_STEPS):
    main, startup = environment.transpiler.transpile(
        net.main, config_of(net, activations, weights), net.startup)
    return Trained(paddle_run.load(main), paddle_run.start(startup), net, steps)


def train_theirs(net, activations, weights, steps=_STEPS):
    scope = paddle_run.start(net.startup)
    program = paddle_run.quantize_by_reference(
        net.main, scope, activations, weights, net.also_quantize, observe=True)
    return Trained(program, scope, net, steps)


@functools.lru_cache(maxsize=None)
def train_float(make_net):
    net = make_net()
    return Trained(paddle_run.load(net.main), paddle_run.start(net.startup), net)


def _table(**losses):
    return "".join(f"\n    {who:<10}" + " ".join(f"{loss:.7f}" for loss in of)
                   for who, of in losses.items())


def _unequal(ours, theirs, float_program):
    """The parameters and states of quantizers that are not the same to the bit."""
    pairs = [(name, name, name) for name, variable in float_program.variables.items()
             if variable.persistable and name not in ("feed", "fetch")]
    their_states = state_variables(theirs.program)
    pairs += [(key, name, their_states[key])
              for key, name in state_variables(ours.program).items() if key in their_states]
    assert len(pairs) > len(float_program.variables) // 10
    return [what for what, our_name, their_name in pairs
            if not numpy.array_equal(ours.value(our_name), theirs.value(their_name))]


def trains_the_same(environment, make_net, activations, weights):
    net = make_net()
    ours = train_ours(environment, net, activations, weights)
    theirs = train_theirs(net, activations, weights)
    of_float = train_float(make_net)
    told = _table(ours=ours.losses, theirs=theirs.losses, float=of_float.losses)
    assert quantizers(ours.program).keys() == quantizers(theirs.program).keys()
    assert ours.losses == theirs.losses, f"the losses differ{told}"
    assert ours.losses != of_float.losses, f"nothing was quantized{told}"
    unequal = _unequal(ours, theirs, of_float.program)
    assert not unequal, f"after {_STEPS} steps these differ: {unequal}{told}"
    return told


def transposed_weight_is_quantized_along_its_features(environment):
    """matmul with transpose_Y: the reference takes axis 1, the inputs, for the channels.

    An integer product can not be rescaled by scales along the axis that it sums over.
    """
    net = nets.transposed_product()
    ours = train_ours(environment, net, "abs_max", "channel_wise_abs_max")
    theirs = train_theirs(net, "abs_max", "channel_wise_abs_max")

    def scale_shape(trained):
        found = [name for key, name in state_variables(trained.program).items()
                 if key.startswith("OutScale of fake_channel_wise")]
        assert len(found) == 1, found
        return trained.value(found[0]).shape
    assert scale_shape(ours) == (6,), scale_shape(ours)
    assert scale_shape(theirs) == (12,), scale_shape(theirs)
    assert ours.losses != theirs.losses
    return _table(ours=ours.losses, theirs=theirs.losses,
                  float=train_float(nets.transposed_product).losses)


def value_written_in_place_gets_its_own_quantizer(environment):
    """The reference keeps quantizers by name: its second product reads x from before the write."""
    net = nets.written_in_place()
    ours = train_ours(environment, net, "abs_max", "abs_max", steps=1).losses
    theirs = train_theirs(net, "abs_max", "abs_max", steps=1).losses
    exact = Trained(paddle_run.load(net.main), paddle_run.start(net.startup), net, 1).losses
    # A rounding changes a value by 1/254 of its range at most, the stale value by a factor of 10.
    assert abs(ours[0] - exact[0]) < 0.02 * exact[0], (ours, exact)
    assert abs(theirs[0] - exact[0]) > 0.5 * exact[0], (theirs, exact)
    return _table(ours=ours, theirs=theirs, float=exact)


def undo_gives_the_original_bytes(environment, make_net):
    net = make_net()
    quantized, _ = environment.transpiler.transpile(
        net.main, config_of(net, "moving_average_abs_max", "abs_max"), net.startup)
    assert quantized != net.main
    assert environment.transpiler.undo(quantized) == net.main, "the bytes differ"


def cases(environment):
    if environment.models is None:
        yield "nets of the reference data", lambda: need_models(environment)
    makers = nets.makers(environment.models)
    for name, make_net in makers.items():
        yield (f"{name}: undo gives the original bytes",
               functools.partial(undo_gives_the_original_bytes, environment, make_net))
        for activations, weights in itertools.product(ACTIVATIONS, WEIGHTS):
            yield (f"{name}: activations {activations}, weights {weights}",
                   functools.partial(trains_the_same, environment, make_net, activations, weights))
    yield ("transposed_product: activations abs_max, weights abs_max",
           functools.partial(trains_the_same, environment, nets.transposed_product, "abs_max",
                             "abs_max"))
    for case in (transposed_weight_is_quantized_along_its_features,
                 value_written_in_place_gets_its_own_quantizer):
        yield case.__name__.replace("_", " "), functools.partial(case, environment)
