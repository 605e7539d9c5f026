"""Ops that move elements, each to one place: views, permutations, joins, slices and casts."""

from op_case import EXACT, Case, Values, floats

TOLERANCE = EXACT

_FP32, _FP64, _INT32, _INT64, _BOOL = 5, 6, 2, 3, 0


def _views():
    for op in ("reshape", "reshape2"):
        for shape in ([6, 4], [2, -1], [0, 12], [0, 0, -1], [-1]):
            yield Case(op, {"X": floats(2, 3, 4)}, {"shape": shape})
    yield Case("reshape2", {"X": floats(2, 3, 4), "Shape": Values([4, 6], "int32")},
               {"shape": [24]}, has_gradient=False,
               executor_refuses="the shape of output Out depends on values")
    for axes in ([0], [0, 2], [-2], []):
        yield Case("squeeze2", {"X": floats(1, 3, 1, 4)}, {"axes": axes})
    for axes in ([0], [1, 3], [-1]):
        yield Case("unsqueeze2", {"X": floats(3, 4)}, {"axes": axes})
    for axis in (0, 1, 2):
        yield Case("flatten2", {"X": floats(2, 3, 4)}, {"axis": axis})
    for start, stop in ((1, -1), (0, 1), (0, 2)):
        yield Case("flatten_contiguous_range", {"X": floats(2, 3, 4)},
                   {"start_axis": start, "stop_axis": stop})
    yield Case("assign", {"X": floats(2, 3)})
    yield Case("shape", {"Input": floats(2, 3, 4)}, has_gradient=False)
    yield Case("is_empty", {"X": floats(2, 3)}, has_gradient=False)


def _permutations():
    for op in ("transpose", "transpose2"):
        yield Case(op, {"X": floats(3, 4)}, {"axis": [1, 0]})
        yield Case(op, {"X": floats(2, 3, 4, 5)}, {"axis": [0, 2, 1, 3]})
        yield Case(op, {"X": floats(2, 3, 4, 5)}, {"axis": [0, 2, 3, 1]})
    yield Case("transpose2", {"X": floats(2, 3, 4, 5)}, {"axis": [3, 1, 0, 2]})
    yield Case("pixel_shuffle", {"X": floats(2, 8, 3, 3)}, {"upscale_factor": 2})
    yield Case("pixel_shuffle", {"X": floats(2, 3, 4, 8)},
               {"upscale_factor": 2, "data_format": "NHWC"})
    yield Case("shuffle_channel", {"X": floats(2, 6, 3, 3)}, {"group": 2})


def _joins():
    for axis in (0, 1, -1):
        parts = {0: ((2, 3, 4), (1, 3, 4)), 1: ((2, 3, 4), (2, 5, 4)),
                 -1: ((2, 3, 1), (2, 3, 4))}[axis]
        yield Case("concat", {"X": [floats(*part) for part in parts]}, {"axis": axis})
    yield Case("concat", {"X": [floats(2, 8, 3, 3), floats(2, 4, 3, 3), floats(2, 1, 3, 3)]},
               {"axis": 1})
    # 2.6.2 splits along no negative axis.
    yield Case("split", {"X": floats(4, 6)}, {"num": 3, "axis": 1}, {"Out": 3})
    yield Case("split", {"X": floats(4, 6)}, {"sections": [1, 3], "axis": 0}, {"Out": 2})
    yield Case("split", {"X": floats(4, 6)}, {"sections": [2, -1, 1], "axis": 1}, {"Out": 3})
    for axis in (0, 1, -1):
        yield Case("stack", {"X": [floats(3, 4), floats(3, 4), floats(3, 4)]}, {"axis": axis})
    for mask in (0, 1):
        yield Case("select_input", {"X": [floats(3, 4), floats(3, 4)],
                                    "Mask": Values([mask], "int32")}, has_gradient=False)
    yield Case("unstack", {"X": floats(3, 4)}, {"axis": 0, "num": 3}, {"Y": 3})
    yield Case("unbind", {"X": floats(3, 4)}, {"axis": 1}, {"Out": 4})


def _slices():
    yield Case("slice", {"Input": floats(4, 5, 6)}, {"axes": [0], "starts": [1], "ends": [3]})
    yield Case("slice", {"Input": floats(4, 5, 6)},
               {"axes": [0, 2], "starts": [-3, 1], "ends": [-1, 100]})
    yield Case("slice", {"Input": floats(4, 5, 6)},
               {"axes": [1], "starts": [2], "ends": [3], "decrease_axis": [1]})
    yield Case("gather", {"X": floats(5, 3), "Index": Values([4, 0, 0], "int64")})
    yield Case("gather", {"X": floats(5, 3, 2), "Index": Values([1, 3], "int32")})


def _casts():
    yield Case("cast", {"X": floats(2, 3)}, {"in_dtype": _FP32, "out_dtype": _FP32})
    yield Case("cast", {"X": Values([2.7, -2.7, 0, 1e6])}, {"in_dtype": _FP32, "out_dtype": _INT32},
               has_gradient=False)
    yield Case("cast", {"X": Values([2.7, -2.7, 0])}, {"in_dtype": _FP32, "out_dtype": _BOOL},
               has_gradient=False)
    yield Case("cast", {"X": Values([16777217, -3], "int64")},
               {"in_dtype": _INT64, "out_dtype": _FP32}, has_gradient=False)
    yield Case("cast", {"X": Values([0.1, 1e-40])}, {"in_dtype": _FP32, "out_dtype": _FP64},
               has_gradient=False)
    yield Case("cast", {"X": Values([True, False], "bool")},
               {"in_dtype": _BOOL, "out_dtype": _FP32}, has_gradient=False)


def cases():
    for family in (_views, _permutations, _joins, _slices, _casts):
        yield from family()
