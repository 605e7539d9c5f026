"""(h) A float network as PaddlePaddle exports it becomes int8 in one command, `tools/quantize`.

PaddlePaddle runs the portable result. Each of its ops is given what our executor computed, and has
to find the same codes: the two add floats in another order, so that only a value at a rounding tie
may get another one.
"""

import contextlib
import functools
import pathlib
import subprocess
import tempfile

import frozen
import nets
import numpy
import paddle
import paddle_run
from paddle_program import Program, parse, read_bytes, without_feeds

_SAMPLES = 64
# Of the largest value: how near to a tie float rounding can flip a code.
_TIE = 1e-5


@contextlib.contextmanager
def _eager():
    paddle.disable_static()
    try:
        yield
    finally:
        paddle.enable_static()


def _lenet_of_jit_save(prefix):
    """Biases are reshaped parameters, and the outputs scaled by 1."""
    with _eager(), paddle.utils.unique_name.guard():
        paddle.seed(0)
        net = paddle.vision.models.LeNet()
        net.eval()
        paddle.jit.save(net, str(prefix), input_spec=[
            paddle.static.InputSpec([None, 1, 28, 28], "float32", name="image")])
    return "image", (1, 28, 28)


def _net_of_save_inference_model(make_net, prefix):
    net = make_net()
    program = paddle_run.load(net.main)
    scope = paddle_run.start(net.startup)
    block = program.global_block()
    image = next(iter(net.inputs))
    with paddle.static.scope_guard(scope):
        paddle.static.save_inference_model(
            str(prefix), [block.var(image)], [block.var(net.prediction)],
            paddle.static.Executor(paddle.CPUPlace()), program=program)
    return image, net.feed(0)[image].shape[1:]


def _quantize(environment, prefix, image, samples, folder):
    numpy.savez(folder / "samples.npz", **{image: samples})
    done = subprocess.run(
        [environment.quantize, f"{prefix}.pdmodel", f"--params={prefix}.pdiparams",
         f"--data=npz:{folder / 'samples.npz'}", f"--output={folder / 'int8'}"],
        capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr.strip()
    return done.stdout


def _parameters(program, scope):
    return {name: paddle_run.value(scope, name)
            for name, variable in Program(program).variables.items()
            if variable.persistable and name not in ("feed", "fetch")}


def gives_the_same_codes(environment, export):
    with tempfile.TemporaryDirectory(prefix="fixpoint-interop-") as made:
        folder = pathlib.Path(made)
        image, shape = export(folder / "net")
        samples = numpy.random.default_rng(0).standard_normal((_SAMPLES, *shape)).astype("float32")
        told = _quantize(environment, folder / "net", image, samples, folder)
        portable = read_bytes(folder / "int8" / "portable.pdmodel")
        scope = paddle_run.load_parameters(
            paddle_run.load(portable), folder / "int8" / "portable.pdiparams")
    activations = frozen._quantized_activations(Program(portable))
    assert activations, told
    names = list(dict.fromkeys(
        [name for name in frozen._float_values(portable)]
        + [quantized.result for quantized in activations]))
    ours = environment.runner.run("onednn", without_feeds(portable).SerializeToString(),
                                  _parameters(portable, scope), [{image: samples}], names)[0][0]
    ours[image] = samples
    given = {name for name in frozen._float_values(portable) if name in ours}
    fed = {name + frozen._SUFFIX: ours[name] for name in given}
    program = paddle_run.load(
        frozen._read_simulated(without_feeds(portable), given).SerializeToString())
    theirs = dict(zip(names, paddle_run.run(program, scope, {image: samples, **fed}, names)))

    flipped = total = 0
    for quantized in activations:
        scale = float(paddle_run.value(scope, quantized.scale).ravel()[0])
        difference = numpy.abs(theirs[quantized.result] - ours[quantized.result])
        flipped += int(numpy.count_nonzero(difference))
        total += difference.size
        if not difference.any():
            continue
        assert difference.max() == 1, f"{quantized.value}: {difference.max()} codes apart"
        at_flips = quantized.distance_to_tie(ours, scale)[difference > 0]
        largest = numpy.abs(ours[quantized.value]).max()
        assert at_flips.max() <= _TIE * largest, f"{quantized.value}: {at_flips.max()}"
    integers = next(line for line in told.splitlines() if line.startswith("computed on integers"))
    return f"{integers}; {flipped} of {total} codes at a tie differ"


def cases(environment):
    yield "LeNet of paddle.jit.save", functools.partial(
        gives_the_same_codes, environment, _lenet_of_jit_save)
    for make_net in (nets.small, nets.depthwise_separable, nets.transposed_convolution):
        yield f"{make_net.__name__} net of save_inference_model", functools.partial(
            gives_the_same_codes, environment,
            functools.partial(_net_of_save_inference_model, make_net))
