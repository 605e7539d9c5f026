"""Ops that place elements: padding, slices with steps, flips, picks by index."""

from op_case import ROUNDED, Case, Integers, Values, floats

TOLERANCE = ROUNDED


def _padding():
    for paddings in ([0, 1, 2, 0], [1, 1, 1, 1], [0, 0, 0, 3]):
        for value in (0.0, -1.5):
            yield Case("pad", {"X": floats(3, 4)}, {"paddings": paddings, "pad_value": value})
    yield Case("pad", {"X": floats(5)}, {"paddings": [2, 3], "pad_value": 1.0})
    yield Case("pad", {"X": floats(2, 3, 2, 2)}, {"paddings": [0, 0, 1, 2, 0, 1, 2, 0],
                                                "pad_value": 0.0})
    for mode in ("constant", "reflect", "replicate", "circular"):
        for paddings in ([1, 2, 0, 1, 2, 0], [0, 0, 0, 0, 1, 1], [2, 2, 2, 2, 2, 2]):
            yield Case("pad3d", {"X": floats(2, 3, 3, 4, 5)},
                       {"paddings": paddings, "mode": mode, "value": -0.5})
            yield Case("pad3d", {"X": floats(2, 3, 4, 5, 3)},
                       {"paddings": paddings, "mode": mode, "value": -0.5,
                        "data_format": "NDHWC"})


def _strided(shape, axes, starts, ends, strides, has_gradient=True, **attributes):
    # 2.6 reads a flag for each axis, whether it is there or not.
    return Case("strided_slice", {"Input": floats(*shape)},
                {"axes": axes, "starts": starts, "ends": ends, "strides": strides,
                 "infer_flags": [1] * len(axes), **attributes}, has_gradient=has_gradient)


def _slices():
    for start, end, step in ((0, 9, 2), (1, 8, 3), (-7, -1, 2), (8, 1, -2), (9, -1, -1),
                             (5, -1, -2), (-1, 0, -3), (2, 100, 1), (100, 2, -4)):
        for axis, shape in ((0, (9, 4)), (2, (2, 3, 9))):
            yield _strided(shape, [axis], [start], [end], [step])
    yield _strided((5, 6, 7), [0, 2], [1, 6], [4, 0], [2, -2])
    # 2.6 refuses the shape of this one's gradient.
    yield _strided((5, 6, 7), [0, 1], [1, 0], [2, 6], [1, 2], has_gradient=False,
                   decrease_axis=[0])
    for axes in ([0], [1], [2], [0, 2], [-1], [0, 1, 2]):
        yield Case("flip", {"X": floats(3, 4, 5)}, {"axis": axes})
    yield Case("flip", {"X": floats(7)}, {"axis": [0]})
    for shifts, axes in (([1], [0]), ([-2], [1]), ([1, 3], [0, 2]), ([11], []), ([-3], []),
                         ([100], [2]), ([0], [0]), ([1, 1], [1, 1])):
        yield Case("roll", {"X": floats(3, 4, 5)}, {"shifts": shifts, "axis": axes})


def _set_values():
    def case(value, axes, starts, ends, steps, decrease=(), none=(), shape=(4, 5, 6), **more):
        return Case("set_value", {"Input": floats(*shape), "ValueTensor": value},
                    {"axes": axes, "starts": starts, "ends": ends, "steps": steps,
                     "decrease_axes": list(decrease), "none_axes": list(none), "dtype": 5}, **more)
    yield case(floats(2, 5, 6), [0], [1], [3], [1])
    yield case(floats(1), [0], [1], [3], [1])
    yield case(floats(6), [0, 1], [0, 1], [4, 5], [2, 3])
    yield case(floats(5, 6), [0], [2], [3], [1], decrease=[0])
    yield case(floats(4, 6), [1], [3], [4], [1], decrease=[1])
    yield case(floats(2, 5, 6), [0], [3], [1], [-1])
    yield case(floats(2, 1, 6), [0], [-3], [-1], [1])
    yield case(floats(4, 2, 3), [1, 2], [0, 5], [5, 0], [3, -2])
    yield case(floats(1, 2, 5, 6), [0], [1], [3], [1], none=[0])
    yield case(floats(3, 2), [0], [1], [4], [1], shape=(6, 2))


def _picks():
    for index in ([[0], [2]], [[1, 0], [2, 3]], [[0, 1, 2], [2, 3, 4], [0, 1, 2]]):
        for dtype, size in (("int32", 5), ("int64", 6)):
            yield Case("gather_nd", {"X": floats(3, 4, size), "Index": Values(index, dtype)})
    yield Case("gather_nd", {"X": floats(3, 4), "Index": Values([[[1], [0]], [[2], [2]]], "int64")})
    yield Case("gather_nd", {"X": floats(3, 4), "Index": Values([1, 2], "int64")})
    for dim in (0, 1, 2, -1):
        for dtype, size in (("int32", 3), ("int64", 4)):
            yield Case("index_select",
                       {"X": floats(size, size, size), "Index": Values([2, 0, 0, 1], dtype)},
                       {"dim": dim})
    for dtype, size in (("int32", 5), ("int64", 6)):
        yield Case("index_sample", {"X": floats(3, size), "Index": Integers((3, 7), 5, dtype)})
        yield Case("gather", {"X": floats(size, 3), "Index": Values([4, 0, 0, 2], dtype)})
        yield Case("gather", {"X": floats(2, size, 3), "Index": Values([4, 0, 0, 2], dtype)},
                   {"axis": 1})
        yield Case("gather", {"X": floats(2, 3, size), "Index": Values([4, 1], dtype)}, {"axis": 2})
    for axis in (0, 1, 2):
        shape = [3, 4, 5]
        shape[axis] = 2
        yield Case("take_along_axis", {"Input": floats(3, 4, 5),
                                       "Index": Integers(tuple(shape), 3)}, {"Axis": axis})
    for reduce, include_self in (("assign", True), ("add", True), ("add", False), ("mul", True),
                                 ("multiply", False)):
        for index, dtype in (([[2, 0], [1, 2]], "int64"), ([[0, 1], [1, 0]], "int32")):
            yield Case("put_along_axis",
                       {"Input": floats(2, 3), "Index": Values(index, dtype),
                        "Value": floats(2, 2)},
                       {"Axis": 1, "Reduce": reduce, "Include_self": include_self},
                       has_gradient=reduce in ("assign", "add"))
    yield Case("where", {"Condition": Values([[True, False, True], [False, False, True]], "bool"),
                         "X": floats(2, 3), "Y": floats(2, 3)})


def _scatters():
    for overwrite in (True, False):
        for shape in ((6,), (6, 3), (6, 2, 2)):
            yield Case("scatter", {"X": floats(*shape), "Ids": Values([4, 0, 3], "int64"),
                                   "Updates": floats(3, *shape[1:])}, {"overwrite": overwrite})
    yield Case("scatter", {"X": floats(5, 3), "Ids": Values([2, 2, 0], "int32"),
                           "Updates": floats(3, 3)}, {"overwrite": False})
    for index in ([[0], [2], [0]], [[1, 0], [2, 3], [1, 0]]):
        axes = len(index[0])
        yield Case("scatter_nd_add", {"X": floats(3, 4, 5), "Index": Values(index, "int64"),
                                      "Updates": floats(3, *(4, 5)[axes - 1:])})


def cases():
    for family in (_padding, _slices, _set_values, _picks, _scatters):
        yield from family()
