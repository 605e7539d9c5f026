"""(f) Our executor trains what PaddlePaddle trains, from the reference's own initial parameters.

The same program, float and quantized by us in each way, the same feeds, five steps: losses and all
that persists, which is parameters, the state of optimizers and that of quantizers, are compared.

How near they have to be cannot be said beforehand: sums in another order are other floats, a float
that is near a tie rounds to another code, and from there on it is another training. So each case
measures that first: our executor trains again, _RUNS times, from parameters with noise of the size
of such errors, and what that moves, times _FACTOR, is the tolerance. Where codes are rounded, the
noise grows until it is seen to flip one, in the losses and in what is learned: a flip in the last
step moves the loss alone. A flip moves a training as much, whatever caused it. That the tolerance
refuses something is shown in each case, by a training with another learning rate.
"""

import dataclasses
import functools
import itertools

import nets
import numpy
import paddle_run
import structured_nets
import train
from cases import need_models
from op_case import SUMMED
from paddle_program import Program

_STEPS = 5
_SEED = 3
_RUNS = 8
# Relative; 8 units of the last place of a float: results of one op were up to 20 apart (`ops`).
_LEAST_NOISE = 2.0 ** -20
_LARGEST_NOISE = 2.0 ** -14
# With three seeds no distance was more than twice what the noise moves.
_FACTOR = 8
_WRONG_RATE = 3.0


@dataclasses.dataclass
class Trained:
    losses: numpy.ndarray
    variables: dict  # that persist, after the last step


@dataclasses.dataclass(frozen=True)
class Distances:
    """How far the losses of two trainings differ, and their variables relative to how far they moved."""
    loss: float
    variables: dict

    def usual(self):
        """What three quarters of the variables are within."""
        return numpy.quantile(list(self.variables.values()), 0.75)

    def times_tolerance(self, tolerance):
        """The largest distance as a multiple of its tolerance, and whose it is."""
        return max([(self.loss / tolerance.loss, "loss")]
                   + [(distance / tolerance.variables[name], name)
                      for name, distance in self.variables.items()])


class Training:
    """A program that both sides train from the same values."""

    def __init__(self, environment, net, config, rate):
        main, startup = net.main, net.startup
        if config is not None:
            main, startup = environment.transpiler.transpile(main, config, startup)
        self._runner, self._net, self._data = environment.runner, net, main
        self._rounds_codes = config is not None
        self._program = Program(main)
        # In the memory of these lie the weights of rnn, for the reference alone.
        self._buffers = {name for op in Program(startup).ops()
                         for name in op.outputs.get("FusedOutput", ())}
        self.rate = next(op.inputs["LearningRate"][0] for op in self._program.ops()
                         if "LearningRate" in op.inputs)
        self._scope = paddle_run.start_as_paddle_does(startup, _SEED)
        paddle_run.set_value(self._scope, self.rate,
                             paddle_run.value(self._scope, self.rate) * numpy.float32(rate))
        self.initial = self._variables()
        self.theirs = self._train_theirs()

    def _variables(self):
        return {name: paddle_run.value(self._scope, name)
                for name, variable in self._program.variables.items()
                if variable.persistable and name not in {"feed", "fetch", *self._buffers}}

    def _train_theirs(self):
        losses = paddle_run.train(paddle_run.load(self._data), self._scope, self._net, _STEPS)
        return Trained(numpy.array(losses), self._variables())

    def train(self, initial):
        """Our training from these values."""
        feeds = [self._net.feed(step) for step in range(_STEPS)]
        fetched, _, left = self._runner.run("onednn", self._data, initial, feeds, [self._net.loss])
        losses = [float(numpy.ravel(values[self._net.loss])[0]) for values in fetched]
        return Trained(numpy.array(losses), left)

    def _unit(self, name):
        """How far the reference's training moved a variable; its size, where it did not."""
        final = self.theirs.variables[name].astype("float64")
        return (numpy.linalg.norm(final - self.initial[name]) or numpy.linalg.norm(final) or 1.0)

    def distances(self, a, b):
        return Distances(
            numpy.abs(a.losses - b.losses).max(),
            {name: numpy.linalg.norm(a.variables[name].astype("float64") - b.variables[name])
             / self._unit(name) for name in self.initial})

    def _with_noise(self, noise, seed):
        generator = numpy.random.default_rng(seed)
        return {name: (value * (1 + generator.uniform(-noise, noise, value.shape)))
                .astype(value.dtype) if value.dtype == "float32" else value
                for name, value in self.initial.items()}

    def _moved_by(self, noise, ours):
        """The largest distances that noise makes."""
        moved = [self.distances(ours, self.train(self._with_noise(noise, seed)))
                 for seed in range(_RUNS)]
        return Distances(max(distances.loss for distances in moved),
                         {name: max(distances.variables[name] for distances in moved)
                          for name in self.initial})

    def tolerance(self, ours):
        """The noise, and what it moves, times _FACTOR.

        A variable that noise happens not to move may be as far off as three quarters of all
        variables are. Nothing has to be nearer than one op's results are.
        """
        noise = _LEAST_NOISE
        least_loss = SUMMED * numpy.abs(self.theirs.losses).max()
        moved = self._moved_by(noise, ours)
        while (self._rounds_codes and noise < _LARGEST_NOISE
               and (moved.loss <= least_loss or moved.usual() <= SUMMED)):
            noise *= 4
            moved = self._moved_by(noise, ours)
        return noise, Distances(max(_FACTOR * moved.loss, least_loss),
                                {name: max(_FACTOR * max(distance, moved.usual()), SUMMED)
                                 for name, distance in moved.variables.items()})


