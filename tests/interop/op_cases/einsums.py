"""Sums of products along named axes."""

from op_case import SUMMED, Case, floats

TOLERANCE = SUMMED

_ONE = (("ij->ji", (3, 4)), ("ijk->kij", (2, 3, 4)), ("ij->i", (3, 5)), ("ij->j", (3, 5)),
        ("ijk->ik", (2, 3, 4)))
_TWO = (("ij,jk->ik", (3, 4), (4, 5)), ("ij,kj->ik", (3, 4), (5, 4)),
        ("bij,bjk->bik", (2, 3, 4), (2, 4, 5)), ("bhqd,bhkd->bhqk", (2, 2, 3, 4), (2, 2, 5, 4)),
        ("bqhd,bkhd->bhqk", (2, 3, 2, 4), (2, 5, 2, 4)), ("i,j->ij", (3,), (4,)),
        ("ij,ij->ij", (3, 4), (3, 4)), ("bij,jk->bik", (2, 3, 4), (4, 5)),
        ("ijk,jil->kl", (2, 3, 4), (3, 2, 5)), ("...ij,...jk->...ik", (2, 3, 4), (2, 4, 5)))


def cases():
    for equation, *shapes in _ONE + _TWO:
        count = len(shapes)
        yield Case("einsum", {"Operands": [floats(*shape) for shape in shapes]},
                   {"equation": equation}, counts={"InnerCache": count, "XShape": count},
                   ignored=("InnerCache", "XShape"))
