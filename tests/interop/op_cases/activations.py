"""Ops of one operand, element by element."""

from op_case import ROUNDED, Case, Values, floats

TOLERANCE = ROUNDED

_INFINITY = float("inf")
# Where formulas are near their ends.
_EXTREMES = [0.0, -0.0, 1e-30, -1e-30, 20, -20, 90, -90, 1e30, -1e30, _INFINITY, -_INFINITY,
             float("nan")]


def _unary(op, low=-4, high=4, has_gradient=True, **attributes):
    return Case(op, {"X": floats(3, 37, low=low, high=high)}, attributes,
                has_gradient=has_gradient)


def cases():
    for op in ("relu", "relu6", "sigmoid", "tanh", "abs", "erf", "exp", "square", "logsigmoid",
               "softsign", "sin", "cos", "silu"):
        yield _unary(op)
    for op in ("log", "sqrt", "rsqrt", "reciprocal"):
        yield _unary(op, low=0.1)
    for op in ("floor", "ceil", "round", "sign"):
        yield _unary(op)
    yield _unary("relu6", threshold=3.0)
    yield _unary("leaky_relu")
    yield _unary("leaky_relu", alpha=0.2)
    yield _unary("hard_sigmoid")
    yield _unary("hard_sigmoid", slope=0.1666667, offset=0.4)
    yield _unary("hard_swish")
    yield _unary("hard_swish", threshold=4.0, scale=4.0, offset=2.0)
    yield _unary("swish")
    yield _unary("swish", beta=1.5)
    yield _unary("gelu")
    yield _unary("gelu", approximate=True)
    yield _unary("elu")
    yield _unary("elu", alpha=0.5)
    yield _unary("selu")
    yield _unary("mish")
    yield _unary("softplus")
    yield _unary("softplus", beta=2.0, threshold=3.0)
    yield _unary("soft_relu")
    yield _unary("soft_relu", threshold=2.0)
    yield _unary("brelu", t_min=-1.0, t_max=2.0)
    yield _unary("thresholded_relu", threshold=0.5)
    for factor in (2.0, 0.5, -1.0):
        yield _unary("pow", low=0.1, factor=factor)
    for mode, shape in (("all", (1,)), ("channel", (1, 3, 1, 1)), ("element", (1, 3, 4, 5))):
        yield Case("prelu", {"X": floats(2, 3, 4, 5), "Alpha": floats(*shape)}, {"mode": mode})
    yield Case("scale", {"X": floats(3, 4)}, {"scale": 2.5, "bias": 0.5})
    yield Case("scale", {"X": floats(3, 4)}, {"scale": 2.5, "bias": 0.5, "bias_after_scale": False})
    yield Case("clip", {"X": floats(3, 37)}, {"min": -0.5, "max": 0.25})
    yield Case("clip_by_norm", {"X": floats(3, 4)}, {"max_norm": 0.5}, has_gradient=False)
    yield Case("clip_by_norm", {"X": floats(3, 4)}, {"max_norm": 50.0}, has_gradient=False)
    for op in ("relu", "relu6", "leaky_relu", "sigmoid", "tanh", "exp", "abs", "square", "softplus",
               "hard_sigmoid", "hard_swish", "swish", "silu", "gelu", "elu", "softsign",
               "logsigmoid", "floor", "ceil", "sign"):
        yield Case(op, {"X": Values(_EXTREMES)}, has_gradient=False)
    yield Case("round", {"X": Values([0.5, 1.5, 2.5, -0.5, -1.5, 0.49999997, 8388609.0])},
               has_gradient=False)
    for op in ("relu", "relu6", "leaky_relu", "abs", "hard_sigmoid", "hard_swish"):
        yield Case(op, {"X": Values([0.0, -0.0, 6.0, 3.0, -3.0, -2.5, 2.5])})
