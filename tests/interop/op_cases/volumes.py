"""Convolution and pooling of volumes, maxima with their places, and local response normalization."""

from op_case import SUMMED, Case, Values, floats

TOLERANCE = SUMMED


def _convolution(volume, weights, op="conv3d", **attributes):
    return Case(op, {"Input": floats(*volume), "Filter": floats(*weights)}, attributes)


def _convolutions():
    yield _convolution((2, 3, 4, 5, 6), (4, 3, 3, 3, 3))
    yield _convolution((2, 3, 4, 5, 6), (4, 3, 3, 2, 1), paddings=[1, 0, 2], strides=[2, 1, 3])
    yield _convolution((1, 16, 4, 6, 6), (16, 16, 3, 3, 3), paddings=[1, 1, 1])
    yield _convolution((1, 2, 5, 6, 7), (3, 2, 2, 3, 2), paddings=[0, 1, 2, 0, 1, 1])
    yield _convolution((1, 2, 7, 6, 5), (3, 2, 3, 2, 2), dilations=[2, 1, 3])
    yield _convolution((2, 8, 3, 4, 4), (16, 8, 1, 1, 1))
    for groups in (2, 4):
        yield _convolution((2, 4, 3, 4, 4), (8, 4 // groups, 2, 3, 3), groups=groups)
    for algorithm in ("SAME", "VALID"):
        yield _convolution((1, 2, 5, 6, 4), (3, 2, 3, 2, 3), padding_algorithm=algorithm,
                           strides=[2, 1, 2])
    yield _convolution((2, 4, 5, 4, 3), (4, 3, 2, 3, 3), data_format="NDHWC", paddings=[1, 0, 1])
    yield _convolution((1, 4, 4, 4, 4), (6, 2, 2, 2, 2), data_format="NDHWC", groups=2,
                       strides=[1, 2, 1])

    def transposed(volume, weights, **attributes):
        return _convolution(volume, weights, "conv3d_transpose", **attributes)
    yield transposed((2, 3, 3, 4, 4), (3, 4, 3, 3, 3))
    yield transposed((2, 3, 3, 2, 4), (3, 2, 2, 3, 2), strides=[2, 2, 1], paddings=[1, 1, 0])
    yield transposed((1, 4, 3, 3, 2), (4, 2, 3, 3, 3), groups=2, strides=[2, 2, 2])
    yield transposed((1, 2, 3, 3, 3), (2, 2, 2, 3, 2), dilations=[2, 1, 1])
    yield transposed((1, 3, 3, 3, 3), (3, 2, 3, 3, 3), strides=[2, 2, 2], paddings=[1, 1, 1],
                     output_size=[6, 5, 6])
    yield transposed((1, 3, 3, 3, 3), (3, 2, 3, 3, 3), strides=[2, 2, 2], paddings=[1, 1, 1],
                     output_padding=[1, 0, 1])
    yield transposed((2, 3, 4, 3, 2), (2, 4, 3, 3, 3), data_format="NHWC", strides=[2, 1, 2])


def _pool3d(kind, shape, **attributes):
    attributes.setdefault("ksize", [2, 2, 2])
    return Case("pool3d", {"X": floats(*shape)}, dict(attributes, pooling_type=kind))


def _poolings():
    for kind in ("max", "avg"):
        yield _pool3d(kind, (2, 3, 4, 4, 6), strides=[2, 2, 2])
        yield _pool3d(kind, (1, 2, 5, 6, 5), ksize=[3, 2, 3], strides=[2, 1, 2], paddings=[1, 0, 1])
        yield _pool3d(kind, (1, 2, 5, 6, 4), ksize=[3, 3, 2], strides=[2, 2, 2], ceil_mode=True)
        yield _pool3d(kind, (2, 3, 3, 4, 2), global_pooling=True)
        yield _pool3d(kind, (1, 4, 5, 4, 3), data_format="NDHWC", strides=[2, 1, 2])
        for algorithm in ("SAME", "VALID"):
            yield _pool3d(kind, (1, 2, 5, 6, 4), ksize=[3, 2, 3], strides=[2, 2, 1],
                          padding_algorithm=algorithm)
    yield _pool3d("avg", (2, 3, 5, 6, 4), ksize=[2, 3, 3], adaptive=True)
    yield _pool3d("avg", (1, 2, 5, 5, 5), ksize=[3, 3, 3], strides=[2, 2, 2], paddings=[1, 1, 1],
                  exclusive=False)

    def with_places(op, shape, **attributes):
        return Case(op, {"X": floats(*shape)}, attributes)
    for op, shape, axes in (("max_pool2d_with_index", (2, 3, 6, 7), 2),
                            ("max_pool3d_with_index", (2, 2, 4, 5, 6), 3)):
        yield with_places(op, shape, ksize=[2] * axes, strides=[2] * axes)
        yield with_places(op, shape, ksize=[3] * axes, strides=[1, 2, 2][:axes],
                          paddings=[1, 1, 0][:axes])
        yield with_places(op, shape, ksize=[1] * axes, global_pooling=True)
        yield with_places(op, shape, ksize=[2, 3, 4][:axes], adaptive=True)


def _response_norms():
    yield Case("lrn", {"X": floats(2, 7, 3, 4)})
    yield Case("lrn", {"X": floats(1, 4, 2, 3)}, {"n": 3, "k": 1.0, "alpha": 0.5, "beta": 0.6})
    yield Case("lrn", {"X": floats(2, 3, 2, 6)},
               {"n": 5, "k": 1.5, "alpha": 0.2, "beta": 0.75, "data_format": "NHWC"})
    yield Case("lrn", {"X": floats(1, 5, 2, 2)}, {"n": 1, "k": 0.5, "alpha": 1.0, "beta": 1.0})


def _unpoolings():
    # Places of windows of 2 x 2 that do not overlap.
    places = [[[[0, 3, 13], [16, 27, 28]], [[9, 2, 5], [24, 19, 22]]]]
    inputs = {"X": floats(1, 2, 2, 3), "Indices": Values(places, "int32")}
    for size in ([4, 8], [5, 7]):
        yield Case("unpool", inputs, {"ksize": [2, 2], "strides": [2, 2], "paddings": [0, 0],
                                      "unpooling_type": "max", "output_size": size})


def cases():
    yield from _unpoolings()
    yield from _convolutions()
    yield from _poolings()
    yield from _response_norms()