def trains_as_paddle(environment, net, config, rate):
    training = Training(environment, net, config, rate)
    ours = training.train(training.initial)
    noise, tolerance = training.tolerance(ours)
    distances = training.distances(ours, training.theirs)
    times, name = distances.times_tolerance(tolerance)
    told = (f"\n    losses     ours {_told(ours.losses)}\n             theirs "
            f"{_told(training.theirs.losses)}\n    apart      losses {distances.loss:.1e}, "
            f"variables {_quantiles(distances)} of what they moved"
            f"\n    tolerance  losses {tolerance.loss:.1e}, variables {_quantiles(tolerance)}: "
            f"{_FACTOR} times what noise of {noise:.0e} moves"
            f"\n    used       {times:.2f} of it, by {name}")
    assert times <= 1, told

    wrong = dict(training.initial)
    wrong[training.rate] = wrong[training.rate] * numpy.float32(_WRONG_RATE)
    times, _ = training.distances(training.train(wrong), training.theirs).times_tolerance(tolerance)
    assert times > 1, f"{_WRONG_RATE} times the learning rate is not seen, {times:.2f}{told}"
    return f"{told}; {times:.1f} of it with {_WRONG_RATE} times the learning rate"


def _told(losses):
    return " ".join(f"{loss:.7f}" for loss in losses)


def _quantiles(distances):
    middle, largest = numpy.quantile(list(distances.variables.values()), (0.5, 1))
    return f"{middle:.1e} (median) to {largest:.1e}"


def _makers(models):
    """Functions that make nets, by name, and what of its learning rate each is trained with."""
    made = [nets.mlp, nets.depthwise_separable, nets.encoder, nets.decoder, nets.attention,
            nets.branches, nets.deepfm, nets.deepfm_lazy, structured_nets.tagger,
            structured_nets.detector]
    found = {make.__name__: (make, 1.0) for make in made}
    if models is not None:
        makers = nets.makers(models)
        found["lenet-adam"] = (makers["lenet-adam"], 1.0)
        # With 4 images, at the network's own rate, noise is a third of the movement of most
        # variables, even without quantizers.
        name = "resnet20_cifar-momentum_l2"
        found[name] = (makers[name], 0.01)
    return found


def cases(environment):
    if environment.models is None:
        yield "nets of the reference data", lambda: need_models(environment)
    for name, (make, rate) in _makers(environment.models).items():
        net = make()
        yield f"{name}: float", functools.partial(trains_as_paddle, environment, net, None, rate)
        for activations, weights in itertools.product(train.ACTIVATIONS, train.WEIGHTS):
            yield (f"{name}: activations {activations}, weights {weights}",
                   functools.partial(trains_as_paddle, environment, net,
                                     train.config_of(net, activations, weights), rate))
