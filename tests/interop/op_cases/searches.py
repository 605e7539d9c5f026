"""Searches with beams, and rows that a mask divides."""

from op_case import ROUNDED, Case, Cut, Integers, Values, floats

TOLERANCE = ROUNDED

# Sources, and prefixes with a row each.
_SOURCES = (((0, 4), (0, 1, 2, 3, 4)), ((0, 1, 4), (0, 1, 2, 3, 4)), ((0, 2, 4), (0, 1, 2, 3, 4)))


def _steps():
    for lod in _SOURCES:
        for beam_size in (1, 2, 4):
            for last in ([5, 6, 7, 8], [5, 1, 7, 1]):
                given = {"pre_ids": Values([[one] for one in last], "int64"),
                         "pre_scores": floats(4, 1)}
                yield Case("beam_search",
                           {**given, "ids": Integers((4, 3), 9), "scores": Cut(floats(4, 3), lod)},
                           {"level": 0, "beam_size": beam_size, "end_id": 1},
                           counts={"parent_idx": 1}, has_gradient=False)
                yield Case("beam_search",
                           {**given, "scores": Cut(floats(4, 5, low=0.01, high=1), lod)},
                           {"level": 0, "beam_size": beam_size, "end_id": 1,
                            "is_accumulated": False},
                           counts={"parent_idx": 1}, has_gradient=False)


def _trees():
    for dtype, shape in (("int32", (1, 2, 3)), ("int32", (4, 1, 2)), ("int64", (6, 3, 4)),
                         ("int64", (3, 2, 1))):
        yield Case("gather_tree", {"Ids": Integers(shape, 20, dtype),
                                   "Parents": Integers(shape, shape[2], dtype)},
                   has_gradient=False)


def _masked():
    mask = Values([[True], [False], [True], [True]], "bool")
    for width in ((1,), (3,), (2, 3)):
        yield Case("split_lod_tensor", {"X": floats(4, *width), "Mask": mask}, {"level": 0},
                   has_gradient=False)
        yield Case("merge_lod_tensor",
                   {"X": floats(4, 1), "Mask": mask, "InTrue": floats(3, *width),
                    "InFalse": floats(1, *width)}, {"level": 0}, has_gradient=False)
    x = Cut(floats(7, 2), ((0, 2, 3, 5, 7),))
    yield Case("split_lod_tensor", {"X": x, "Mask": mask}, {"level": 0}, has_gradient=False)
    yield Case("merge_lod_tensor",
               {"X": x, "Mask": mask, "InTrue": Cut(floats(6, 2), ((0, 2, 4, 6),)),
                "InFalse": Cut(floats(1, 2), ((0, 1),))}, {"level": 0}, has_gradient=False)


def cases():
    yield from _steps()
    yield from _trees()
    yield from _masked()
