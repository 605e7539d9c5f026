"""Tags of sequences, labels that are not aligned, and distances between sequences."""

import itertools

from op_case import SUMMED, Case, Cut, Integers, Values, floats

TOLERANCE = SUMMED

# Offsets of nine rows.
_CUTS = (((0, 3, 4, 9),), ((0, 9),), ((0, 1, 2, 3, 4, 5, 6, 7, 8, 9),))
_SCRATCH = ("Alpha", "EmissionExps", "TransitionExps")


def _random_fields():
    for lod, tags in itertools.product(_CUTS, (2, 3, 5, 17)):
        emission = Cut(floats(9, tags), lod)
        transition = floats(tags + 2, tags)
        labels = Cut(Integers((9, 1), tags), lod)
        sequences = len(lod[0]) - 1
        yield Case("linear_chain_crf",
                   {"Emission": emission, "Transition": transition, "Label": labels},
                   gradients={"LogLikelihood": floats(sequences, 1)}, ignored=_SCRATCH)
        yield Case("crf_decoding", {"Emission": emission, "Transition": transition},
                   has_gradient=False)
        yield Case("crf_decoding",
                   {"Emission": emission, "Transition": transition, "Label": labels},
                   has_gradient=False)
    for lengths, tags in itertools.product(([4, 4, 4], [1, 4, 2], [3, 2, 1]), (2, 3, 9)):
        given = {"Emission": floats(3, 4, tags), "Transition": floats(tags + 2, tags),
                 "Length": Values([[one] for one in lengths], "int64")}
        yield Case("linear_chain_crf", {**given, "Label": Integers((3, 4), tags)},
                   gradients={"LogLikelihood": floats(3, 1)}, ignored=_SCRATCH)
        yield Case("crf_decoding", given, has_gradient=False)


def _paths():
    for lengths, tags, has_ends in itertools.product(
            ([4, 4, 4], [1, 4, 2], [3, 2, 1]), (3, 8), (True, False)):
        yield Case("viterbi_decode",
                   {"Input": floats(3, 4, tags), "Transition": floats(tags, tags),
                    "Length": Values(lengths, "int64")}, {"include_bos_eos_tag": has_ends},
                   has_gradient=False)


def _distances():
    for normalized in (False, True):
        for hyps, refs in (((0, 2, 5), (0, 3, 4)), ((0, 1, 5), (0, 2, 4)), ((0, 4, 5), (0, 1, 4))):
            yield Case("edit_distance",
                       {"Hyps": Cut(Integers((5, 1), 3), (hyps,)),
                        "Refs": Cut(Integers((4, 1), 3), (refs,))},
                       {"normalized": normalized}, has_gradient=False)
        for lengths in ([3, 4], [1, 2]):
            yield Case("edit_distance",
                       {"Hyps": Integers((2, 5), 4), "Refs": Integers((2, 6), 4),
                        "HypsLength": Values(lengths, "int64"),
                        "RefsLength": Values([5, 1], "int64")},
                       {"normalized": normalized}, has_gradient=False)


def _aligned():
    for merge, blank in itertools.product((True, False), (0, 1)):
        attributes = {"blank": blank, "merge_repeated": merge, "padding_value": 0}
        for lod in _CUTS:
            yield Case("ctc_align", {"Input": Cut(Integers((9, 1), 3, "int32"), lod)}, attributes,
                       has_gradient=False,
                       executor_refuses="how many tokens are kept is computed in the run")
        for lengths in ([6, 6], [3, 5]):
            yield Case("ctc_align",
                       {"Input": Integers((2, 6), 3, "int32"),
                        "InputLength": Values([[one] for one in lengths], "int32")},
                       {**attributes, "padding_value": 7}, counts={"OutputLength": 1},
                       has_gradient=False)


def _losses():
    for by_times, classes in itertools.product((False, True), (3, 6, 33)):
        for blank in (0, classes - 1):
            low = 1 if blank == 0 else 0
            attributes = {"blank": blank, "norm_by_times": by_times}
            labels = [[low], [low + 1], [low], [low + 1]]
            yield Case("warpctc",
                       {"Logits": Cut(floats(9, classes), ((0, 3, 4, 9),)),
                        "Label": Cut(Values(labels, "int32"), ((0, 1, 2, 4),))}, attributes,
                       gradients={"Loss": floats(3, 1)}, ignored=("WarpCTCGrad",))
            yield Case("warpctc",
                       {"Logits": floats(6, 3, classes),
                        "Label": Values([[low, low + 1], [low + 1, low + 1], [low, low]], "int32"),
                        "LogitsLength": Values([6, 4, 3], "int64"),
                        "LabelLength": Values([2, 2, 1], "int64")}, attributes,
                       gradients={"Loss": floats(3, 1)}, ignored=("WarpCTCGrad",))


def cases():
    yield from _random_fields()
    yield from _paths()
    yield from _distances()
    yield from _aligned()
    yield from _losses()
