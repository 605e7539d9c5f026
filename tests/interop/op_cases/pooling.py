"""Pooling in all forms."""

from op_case import SUMMED, Case, floats

TOLERANCE = SUMMED


def _pool2d(kind, shape, **attributes):
    attributes.setdefault("ksize", [2, 2])
    return Case("pool2d", {"X": floats(*shape)}, dict(attributes, pooling_type=kind))


def cases():
    for kind in ("max", "avg"):
        yield _pool2d(kind, (2, 3, 6, 6), strides=[2, 2])
        yield _pool2d(kind, (2, 3, 6, 5))
        yield _pool2d(kind, (2, 3, 7, 7), ksize=[3, 3], strides=[2, 2], paddings=[1, 1])
        yield _pool2d(kind, (1, 16, 8, 8), ksize=[3, 3], strides=[2, 2], paddings=[1, 1])
        yield _pool2d(kind, (2, 3, 7, 6), ksize=[3, 2], strides=[2, 1], paddings=[1, 0])
        yield _pool2d(kind, (1, 2, 6, 6), ksize=[3, 3], strides=[2, 2], paddings=[1, 0, 0, 1])
        yield _pool2d(kind, (1, 2, 7, 6), ksize=[3, 3], strides=[2, 2], ceil_mode=True)
        yield _pool2d(kind, (1, 2, 4, 4), ksize=[3, 3], strides=[2, 2], paddings=[1, 1],
                      ceil_mode=True)
        yield _pool2d(kind, (2, 3, 5, 4), global_pooling=True)
        yield _pool2d(kind, (2, 3, 5, 4), global_pooling=True, paddings=[1, 1])
        yield _pool2d(kind, (2, 3, 8, 8), ksize=[1, 1], adaptive=True)
        yield _pool2d(kind, (2, 3, 8, 6), ksize=[4, 3], adaptive=True)
        yield _pool2d(kind, (2, 3, 7, 5), ksize=[3, 4], adaptive=True)
        for algorithm in ("SAME", "VALID"):
            yield _pool2d(kind, (1, 2, 7, 6), ksize=[3, 2], strides=[2, 2],
                          padding_algorithm=algorithm)
        yield _pool2d(kind, (2, 6, 5, 3), data_format="NHWC", strides=[2, 1])
        yield _pool2d(kind, (1, 7, 6, 4), data_format="NHWC", ksize=[3, 2], strides=[2, 2],
                      paddings=[1, 0], ceil_mode=True)
        yield _pool2d(kind, (2, 5, 4, 3), data_format="NHWC", global_pooling=True)
        yield _pool2d(kind, (2, 8, 6, 3), data_format="NHWC", ksize=[3, 4], adaptive=True)
    yield _pool2d("avg", (2, 3, 7, 7), ksize=[3, 3], strides=[2, 2], paddings=[1, 1],
                  exclusive=False)
    yield _pool2d("avg", (1, 2, 4, 4), ksize=[3, 3], strides=[2, 2], paddings=[1, 1],
                  exclusive=False, ceil_mode=True)
    yield _pool2d("avg", (1, 2, 6, 6), ksize=[3, 3], strides=[2, 2], paddings=[1, 0, 0, 1],
                  exclusive=False)
    yield _pool2d("avg", (1, 2, 7, 6), ksize=[3, 3], strides=[2, 2], padding_algorithm="SAME",
                  exclusive=False)
