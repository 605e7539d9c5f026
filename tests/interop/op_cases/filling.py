"""Ops that make values of their attributes."""

from op_case import EXACT, Case, Values, floats

TOLERANCE = EXACT

_FP32, _INT64 = 5, 3


_PLANNED_AHEAD = "is not known before the run; want what shapes and constants decide"


def _case(op, inputs, attributes=None):
    return Case(op, inputs, attributes or {}, has_gradient=False,
                executor_refuses=_PLANNED_AHEAD if op == "range" else "")


def cases():
    yield _case("fill_constant", {}, {"shape": [2, 3], "dtype": _FP32, "value": 0.1})
    yield _case("fill_constant", {}, {"shape": [1], "dtype": _INT64, "value": 7.0})
    yield _case("fill_constant", {}, {"shape": [2], "dtype": _FP32, "value": 1.0,
                                      "str_value": "2.5"})
    yield _case("fill_constant", {}, {"shape": [2], "dtype": _INT64, "str_value": "16777217"})
    yield _case("fill_constant_batch_size_like", {"Input": floats(4, 3)},
                {"shape": [-1, 5], "dtype": _FP32, "value": 1.5})
    yield _case("fill_constant_batch_size_like", {"Input": floats(4, 3)},
                {"shape": [2, 1], "dtype": _INT64, "value": 3.0, "input_dim_idx": 1,
                 "output_dim_idx": 1})
    yield _case("fill_zeros_like", {"X": floats(2, 3)})
    yield _case("fill_any_like", {"X": floats(2, 3)}, {"value": 2.5})
    yield _case("fill_any_like", {"X": floats(2, 3)}, {"value": 3.0, "dtype": _INT64})
    yield _case("assign_value", {}, {"shape": [2, 2], "dtype": _FP32,
                                     "fp32_values": [0.1, 0.2, 0.3, 0.4]})
    yield _case("assign_value", {}, {"shape": [2], "dtype": _INT64, "int64_values": [5, -6]})
    yield _case("range", {"Start": Values([0.0]), "End": Values([2.0]), "Step": Values([0.5])})
    yield _case("range", {"Start": Values([7], "int64"), "End": Values([1], "int64"),
                          "Step": Values([-2], "int64")})
    yield _case("increment", {"X": Values([4.0])}, {"step": 1.5})
    yield _case("increment", {"X": Values([4], "int64")}, {"step": 1.0})
