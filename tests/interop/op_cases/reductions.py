"""Reductions along some axes, or all."""

from op_case import SUMMED, Case, Integers, floats

TOLERANCE = SUMMED

_AXES = ({"dim": [0]}, {"dim": [-1]}, {"dim": [1], "keep_dim": True}, {"dim": [0, 2]},
         {"dim": [0, 1, 2]}, {"reduce_all": True}, {"reduce_all": True, "keep_dim": True})


def cases():
    for op in ("reduce_sum", "reduce_mean", "reduce_max", "reduce_min"):
        for attributes in _AXES:
            yield Case(op, {"X": floats(3, 4, 5)}, attributes)
    for attributes in _AXES:
        yield Case("reduce_prod", {"X": floats(3, 4, 5)}, attributes)
    for op in ("reduce_all", "reduce_any"):
        yield Case(op, {"X": Integers((3, 4), 2, "bool")}, {"dim": [1]}, has_gradient=False)
        yield Case(op, {"X": Integers((3, 4), 2, "bool")}, {"reduce_all": True},
                   has_gradient=False)
    yield Case("reduce_sum", {"X": Integers((3, 4), 9)}, {"dim": [1]}, has_gradient=False,
               executor_refuses="want f32")
    yield Case("mean", {"X": floats(3, 4, 5)})
    yield Case("mean", {"X": floats(64, 1)})
    yield Case("squared_l2_norm", {"X": floats(3, 4, 5)})
    for attributes in ({"axis": 1}, {"axis": 1, "reverse": True}, {"axis": 0, "exclusive": True},
                       {"flatten": True}):
        yield Case("cumsum", {"X": floats(3, 4)}, attributes)
