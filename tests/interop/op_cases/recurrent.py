"""Recurrent networks: over padded steps, over sequences, and one step at a time."""

import itertools

from op_case import SUMMED, Case, Cut, Floats, Values, floats

TOLERANCE = SUMMED

_GATES = {"LSTM": 4, "GRU": 3, "RNN_TANH": 1, "RNN_RELU": 1}
_KEPT = ("Reserve", "DropoutState")


def rnn(mode, layers=1, directions=1, steps=4, batch=3, inputs=5, width=6, lengths=None,
        dtype="int32", first=1.0, is_test=False):
    """`first`: how large the first states are at most."""
    gates = _GATES[mode] * width
    pairs = layers * directions
    weights = []
    for pair in range(pairs):
        columns = inputs if pair < directions else directions * width
        weights += [floats(gates, columns), floats(gates, width)]
    weights += [floats(gates)] * (2 * pairs)
    states = [Floats((pairs, batch, width), -first, first)] * (2 if mode == "LSTM" else 1)
    given = {"Input": floats(steps, batch, inputs), "PreState": states, "WeightList": weights}
    if lengths is not None:
        given["SequenceLength"] = Values(lengths, dtype)
    return Case("rnn", given,
                {"mode": mode, "num_layers": layers, "is_bidirec": directions == 2,
                 "input_size": inputs, "hidden_size": width, "dropout_prob": 0.0, "seed": 0,
                 "is_test": is_test},
                counts={"State": len(states), "DropoutState": 1}, ignored=_KEPT,
                has_gradient=not is_test)


def _rnns():
    for mode, layers, directions in itertools.product(_GATES, (1, 2, 3), (1, 2)):
        yield rnn(mode, layers, directions)
        yield rnn(mode, layers, directions, steps=5, batch=2, is_test=True)
        yield rnn(mode, layers, directions, batch=4, inputs=3, lengths=[4, 1, 3, 2], is_test=True)
        # With both directions, lengths and first states that are not 0, 2.6 errs (ops.py).
        yield rnn(mode, layers, directions, batch=4, inputs=7, lengths=[2, 4, 1, 4],
                  first=1.0 if directions == 1 else 0.0)
    for mode in _GATES:
        yield rnn(mode, steps=1, batch=1, inputs=1, width=1)
        yield rnn(mode, steps=1, batch=5, inputs=9, width=17)
        yield rnn(mode, steps=9, batch=1, inputs=33, width=16)
        yield rnn(mode, 2, 2, steps=6, batch=17, inputs=4, width=8)
        yield rnn(mode, steps=3, batch=2, lengths=[0, 3])
        yield rnn(mode, steps=3, batch=2, lengths=[2, 3], dtype="int64")
        yield rnn(mode, 2, steps=3, batch=3, inputs=2, lengths=[3, 3, 3])


# Offsets of nine rows.
_CUTS = (((0, 3, 4, 9),), ((0, 9),), ((0, 1, 2, 3, 4, 5, 6, 7, 8, 9),), ((0, 2, 2, 9),))


def _gated(op, gates, width, lod, weights, kept, attributes, has_first=False):
    # 2.6's lstm_grad errs where 8 divides the width, in its loops for AVX, and takes the first state
    # of another sequence where one before it is empty; differences agree with ours.
    is_wrong = op == "lstm" and (width % 8 == 0 or has_first and lod == _CUTS[3])
    sequences = len(lod[-1]) - 1
    given = {"Input": Cut(floats(9, gates * width), lod)}
    if has_first:
        given["H0"] = floats(sequences, width)
        if op == "lstm":
            given["C0"] = floats(sequences, width)
    given.update(weights)
    return Case(op, given, attributes, ignored=kept, has_gradient=not is_wrong)


def _lstm(width, lod, has_first, has_peepholes=True, **attributes):
    weights = {"Weight": floats(width, 4 * width),
               "Bias": floats(1, (7 if has_peepholes else 4) * width)}
    return _gated("lstm", 4, width, lod, weights, ("BatchGate", "BatchCellPreAct"),
                  {"use_peepholes": has_peepholes, **attributes}, has_first)


def _lstms():
    for lod, has_first, has_peepholes, is_reverse in itertools.product(
            _CUTS, (False, True), (False, True), (False, True)):
        yield _lstm(4, lod, has_first, has_peepholes, is_reverse=is_reverse)
    for gate, cell, candidate in itertools.product(
            ("sigmoid", "tanh"), ("tanh", "identity", "relu"), ("tanh", "sigmoid", "relu")):
        yield _lstm(5, _CUTS[0], True, gate_activation=gate, cell_activation=cell,
                    candidate_activation=candidate, is_reverse=False)
    for width in (1, 8, 16, 33):
        yield _lstm(width, _CUTS[0], True, is_reverse=True)
        yield _lstm(width, _CUTS[0], False, False, is_reverse=False)


def _gru(width, lod, has_first, has_bias, **attributes):
    weights = {"Weight": floats(width, 3 * width)}
    if has_bias:
        weights["Bias"] = floats(1, 3 * width)
    return _gated("gru", 3, width, lod, weights,
                  ("BatchGate", "BatchResetHiddenPrev", "BatchHidden"), attributes, has_first)


def _grus():
    for lod, has_first, has_bias, is_reverse, is_origin in itertools.product(
            _CUTS, (False, True), (False, True), (False, True), (False, True)):
        yield _gru(4, lod, has_first, has_bias, is_reverse=is_reverse, origin_mode=is_origin)
    for gate, candidate in itertools.product(("sigmoid", "tanh"), ("tanh", "sigmoid", "relu")):
        yield _gru(5, _CUTS[0], True, True, gate_activation=gate, activation=candidate)
    for width in (1, 8, 16, 33):
        yield _gru(width, _CUTS[0], True, True, is_reverse=True)


def _gru_units():
    for gate, candidate, is_origin, has_bias in itertools.product(
            range(4), range(4), (False, True), (False, True)):
        given = {"Input": floats(3, 12), "HiddenPrev": floats(3, 4), "Weight": floats(4, 12)}
        if has_bias:
            given["Bias"] = floats(1, 12)
        yield Case("gru_unit", given, {"gate_activation": gate, "activation": candidate,
                                       "origin_mode": is_origin})
    for rows, width in ((1, 1), (17, 8), (4, 33)):
        yield Case("gru_unit", {"Input": floats(rows, 3 * width), "HiddenPrev": floats(rows, width),
                                "Weight": floats(width, 3 * width)})


def cases():
    yield from _rnns()
    yield from _lstms()
    yield from _grus()
    yield from _gru_units()
