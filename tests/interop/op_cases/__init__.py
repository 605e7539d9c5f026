"""Which ops are compared, with what they read: a module for each family of ops."""

from op_cases import (activations, boxes, convolutions, detectors, einsums, elementwise, filling,
                      grids, int8_runtime, loss_scaling, losses, normalization, optimizers, places,
                      pooling, products, quantizers, recurrent, reductions, repetitions, resizing,
                      searches, sequence_rows, sequences, shapes, tagging, volumes)

FAMILIES = (activations, boxes, convolutions, detectors, einsums, elementwise, filling, grids,
            int8_runtime, loss_scaling, losses, normalization, optimizers, places, pooling,
            products, quantizers, recurrent, reductions, repetitions, resizing, searches,
            sequence_rows, sequences, shapes, tagging, volumes)


def all_cases():
    """Pairs of a case and how far results may be apart."""
    for family in FAMILIES:
        for case in family.cases():
            yield case, family.TOLERANCE
