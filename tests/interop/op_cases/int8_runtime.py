"""Ops between floats and codes that PaddlePaddle runs by oneDNN."""

from op_case import ROUNDED, Case, Values, floats

TOLERANCE = ROUNDED

# Ties, and what leaves the codes.
_TIES = Values([0.5, 1.5, 2.5, -0.5, -1.5, 3.0, -3.0, 1e9, -1e9, float("inf"), -float("inf")])
_CODES = Values([[-128, -100, -3, -1], [0, 1, 2, 127]], dtype="int8")
_UNSIGNED = Values([[0, 1], [2, 3], [100, 127], [128, 255]], dtype="uint8")


def _case(op, x, **attributes):
    return Case(op, {"Input": x}, {"use_mkldnn": True, **attributes}, has_gradient=False)


def cases():
    for negative in (True, False):
        for scale, shift in ((1.0, 0.0), (100.0, 0.0), (1.0, 3.0), (17.3, 128.0), (1.0, 2.5)):
            yield _case("quantize", _TIES, Scale=scale, Shift=shift, is_negative_input=negative)
        yield _case("quantize", floats(2, 3, 5, 4), Scale=127.0, is_negative_input=negative)
    for x in (_CODES, _UNSIGNED):
        for scale, shift in ((2.0, 0.0), (3.0, 0.0), (0.3, 3.0), (17.0, 128.0)):
            yield _case("dequantize", x, Scale=scale, Shift=shift)
        for scale_in, scale_out in ((2.0, 3.0), (2.0, 1.0), (127.0, 31.0)):
            yield _case("requantize", x, Scale_in=scale_in, Scale_out=scale_out, Shift_in=0.0,
                        Shift_out=0.0)
        yield _case("requantize", x, Scale_in=2.0, Scale_out=3.0, Shift_in=0.0, Shift_out=5.0)
    yield _case("requantize", _UNSIGNED, Scale_in=2.0, Scale_out=3.0)
    yield _case("requantize", _UNSIGNED, Scale_in=2.0, Scale_out=3.0, Shift_in=4.0, Shift_out=100.0)
