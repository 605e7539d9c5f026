"""Ops over sequences, and others that hand their offsets on."""

from op_case import SUMMED, Case, Cut, Integers, floats

TOLERANCE = SUMMED

# Offsets of seven rows: sequences of two, none, one and four rows; and those nested in two
# sequences.
_LOD = ((0, 2, 2, 3, 7),)
_NESTED = ((0, 3, 4), *_LOD)


def _sequences(*width, lod=_LOD):
    return Cut(floats(7, *width), lod)


def _pools():
    for pool in ("AVERAGE", "SUM", "SQRT", "MAX", "FIRST", "LAST"):
        ignored = () if pool == "MAX" else ("MaxIndex",)
        yield Case("sequence_pool", {"X": _sequences(5)},
                   {"pooltype": pool, "pad_value": 0.5, "is_test": False},
                   gradients={"Out": floats(4, 5)}, ignored=ignored)
        yield Case("sequence_pool", {"X": _sequences(20, lod=_NESTED)},
                   {"pooltype": pool, "pad_value": 0.0, "is_test": False},
                   gradients={"Out": floats(4, 20)}, ignored=ignored)


def _convolution(length, start, lod=_LOD, has_gradient=True):
    return Case("sequence_conv",
                {"X": _sequences(5, lod=lod), "Filter": floats(5 * length, 6)},
                {"contextLength": length, "contextStart": start, "contextStride": 1,
                 "paddingTrainable": False}, has_gradient=has_gradient)


def _convolutions():
    for length, start in ((3, -1), (1, 0), (4, -2), (2, 1)):
        yield _convolution(length, start)
    yield _convolution(2, 1, lod=((0, 3, 7),))
    # 2.6.2 has no gradient for this one: its kernel finds paddings that do not fit.
    yield _convolution(2, -2, has_gradient=False)


def _others():
    yield Case("sequence_softmax", {"X": _sequences(1)})
    yield Case("relu", {"X": _sequences(3, lod=_NESTED)})
    yield Case("scale", {"X": _sequences(3)}, {"scale": 2.0})
    yield Case("elementwise_add", {"X": _sequences(3), "Y": floats(3)}, {"axis": 1})
    yield Case("mul", {"X": _sequences(3), "Y": floats(3, 4)})
    yield Case("matmul_v2", {"X": _sequences(3), "Y": floats(3, 4)})
    yield Case("softmax", {"X": _sequences(3)}, {"axis": -1})
    yield Case("top_k", {"X": _sequences(3)}, {"k": 1})
    yield Case("reduce_sum", {"X": _sequences(3)}, {"dim": [1]})
    yield Case("reshape2", {"X": _sequences(4)}, {"shape": [0, 2, 2]})
    yield Case("transpose2", {"X": _sequences(7)}, {"axis": [1, 0]})
    yield Case("dropout", {"X": _sequences(3)}, {"dropout_prob": 0.0})
    yield Case("layer_norm", {"X": _sequences(3), "Scale": floats(3), "Bias": floats(3)})
    yield Case("lookup_table_v2", {"W": floats(7, 3), "Ids": Cut(Integers((7,), 7), _LOD)})
    yield Case("softmax_with_cross_entropy",
               {"Logits": _sequences(3), "Label": Integers((7, 1), 3)})
    yield Case("fake_quantize_dequantize_abs_max", {"X": _sequences(3)}, {"bit_length": 8})
    yield Case("fill_constant_batch_size_like", {"Input": _sequences(3)},
               {"shape": [-1, 2], "dtype": 5, "value": 1.5}, has_gradient=False)


def cases():
    yield from _pools()
    yield from _convolutions()
    yield from _others()
