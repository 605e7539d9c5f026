"""Which ops are compared, with what they read: a module for each family of ops."""

from op_cases import (activations, boxes, convolutions, elementwise, filling, losses, normalization,
                      optimizers, pooling, products, quantizers, reductions, repetitions, sequences,
                      shapes)

FAMILIES = (activations, boxes, convolutions, elementwise, filling, losses, normalization, optimizers,
            pooling, products, quantizers, reductions, repetitions, sequences, shapes)


def all_cases():
    """Pairs of a case and how far results may be apart."""
    for family in FAMILIES:
        for case in family.cases():
            yield case, family.TOLERANCE
