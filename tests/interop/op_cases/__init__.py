"""Which ops are compared, with what they read: a module for each family of ops."""

from op_cases import (activations, boxes, convolutions, elementwise, filling, grids, losses,
                      normalization, optimizers, places, pooling, products, quantizers, recurrent,
                      reductions, repetitions, resizing, sequence_rows, sequences, shapes, tagging)

FAMILIES = (activations, boxes, convolutions, elementwise, filling, grids, losses, normalization,
            optimizers, places, pooling, products, quantizers, recurrent, reductions, repetitions,
            resizing, sequence_rows, sequences, shapes, tagging)


def all_cases():
    """Pairs of a case and how far results may be apart."""
    for family in FAMILIES:
        for case in family.cases():
            yield case, family.TOLERANCE
