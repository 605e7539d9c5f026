"""Ops that make grids, take triangles, divide integers, pick elements and norm vectors."""

from op_case import ROUNDED, Case, Integers, Values, floats

TOLERANCE = ROUNDED

_FP32, _INT32, _INT64 = 5, 2, 3
_INFINITY, _NAN = float("inf"), float("nan")


def _grids():
    for rows, columns in ((3, -1), (4, 6), (6, 2), (1, 1)):
        for dtype in (_FP32, _INT64):
            yield Case("eye", {}, {"num_rows": rows, "num_columns": columns, "dtype": dtype},
                       has_gradient=False)
    for start, stop, count in ((0.0, 10.0, 7), (5.0, -3.0, 4), (1.0, 2.0, 1)):
        yield Case("linspace", {"Start": Values([start]), "Stop": Values([stop]),
                                "Num": Values([count], "int32")}, {"dtype": _FP32},
                   has_gradient=False,
                   executor_refuses="is not known before the run; want what shapes and constants "
                                    "decide")
    yield Case("meshgrid", {"X": [floats(3), floats(4)]}, {}, {"Out": 2}, has_gradient=False)
    yield Case("meshgrid", {"X": [floats(2), floats(3), floats(4)]}, {}, {"Out": 3},
               has_gradient=False)
    for diagonal in (-9, -2, 0, 1, 9):
        for lower in (True, False):
            yield Case("tril_triu", {"X": floats(4, 5)}, {"diagonal": diagonal, "lower": lower})
            yield Case("tril_triu", {"X": floats(2, 3, 5, 4)},
                       {"diagonal": diagonal, "lower": lower})


def _divisions():
    for op in ("elementwise_mod", "elementwise_floordiv"):
        for dtype, size in (("int32", 4), ("int64", 5)):
            yield Case(op, {"X": Values([7, -7, 7, -7, 0, 6][-size:], dtype),
                            "Y": Values([3, 3, -3, -3, 5, -2][-size:], dtype)}, has_gradient=False)
            yield Case(op, {"X": Integers((size, 3), 50, dtype), "Y": Values([3, 7, 4], dtype)},
                       has_gradient=False)
            yield Case(op, {"X": Integers((2, 3, size), 50, dtype), "Y": Values([3, 7, 4], dtype)},
                       {"axis": 1}, has_gradient=False)


def _searches():
    for axis in (0, 1, -1):
        for keepdims in (True, False):
            yield Case("arg_min", {"X": floats(3, 4, 5)},
                       {"axis": axis, "keepdims": keepdims, "dtype": _INT64}, has_gradient=False)
    yield Case("arg_min", {"X": Values([3.0, 1.0, 1.0])}, {"axis": 0, "dtype": _INT64},
               has_gradient=False)


def _images():
    for shape, axis in (((2, 6, 3, 4), 1), ((2, 3, 4, 6), -1)):
        yield Case("maxout", {"X": floats(*shape)}, {"groups": 3, "axis": axis})
    for aligns in (True, False):
        yield Case("affine_grid", {"Theta": floats(2, 2, 3)},
                   {"output_shape": [2, 3, 4, 5], "align_corners": aligns},
                   gradients={"Output": floats(2, 4, 5, 2)})
    yield Case("affine_grid", {"Theta": floats(1, 2, 3)},
               {"output_shape": [1, 1, 3, 3], "align_corners": True},
               gradients={"Output": floats(1, 3, 3, 2)})
    for paddings in ([0, 0, 0, 0], [1, 2, 0, 1]):
        yield Case("unfold", {"X": floats(2, 3, 6, 5)},
                   {"kernel_sizes": [3, 2], "strides": [1, 2], "paddings": paddings,
                    "dilations": [2, 1]})


def _elements():
    mask = Values([[True, False, True], [False, False, True]], "bool")
    yield Case("masked_select", {"X": floats(2, 3), "Mask": mask}, gradients={"Y": floats(3)})
    for dtype in (_INT32, _INT64):
        yield Case("unique", {"X": Integers((9,), 4)},
                   {"dtype": dtype, "is_sorted": True, "return_index": True,
                    "return_inverse": True, "return_counts": True},
                   {"Indices": 1, "Counts": 1}, has_gradient=False)
        yield Case("unique", {"X": Integers((9,), 4)}, {"dtype": dtype}, has_gradient=False)


def _norms():
    for order in (1.0, 2.0, 3.0, 0.0, _INFINITY, -_INFINITY):
        for axis in (0, 1, -1):
            for keepdim in (True, False):
                yield Case("p_norm", {"X": floats(3, 4, 5)},
                           {"porder": order, "axis": axis, "keepdim": keepdim})
    yield Case("p_norm", {"X": floats(3, 4)}, {"porder": 2.0, "asvector": True})
    for axis in (0, 1, -1):
        yield Case("norm", {"X": floats(3, 4, 5)}, {"axis": axis})
    yield Case("norm", {"X": floats(3, 4)}, {"axis": 1, "epsilon": 0.1})
    for shape in ((5,), (3, 40)):
        yield Case("dot", {"X": floats(*shape), "Y": floats(*shape)})


def _channels():
    for shape, layout in (((2, 3, 4, 5), "NCHW"), ((2, 4, 5, 3), "NHWC"), ((4, 3), "NCHW"),
                          ((2, 4, 5, 3), "AnyLayout")):
        yield Case("affine_channel", {"X": floats(*shape), "Scale": floats(3), "Bias": floats(3)},
                   {"data_layout": layout})


def _finite():
    for op in ("isfinite_v2", "isinf_v2", "isnan_v2"):
        yield Case(op, {"X": Values([1.0, _INFINITY, -_INFINITY, _NAN, 3e38])}, has_gradient=False)
        yield Case(op, {"X": floats(3, 4)}, has_gradient=False)
        yield Case(op, {"X": Values([1, -5], "int64")}, has_gradient=False)


def cases():
    for family in (_grids, _divisions, _searches, _norms, _images, _elements, _channels, _finite):
        yield from family()
