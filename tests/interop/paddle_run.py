"""Programs that PaddlePaddle runs, and PaddlePaddle's own quantization passes.

Everything is on the CPU and repeatable: parameters come from a seeded generator, not from the
startup program's.
"""

import contextlib
import io

import numpy
import paddle
from paddle.base import core
from paddle.base.framework import IrGraph
from paddle.static import io as static_io
from paddle.static import quantization

_PLACE = paddle.CPUPlace()
_PRODUCTS = ["conv2d", "depthwise_conv2d", "conv2d_transpose", "mul", "matmul", "matmul_v2"]
_RANDOM_OPS = ("gaussian_random", "uniform_random", "truncated_gaussian_random")


def load(data):
    return paddle.static.Program.parse_from_string(data)


def value(scope, name):
    return numpy.array(scope.find_var(name).get_tensor())


def set_value(scope, name, array):
    scope.var(name).get_tensor().set(array, _PLACE)


def start(startup, seed=0):
    """A scope in which the startup program ran; random parameters are drawn in order of name."""
    scope = paddle.static.Scope()
    program = load(startup)
    with paddle.static.scope_guard(scope):
        paddle.static.Executor(_PLACE).run(program)
    generator = numpy.random.default_rng(seed)
    random = {op.output("Out")[0] for op in program.global_block().ops if op.type in _RANDOM_OPS}
    for name in sorted(random):
        shape = value(scope, name).shape
        fan_in = numpy.prod(shape[1:]) if len(shape) > 2 else shape[0]
        drawn = generator.standard_normal(shape) / numpy.sqrt(fan_in)
        set_value(scope, name, drawn.astype("float32"))
    return scope


def start_as_paddle_does(startup, seed):
    """A scope in which the startup program ran, with the numbers that it draws."""
    scope = paddle.static.Scope()
    paddle.seed(seed)
    with paddle.static.scope_guard(scope):
        paddle.static.Executor(_PLACE).run(load(startup))
    return scope


def run(program, scope, feed, fetch):
    with paddle.static.scope_guard(scope):
        return paddle.static.Executor(_PLACE).run(program, feed=feed, fetch_list=fetch)


def cut(array, lod):
    """A tensor whose rows are cut into sequences."""
    tensor = core.LoDTensor()
    tensor.set(array, _PLACE)
    tensor.set_lod(lod)
    return tensor


def run_with_lods(program, scope, feed, fetch):
    """What is fetched, and the offsets that it has."""
    with paddle.static.scope_guard(scope):
        tensors = paddle.static.Executor(_PLACE).run(program, feed=feed, fetch_list=fetch,
                                                     return_numpy=False)
    return [numpy.array(tensor) for tensor in tensors], [tensor.lod() for tensor in tensors]


def train(program, scope, net, steps):
    """The loss of each step."""
    executor = paddle.static.Executor(_PLACE)
    with paddle.static.scope_guard(scope):
        return [
            float(numpy.ravel(
                executor.run(program, feed=net.feed(step), fetch_list=[net.loss])[0])[0])
            for step in range(steps)]


def quantize_by_reference(data, scope, activations, weights, also_quantize, observe):
    """The program after the reference's own passes, which initialise their state in the scope."""
    program = load(data)
    graph = IrGraph(core.Graph(program.desc), for_test=False)
    # The passes draw progress bars.
    with paddle.utils.unique_name.guard(), contextlib.redirect_stderr(io.StringIO()):
        quantization.QuantizationTransformPass(
            scope=scope, place=_PLACE, activation_quantize_type=activations,
            weight_quantize_type=weights,
            quantizable_op_type=_PRODUCTS).apply(graph)
        quantization.AddQuantDequantPass(
            scope=scope, place=_PLACE, quantizable_op_type=list(also_quantize)).apply(graph)
        if observe:
            quantization.OutScaleForTrainingPass(scope=scope, place=_PLACE).apply(graph)
    return graph.to_program()


def _is_parameter(variable):
    return variable.persistable and variable.name not in ("feed", "fetch")


def save_parameters(program, scope, folder, file=None):
    """Writes every persistable variable of a program, to a file each or all to one."""
    with paddle.static.scope_guard(scope):
        static_io.save_vars(paddle.static.Executor(_PLACE), str(folder), main_program=program,
                            predicate=_is_parameter, filename=file)


def load_parameters(program, path):
    """A scope with the program's persistable variables, of a folder or a combined file."""
    scope = paddle.static.Scope()
    folder, file = (path, None) if path.is_dir() else (path.parent, path.name)
    with paddle.static.scope_guard(scope):
        static_io.load_vars(paddle.static.Executor(_PLACE), str(folder), main_program=program,
                            predicate=_is_parameter, filename=file)
    return scope


def freezing_by_reference(net, scope, activations, weights):
    """The reference's own test program, and a function that freezes it.

    The scope is one in which `quantize_by_reference` made its state and training ran. Freezing
    changes the parameters in it.
    """
    graph = IrGraph(core.Graph(load(net.main).clone(for_test=True).desc), for_test=True)
    with paddle.utils.unique_name.guard(), contextlib.redirect_stderr(io.StringIO()):
        quantization.QuantizationTransformPass(
            scope=scope, place=_PLACE, activation_quantize_type=activations,
            weight_quantize_type=weights, quantizable_op_type=_PRODUCTS).apply(graph)

    def freeze():
        with contextlib.redirect_stderr(io.StringIO()):
            quantization.QuantizationFreezePass(
                scope=scope, place=_PLACE, weight_quantize_type=weights,
                quantizable_op_type=_PRODUCTS).apply(graph)
        return graph.to_program()
    return graph.clone().to_program(), freeze
