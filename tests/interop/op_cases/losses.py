"""Softmax, cross entropies, and what is counted of the answers."""

from op_case import SUMMED, Case, Integers, Probabilities, Values, floats

TOLERANCE = SUMMED

_INT32 = 2


def cases():
    for delta in (0.25, 1.0):
        yield Case("huber_loss", {"X": floats(4, 5), "Y": floats(4, 5)}, {"delta": delta})
    for shape in ((4, 5), (2, 3, 4)):
        yield Case("label_smooth", {"X": Probabilities(shape)}, {"epsilon": 0.1})
        yield Case("bce_loss", {"X": Probabilities(shape), "Label": floats(*shape, low=0)})
    yield Case("label_smooth", {"X": Probabilities((4, 5)), "PriorDist": Probabilities((1, 5))},
               {"epsilon": 0.2})
    yield Case("log_loss", {"Predicted": floats(6, 1, low=0.05, high=0.95),
                            "Labels": floats(6, 1, low=0)}, {"epsilon": 1e-4})
    yield Case("bce_loss", {"X": Values([0.0, 1, 0, 0.5]), "Label": Values([0.0, 1, 1, 0.25])},
               has_gradient=False)
    for reduction in ("none", "sum", "mean", "batchmean"):
        yield Case("kldiv_loss", {"X": floats(3, 4), "Target": floats(3, 4)},
                   {"reduction": reduction})
    for shape, axis in (((4, 5), -1), ((2, 3, 4), -1), ((2, 3, 4), 1), ((2, 3, 4), 0),
                        ((2, 3, 4, 5), 1)):
        yield Case("softmax", {"X": floats(*shape, low=-5, high=5)}, {"axis": axis})
        yield Case("log_softmax", {"X": floats(*shape, low=-5, high=5)}, {"axis": axis})
    yield Case("softmax", {"X": Values([[0.0, -100, -63], [1000, 999, 0]])})
    yield Case("log_softmax", {"X": Values([[0.0, -100, -63], [1000, 999, 0]])})

    yield Case("cross_entropy", {"X": Probabilities((4, 5)), "Label": Integers((4, 1), 5)})
    yield Case("cross_entropy", {"X": Probabilities((4, 5)), "Label": Probabilities((4, 5))},
               {"soft_label": True})
    yield Case("cross_entropy", {"X": Probabilities((4, 5)),
                                 "Label": Values([[0], [3], [1], [3]], "int64")},
               {"ignore_index": 3})
    yield Case("cross_entropy", {"X": Probabilities((2, 3, 5)), "Label": Integers((2, 3, 1), 5)})
    yield Case("cross_entropy", {"X": Values([[0.0, 1.0], [0.5, 0.5]]),
                                 "Label": Values([[0], [1]], "int64")}, has_gradient=False)
    yield Case("cross_entropy2", {"X": Probabilities((4, 5)), "Label": Integers((4, 1), 5)})
    yield Case("cross_entropy2", {"X": Probabilities((4, 5)),
                                  "Label": Values([[0], [3], [1], [3]], "int64")},
               {"ignore_index": 3})

    logits = floats(4, 5, low=-5, high=5)
    labels = Values([[0], [3], [1], [3]], "int64")
    yield Case("softmax_with_cross_entropy", {"Logits": logits, "Label": labels})
    yield Case("softmax_with_cross_entropy", {"Logits": logits, "Label": Probabilities((4, 5))},
               {"soft_label": True})
    yield Case("softmax_with_cross_entropy", {"Logits": logits, "Label": labels},
               {"ignore_index": 3})
    yield Case("softmax_with_cross_entropy",
               {"Logits": floats(2, 5, 3, low=-5, high=5), "Label": Integers((2, 1, 3), 5)},
               {"axis": 1})
    yield Case("softmax_with_cross_entropy",
               {"Logits": floats(2, 3, 5, low=-5, high=5), "Label": Integers((2, 3, 1), 5)})
    yield Case("softmax_with_cross_entropy",
               {"Logits": Values([[0.0, -100, 3], [90, -90, 0]]),
                "Label": Values([[1], [1]], "int64")})
    yield Case("softmax_with_cross_entropy",
               {"Logits": floats(64, 10, low=-5, high=5), "Label": Integers((64, 1), 10)})

    sigmoid = {"X": floats(4, 5, low=-5, high=5), "Label": floats(4, 5, low=0)}
    yield Case("sigmoid_cross_entropy_with_logits", sigmoid)
    yield Case("sigmoid_cross_entropy_with_logits", sigmoid, {"normalize": True},
               refused="normalize is true")
    yield Case("sigmoid_cross_entropy_with_logits",
               {"X": floats(2, 2), "Label": Values([[0.0, 1], [1, -1]])}, {"ignore_index": -1})

    yield Case("accuracy", {"Out": floats(4, 2), "Indices": Integers((4, 2), 3),
                            "Label": Integers((4, 1), 3)}, has_gradient=False)
    yield Case("accuracy", {"Out": floats(64, 1), "Indices": Integers((64, 1), 4),
                            "Label": Integers((64, 1), 4)}, has_gradient=False)
    for k in (1, 2, 5):
        yield Case("top_k", {"X": floats(4, 5)}, {"k": k})
        yield Case("top_k_v2", {"X": floats(4, 5)}, {"k": k})
    yield Case("top_k_v2", {"X": floats(4, 5)}, {"k": 2, "largest": False})
    yield Case("top_k_v2", {"X": floats(4, 5, 3)}, {"k": 2, "axis": 1})
    yield Case("arg_max", {"X": floats(4, 5)}, {"axis": -1}, has_gradient=False)
    yield Case("arg_max", {"X": floats(4, 5)}, {"axis": 1, "dtype": _INT32}, has_gradient=False)
    yield Case("arg_max", {"X": floats(4, 5, 3)}, {"axis": 1, "keepdims": True},
               has_gradient=False)
    for attributes in ({}, {"descending": True}, {"axis": 0}):
        yield Case("argsort", {"X": floats(4, 5)}, attributes)
