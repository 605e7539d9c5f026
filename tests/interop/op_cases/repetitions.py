"""Ops that repeat elements, or leave some out; their gradients sum."""

from op_case import SUMMED, Case, Integers, Values, floats

TOLERANCE = SUMMED

_FP32 = 5


def _repetitions():
    for times in ([1, 1, 1], [3, 1, 1], [1, 5, 2], [2, 2, 2]):
        yield Case("expand", {"X": floats(2, 3, 4)}, {"expand_times": times})
        yield Case("tile", {"X": floats(2, 3, 4)}, {"repeat_times": times})
    for shape, x in (([4, 3], (1, 3)), ([4, 3], (4, 1)), ([5, 4, 3], (1, 1, 3)), ([7], (1,)),
                     ([2, 3, 4, 5], (2, 1, 4, 1))):
        yield Case("expand_v2", {"X": floats(*x)}, {"shape": shape})
        yield Case("expand_as_v2", {"X": floats(*x)}, {"target_shape": shape})
    yield Case("tile", {"X": floats(3)}, {"repeat_times": [2, 4]})
    yield Case("tile", {"X": floats(2, 3, 4)}, {"repeat_times": [3]})
    for axis in (0, 1, 2, -1):
        size = (3, 4, 5)[axis]
        yield Case("unstack", {"X": floats(3, 4, 5)}, {"axis": axis, "num": size}, {"Y": size})
    for axis in (0, 1, 2):
        size = (3, 4, 5)[axis]
        yield Case("unbind", {"X": floats(3, 4, 5)}, {"axis": axis}, {"Out": size})
    for axis in (0, 1, -1):
        for exclusive in (False, True):
            for reverse in (False, True):
                yield Case("cumsum", {"X": floats(3, 4, 5)},
                           {"axis": axis, "exclusive": exclusive, "reverse": reverse})
    yield Case("expand", {"X": floats(2, 1, 3)}, {"expand_times": [1, 4, 2]})
    yield Case("expand_v2", {"X": floats(2, 1, 3)}, {"shape": [2, 4, 3]})
    yield Case("expand_v2", {"X": floats(1, 3)}, {"shape": [5, 2, -1]}, has_gradient=False)
    yield Case("expand_as_v2", {"X": floats(2, 1), "Y": floats(2, 4)}, {"target_shape": [2, 4]})
    yield Case("tile", {"X": floats(2, 3)}, {"repeat_times": [2, 1]})
    yield Case("tile", {"X": floats(2, 3)}, {"repeat_times": [2, 1, 3]})


def _embeddings():
    yield Case("lookup_table", {"W": floats(9, 4), "Ids": Integers((5, 1), 9)})
    yield Case("lookup_table", {"W": floats(9, 4), "Ids": Values([[2], [0], [2]], "int64")},
               {"padding_idx": 2})
    yield Case("lookup_table_v2", {"W": floats(9, 4), "Ids": Integers((5,), 9)})
    yield Case("lookup_table_v2", {"W": floats(9, 4), "Ids": Integers((3, 6), 9)})
    yield Case("lookup_table_v2", {"W": floats(9, 4), "Ids": Values([[2, 0], [8, 2]], "int64")},
               {"padding_idx": 2})
    yield Case("one_hot_v2", {"X": Integers((4,), 5)}, {"depth": 5, "dtype": _FP32},
               has_gradient=False)


def _dropouts():
    for implementation in ("downgrade_in_infer", "upscale_in_train"):
        attributes = {"dropout_prob": 0.25, "dropout_implementation": implementation}
        # What falls out is drawn at random: of training the gradient alone can be compared.
        yield Case("dropout", {"X": floats(4, 6)}, attributes,
                   given={"Out": floats(4, 6), "Mask": Integers((4, 6), 2, "uint8")})
        yield Case("dropout", {"X": floats(4, 6)}, {**attributes, "is_test": True},
                   ignored=("Mask",), has_gradient=False)
    yield Case("dropout", {"X": floats(4, 6)}, {"dropout_prob": 0.0})
    yield Case("dropout", {"X": floats(4, 6)},
               {"dropout_prob": 1.0, "dropout_implementation": "upscale_in_train"})


def cases():
    for family in (_repetitions, _embeddings, _dropouts):
        yield from family()
