"""Ops of two operands, element by element, with the ways in which one is broadcast."""

import itertools

from op_case import SUMMED, Case, Integers, Values, floats

TOLERANCE = SUMMED

# X, Y and the axis of X at which Y's dimensions stand.
_BROADCASTS = (
    ((2, 3, 4), (2, 3, 4), -1),
    ((2, 3, 4), (4,), -1),
    ((2, 3, 4), (3, 4), 1),
    ((2, 3, 4), (3,), 1),
    ((2, 3, 4, 5), (3, 4), 1),
    ((2, 3, 4), (2, 1), 0),
    ((2, 3, 4), (1,), -1),
    ((2, 1, 4), (2, 3, 1), -1),
    ((3,), (2, 3), -1),
)


def _arithmetic():
    for op in ("add", "sub", "mul", "div", "max", "min", "pow"):
        low = 0.5 if op in ("div", "pow") else -1
        for x, y, axis in _BROADCASTS:
            if op in ("max", "min", "pow") and axis >= 0:
                continue  # 2.6.2 overlooks their axis, and refuses the shapes
            yield Case(f"elementwise_{op}", {"X": floats(*x, low=low), "Y": floats(*y, low=low)},
                       {"axis": axis})
    for op, dtype in itertools.product(("add", "sub", "mul", "max", "min"), ("int32", "int64")):
        yield Case(f"elementwise_{op}",
                   {"X": Integers((2, 3), 9, dtype), "Y": Integers((3,), 9, dtype)},
                   {"axis": -1 if dtype == "int64" else 1}, has_gradient=False)
    for op in ("div", "pow"):
        yield Case(f"elementwise_{op}", {"X": Integers((2, 3), 9), "Y": Values([1, 2, 3], "int64")},
                   has_gradient=False, executor_refuses="input X is i64; want f32")


def _comparisons():
    for op in ("equal", "not_equal", "less_than", "less_equal", "greater_than", "greater_equal"):
        yield Case(op, {"X": Integers((3, 4), 3), "Y": Integers((3, 4), 3)}, has_gradient=False)
        yield Case(op, {"X": Values([0.0, 1, float("nan"), -0.0]), "Y": Values([-0.0, 2, 1, 3])},
                   has_gradient=False)
    for op in ("logical_and", "logical_or", "logical_xor"):
        yield Case(op, {"X": Values([True, True, False, False], "bool"),
                        "Y": Values([True, False, True, False], "bool")}, has_gradient=False)
    yield Case("logical_not", {"X": Values([True, False], "bool")}, has_gradient=False)
    yield Case("where", {"Condition": Values([[True, False], [False, True]], "bool"),
                         "X": floats(2, 2), "Y": floats(2, 2)})


def cases():
    yield from _arithmetic()
    yield from _comparisons()
    for count in (1, 2, 5):
        yield Case("sum", {"X": [floats(3, 4)] * count})
