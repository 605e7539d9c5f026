"""Gradients of a scaled loss, and the scale."""

from op_case import ROUNDED, Case, Values, floats

TOLERANCE = ROUNDED

_NOT_FINITE = (float("inf"), float("-inf"), float("nan"))


def _unscaled():
    for scale in (1.0, 1024.0, 3.0):
        yield Case("check_finite_and_unscale",
                   {"X": [floats(3, 4), floats(5)], "Scale": Values([scale])}, counts={"Out": 2},
                   has_gradient=False)
    for number in _NOT_FINITE:
        yield Case("check_finite_and_unscale",
                   {"X": [Values([1.0, number]), floats(5)], "Scale": Values([2.0])},
                   counts={"Out": 2}, ignored=("Out",), has_gradient=False)


def _updated():
    for found in (True, False):
        for scale, good, bad in ((1024.0, 0, 0), (1024.0, 3, 1), (1.2, 3, 1), (3e38, 3, 1)):
            for stop in (True, False) if found else (False,):
                # What does not change 2.6 leaves unwritten: its programs update in place.
                unwritten = () if found else ("Out",)
                if stop or not good:
                    unwritten += ("LossScaling",)
                if stop:
                    unwritten += ("OutGoodSteps", "OutBadSteps")
                yield Case("update_loss_scaling",
                           {"X": [floats(3, 4), floats(5)],
                            "FoundInfinite": Values([found], "bool"),
                            "PrevLossScaling": Values([scale]),
                            "InGoodSteps": Values([good], "int32"),
                            "InBadSteps": Values([bad], "int32")},
                           {"incr_every_n_steps": 4, "decr_every_n_nan_or_inf": 2,
                            "incr_ratio": 2.0, "decr_ratio": 0.5, "stop_update": stop},
                           counts={"Out": 2}, ignored=unwritten, has_gradient=False)


def cases():
    yield from _unscaled()
    yield from _updated()
