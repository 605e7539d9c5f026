"""The fake-quantize family: codes, ranges, observers and their state.

Bit for bit: a code is a rounding, and who rounds another number has another network.
"""

from op_case import EXACT, Case, Floats, Integers, Values, floats

TOLERANCE = EXACT

_NOT_A_NUMBER = float("nan")
_INFINITY = float("inf")
# The elements of the first case are of one range, those of the last have special ones.
_INPUTS = (
    floats(3, 37),
    floats(4, 3, 5, 5, low=-7, high=3),
    Values([[0.0, 0.0], [0.0, -0.0]]),
    Values([1e-31, -1e-31]),
    Values([1.0, _NOT_A_NUMBER, 2, 3]),
)


def _stateless():
    for op in ("fake_quantize_abs_max", "fake_quantize_dequantize_abs_max"):
        for x in _INPUTS:
            yield Case(op, {"X": x})
        for bits in (2, 4, 16):
            yield Case(op, {"X": floats(3, 37)}, {"bit_length": bits})
        yield Case(op, {"X": floats(3, 37)}, {"round_type": 0})
    for op in ("fake_channel_wise_quantize_abs_max",
               "fake_channel_wise_quantize_dequantize_abs_max"):
        for axis in (0, 1):
            yield Case(op, {"X": floats(4, 6, 3, 3)}, {"quant_axis": axis})
            yield Case(op, {"X": floats(4, 6)}, {"quant_axis": axis, "bit_length": 4})
        yield Case(op, {"X": floats(4, 6)}, {"round_type": 0})
        yield Case(op, {"X": Values([[0.0, 0], [1, -3]])})


def _running(op, x, scale=0.5, **attributes):
    return Case(op, {"X": x, "InScale": Values([scale]), "InAccum": Values([1.7]),
                     "InState": Values([2.3])}, attributes)


def _moving_averages():
    for op in ("fake_quantize_moving_average_abs_max",
               "fake_quantize_dequantize_moving_average_abs_max"):
        yield _running(op, floats(3, 37))
        yield _running(op, floats(4, 3, 5, 5, low=-7, high=3), moving_rate=0.99)
        yield _running(op, floats(3, 37), bit_length=4)
        yield _running(op, floats(3, 37), round_type=0)
        yield _running(op, Values([0.0, 0, 0]))
        yield _running(op, floats(3, 37), is_test=True)
        yield _running(op, floats(3, 37), is_test=True, round_type=0)
    observed = {"InAccum": Values([1.7]), "InState": Values([2.3])}
    for attributes in ({}, {"moving_rate": 0.99}):
        yield Case("moving_average_abs_max_scale", {"X": floats(3, 37), **observed}, attributes,
                   counts={"Out": 1})
    yield Case("moving_average_abs_max_scale", {"X": floats(3, 37), **observed}, {"is_test": True},
               counts={"Out": 1}, ignored=("OutScale",))


def _windows():
    def case(x, iteration, **attributes):
        return Case("fake_quantize_range_abs_max",
                    {"X": x, "InScale": Values([0.9]), "Iter": Values([iteration], "int64")},
                    {"window_size": 4, **attributes},
                    state={"OutScales": Values([0.9, 0.4, 0.7, 0.2])})
    yield case(floats(3, 37), 1)
    yield case(floats(3, 37, low=-0.5, high=0.5), 3)
    # The largest falls out of the window.
    yield case(floats(3, 37, low=-0.5, high=0.5), 4)
    yield case(floats(3, 37, low=-3, high=3), 6)
    yield case(floats(3, 37), 2, bit_length=4)
    yield case(floats(3, 37), 2, round_type=0)
    yield Case("fake_quantize_range_abs_max", {"X": floats(3, 37), "InScale": Values([0.5])},
               {"is_test": True})


def _dequantizers():
    codes = Integers((4, 6), 127, "float32")
    yield Case("fake_dequantize_max_abs", {"X": codes, "Scale": Values([0.7])},
               {"max_range": 127.0})
    yield Case("fake_dequantize_max_abs", {"X": codes, "Scale": Values([3.0])}, {"max_range": 7.0})
    for axis, channels in ((0, 4), (1, 6)):
        yield Case("fake_channel_wise_dequantize_max_abs",
                   {"X": codes, "Scales": [Floats((channels,), 0.1, 2)]},
                   {"quant_bits": [8], "quant_axis": axis})
    yield Case("fake_channel_wise_dequantize_max_abs",
               {"X": codes, "Scales": [Floats((6,), 0.1, 2), Values([0.3])]},
               {"quant_bits": [8, 8], "quant_axis": 1, "x_num_col_dims": 1})
    yield Case("dequantize_abs_max",
               {"X": Values([[127, -128, 3]], "int8"), "Scale": Values([0.7])},
               {"max_range": 127.0})
    yield Case("dequantize_log", {"X": Values([[127, -128, 0, -1]], "int8"),
                                  "Dict": Floats((128,), 0, 2)})
    # Two rows of a minimum, a maximum and the codes 0, 64, 128, 62, as the bits of a float.
    yield Case("lookup_table_dequant",
               {"W": Values([[-1.0, 1.0, 0.25048828125], [0.5, 2.0, 0.25048828125]]),
                "Ids": Values([[1], [0], [1]], "int64")})


def _linear():
    for round_type in (0, 1):
        yield Case("quantize_linear",
                   {"X": floats(4, 6), "Scale": Values([0.7]), "ZeroPoint": Values([0.0])},
                   {"quant_axis": -1, "round_type": round_type})
    for axis, channels in ((0, 4), (1, 6)):
        for op in ("quantize_linear", "dequantize_linear"):
            x = floats(4, 6) if op == "quantize_linear" else Integers((4, 6), 127, "int8")
            yield Case(op, {"X": x, "Scale": Floats((channels,), 0.1, 2),
                            "ZeroPoint": Values([0.0] * channels)}, {"quant_axis": axis})
    yield Case("dequantize_linear",
               {"X": Integers((4, 6), 127, "float32"), "Scale": Values([0.7]),
                "ZeroPoint": Values([0.0])}, {"quant_axis": -1})
    yield Case("quantize_linear",
               {"X": floats(4, 6), "Scale": Values([0.5]), "ZeroPoint": Values([0.0]),
                "InAccum": Values([1.7]), "InState": Values([2.3])},
               {"quant_axis": -1, "is_test": False})
    yield Case("quantize_linear",
               {"X": floats(4, 6), "Scale": Floats((4,), 0.1, 2),
                "ZeroPoint": Values([0.0] * 4)},
               {"quant_axis": 0, "is_test": False}, counts={"OutScale": 1})


def cases():
    for family in (_stateless, _moving_averages, _windows, _dequantizers, _linear):
        yield from family()
