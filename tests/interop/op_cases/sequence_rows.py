"""Ops that move the rows of sequences: reversed, joined, repeated, padded, cut out."""

import itertools

from op_case import SUMMED, Case, Cut, Integers, Values, floats

TOLERANCE = SUMMED

# What the executor says where the offsets of an output follow from numbers of the run.
_LATER = "is computed in the run"

# Offsets of seven rows.
_LODS = (((0, 2, 3, 7),), ((0, 7),), ((0, 1, 2, 3, 4, 5, 6, 7),), ((0, 2, 2, 3, 7),))
_NESTED = ((0, 1, 3), (0, 2, 3, 7))


def _offsets(lengths):
    return ((0, *itertools.accumulate(lengths)),)


def _cut(*width, lod=_LODS[0], rows=7):
    return Cut(floats(rows, *width), lod)


def _reversed():
    for lod in _LODS:
        for width in ((1,), (5,), (2, 3)):
            yield Case("sequence_reverse", {"X": _cut(*width, lod=lod)},
                       gradients={"Y": _cut(*width, lod=lod)})
        yield Case("sequence_reverse", {"X": Cut(Integers((7, 2), 9), lod)}, has_gradient=False)


def _joined():
    for width in (1, 4, 17):
        yield Case("sequence_concat", {"X": [_cut(width), _cut(width, lod=((0, 1, 4, 7),))]})
        yield Case("sequence_concat",
                   {"X": [_cut(width), _cut(width, lod=((0, 5, 6, 7),)),
                          _cut(width, lod=((0, 1, 2, 7),))]})
    yield Case("sequence_concat", {"X": [_cut(3), _cut(3, lod=((0, 0, 7, 7),))]})


def _repeated():
    for width in (1, 4):
        for lod in (((0, 2, 3, 7),), ((0, 1, 1, 4),), _NESTED):
            rows = lod[-1][-1]
            y = Cut(floats(rows, 2), lod)
            yield Case("sequence_expand", {"X": floats(3, width), "Y": y}, {"ref_level": -1},
                       gradients={"Out": floats(rows, width)})
            yield Case("sequence_expand_as", {"X": floats(3, width), "Y": y},
                       gradients={"Out": floats(rows, width)}) if len(lod) == 1 else \
                Case("sequence_expand", {"X": floats(2, width), "Y": y}, {"ref_level": 0},
                     gradients={"Out": floats(3, width)})
        x = Cut(floats(4, width), ((0, 1, 4),))
        yield Case("sequence_expand",
                   {"X": x, "Y": Cut(floats(7, 2), ((0, 2, 5), (0, 1, 2, 3, 4, 7)))},
                   {"ref_level": 0}, gradients={"Out": floats(11, width)})


def _padded():
    for lod, width, value in itertools.product(_LODS, ((3,), (4,), (2, 3)), (1, None)):
        sequences = len(lod[-1]) - 1
        longest = max(b - a for a, b in zip(lod[-1], lod[-1][1:]))
        pad = floats(1) if value else floats(*width)
        for padded in (-1, longest + 2):
            yield Case("sequence_pad", {"X": _cut(*width, lod=lod), "PadValue": pad},
                       {"padded_length": padded},
                       gradients={"Out": floats(sequences, longest if padded < 0 else padded,
                                                *width)})
    for lengths in ([3, 1, 2], [5, 5, 5], [1, 5, 1]):
        for width in ((1,), (4,), (2, 3)):
            yield Case("sequence_unpad",
                       {"X": floats(3, 5, *width), "Length": Values(lengths, "int64")},
                       gradients={"Out": _cut(*width, lod=_offsets(lengths), rows=sum(lengths))},
                       executor_refuses=_LATER)


def _cut_out():
    for offset, length in (([0, 0, 1], [1, 1, 2]), ([1, 0, 0], [1, 1, 4]), ([0, 0, 3], [2, 1, 1])):
        for width in (1, 4):
            yield Case("sequence_slice",
                       {"X": _cut(width),
                        "Offset": Values([[one] for one in offset], "int64"),
                        "Length": Values([[one] for one in length], "int64")},
                       gradients={"Out": _cut(width, lod=_offsets(length), rows=sum(length))},
                       executor_refuses=_LATER)
    for tokens in ([0], [1, 2], [], [0, 1, 2, 3, 4]):
        yield Case("sequence_erase", {"X": Cut(Integers((7, 1), 5), _LODS[0])}, {"tokens": tokens},
                   has_gradient=False)
        yield Case("sequence_erase", {"X": Cut(Integers((7, 1), 5, "int32"), _LODS[2])},
                   {"tokens": tokens}, has_gradient=False)


def _masks():
    for dtype, maxlen in itertools.product((2, 3, 5), (1, 4, 9)):
        yield Case("sequence_mask", {"X": Values([1, 0, 4, 3], "int64")},
                   {"maxlen": maxlen, "out_dtype": dtype}, has_gradient=False)
        yield Case("sequence_mask", {"X": Values([[1, 0, 4], [3, 2, 9]], "int32")},
                   {"maxlen": maxlen, "out_dtype": dtype}, has_gradient=False)
        yield Case("sequence_mask",
                   {"X": Values([maxlen, 0], "int64")}, {"maxlen": -1, "out_dtype": dtype},
                   has_gradient=False, executor_refuses=_LATER)


def _other_offsets():
    for width, new in ((4, 2), (4, 8), (4, 1), (6, 3), (2, 4)):
        lod = ((0, 2, 4, 8),)
        yield Case("sequence_reshape", {"X": _cut(width, lod=lod, rows=8)}, {"new_dim": new},
                   gradients={"Out": floats(8 * width // new, new)})
    for lod in _LODS:
        yield Case("lod_reset", {"X": _cut(3, lod=lod)}, {"target_lod": [0, 4, 7]})
        yield Case("lod_reset", {"X": _cut(3, lod=lod), "Y": _cut(2, lod=((0, 1, 7),))})
        yield Case("lod_reset", {"X": _cut(3, lod=lod), "Y": _cut(2, lod=_NESTED)})
        yield Case("lod_reset", {"X": _cut(3, lod=lod), "Y": Values([0, 3, 7], "int32")},
                   executor_refuses=_LATER)
    yield Case("lod_reset", {"X": _cut(3, lod=((0, 7),))},
               {"target_lod": [0, 1, 7], "append": True})
    yield Case("lod_reset", {"X": floats(7, 3)}, {"target_lod": [0, 1, 7]})


def _convolutions():
    for lod, width, context in itertools.product(_LODS[:3], (1, 5, 16), (1, 2, 4)):
        yield Case("row_conv", {"X": _cut(width, lod=lod), "Filter": floats(context, width)})
    for kernels, strides, paddings in itertools.product(
            ([1, 1], [2, 3], [3, 2]), ([1, 1], [2, 1]), ([0, 0, 0, 0], [1, 0, 1, 2], [0, 1, 0, 1])):
        rows = [(size + paddings[i] + paddings[i + 2] - kernels[i]) // strides[i] + 1
                for i, size in enumerate((5, 6))]
        yield Case("im2sequence", {"X": floats(2, 3, 5, 6)},
                   {"kernels": kernels, "strides": strides, "paddings": paddings,
                    "out_stride": [1, 1]},
                   gradients={"Out": floats(2 * rows[0] * rows[1], 3 * kernels[0] * kernels[1])})


def cases():
    yield from _reversed()
    yield from _joined()
    yield from _repeated()
    yield from _padded()
    yield from _cut_out()
    yield from _masks()
    yield from _other_offsets()
    yield from _convolutions()
