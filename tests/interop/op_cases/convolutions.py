"""Convolutions: groups, dilations, strides and paddings of each kind."""

from op_case import SUMMED, Case, floats

TOLERANCE = SUMMED


def _conv2d(image, weights, op="conv2d", **attributes):
    return Case(op, {"Input": floats(*image), "Filter": floats(*weights)}, attributes)


def _depthwise(image, weights, **attributes):
    channels = image[3] if attributes.get("data_format") == "NHWC" else image[1]
    return _conv2d(image, weights, "depthwise_conv2d", groups=channels, **attributes)


def _transposed(image, weights, op="conv2d_transpose", **attributes):
    return _conv2d(image, weights, op, **attributes)


def cases():
    yield _conv2d((2, 3, 5, 5), (4, 3, 3, 3))
    yield _conv2d((2, 3, 6, 5), (4, 3, 3, 3), paddings=[1, 1])
    yield _conv2d((2, 16, 8, 8), (16, 16, 3, 3), paddings=[1, 1])
    yield _conv2d((1, 3, 7, 8), (8, 3, 5, 3), paddings=[2, 1], strides=[2, 1])
    yield _conv2d((1, 3, 9, 9), (8, 3, 3, 3), paddings=[1, 1], strides=[2, 2])
    yield _conv2d((1, 3, 9, 9), (8, 3, 3, 3), paddings=[0, 1, 2, 1], strides=[2, 2])
    yield _conv2d((2, 3, 7, 7), (4, 3, 3, 3), paddings=[1, 0, 0, 2])
    yield _conv2d((1, 2, 9, 8), (3, 2, 3, 3), dilations=[2, 2], paddings=[2, 2])
    yield _conv2d((1, 2, 9, 9), (3, 2, 3, 2), dilations=[1, 3], strides=[1, 2])
    yield _conv2d((2, 8, 4, 4), (16, 8, 1, 1))
    yield _conv2d((2, 8, 5, 4), (16, 8, 1, 1), strides=[2, 2])
    yield _conv2d((1, 1, 28, 28), (6, 1, 5, 5), paddings=[2, 2])
    yield _conv2d((1, 3, 1, 7), (2, 3, 1, 3))
    yield _conv2d((3, 2, 3, 3), (5, 2, 3, 3))
    for groups in (2, 4):
        yield _conv2d((2, 8, 5, 5), (8, 8 // groups, 3, 3), groups=groups, paddings=[1, 1])
    yield _conv2d((1, 6, 7, 7), (9, 2, 3, 3), groups=3, strides=[2, 2], paddings=[1, 0, 1, 0],
                  dilations=[2, 1])
    for algorithm in ("SAME", "VALID"):
        for strides in ([1, 1], [2, 2], [3, 2]):
            yield _conv2d((1, 2, 7, 8), (3, 2, 3, 2), padding_algorithm=algorithm, strides=strides)
    yield _conv2d((1, 2, 8, 8), (3, 2, 3, 3), padding_algorithm="VALID", dilations=[2, 2],
                  paddings=[1, 1])
    yield _conv2d((2, 5, 6, 3), (4, 3, 3, 3), data_format="NHWC", paddings=[1, 1])
    yield _conv2d((1, 6, 7, 4), (4, 2, 3, 2), data_format="NHWC", groups=2, strides=[2, 1])

    for algorithm in ("SAME", "VALID"):
        yield _conv2d((2, 8, 7, 3), (4, 3, 3, 2), data_format="NHWC", padding_algorithm=algorithm,
                      strides=[2, 1])
    yield _conv2d((1, 9, 8, 2), (3, 2, 3, 3), data_format="NHWC", dilations=[2, 1],
                  paddings=[1, 0, 2, 1])

    yield _depthwise((2, 4, 6, 6), (4, 1, 3, 3))
    yield _depthwise((2, 4, 6, 6), (4, 1, 3, 3), paddings=[1, 1])
    yield _depthwise((1, 16, 9, 9), (16, 1, 3, 3), paddings=[1, 1], strides=[2, 2])
    yield _depthwise((1, 4, 9, 9), (8, 1, 3, 3), paddings=[1, 1], strides=[2, 2])
    yield _depthwise((1, 3, 9, 8), (3, 1, 5, 3), paddings=[2, 1], strides=[1, 2])
    yield _depthwise((1, 4, 8, 8), (4, 1, 3, 3), paddings=[2, 2], dilations=[2, 2])
    yield _depthwise((1, 4, 8, 8), (4, 1, 3, 3), padding_algorithm="SAME", strides=[2, 2])
    yield _depthwise((1, 4, 8, 7), (4, 1, 3, 3), padding_algorithm="VALID", strides=[2, 1])
    yield _depthwise((1, 4, 8, 8), (4, 1, 3, 3), paddings=[0, 1, 0, 1], strides=[2, 2])

    yield _depthwise((2, 6, 5, 4), (4, 1, 3, 3), data_format="NHWC", paddings=[1, 1])
    yield _depthwise((1, 9, 9, 4), (8, 1, 3, 3), data_format="NHWC", paddings=[1, 1],
                     strides=[2, 2])

    yield _transposed((2, 3, 4, 4), (3, 4, 3, 3))
    yield _transposed((2, 3, 4, 4), (3, 4, 3, 3), strides=[2, 2], paddings=[1, 1])
    yield _transposed((1, 3, 5, 4), (3, 2, 2, 3), strides=[2, 3])
    yield _transposed((1, 4, 4, 4), (4, 2, 3, 3), groups=2, strides=[2, 2])
    yield _transposed((1, 3, 4, 4), (3, 2, 3, 3), dilations=[2, 2])
    yield _transposed((1, 3, 4, 5), (3, 2, 3, 3), paddings=[0, 1, 1, 0])
    yield _transposed((1, 3, 4, 4), (3, 2, 3, 3), strides=[2, 2], paddings=[1, 1],
                      output_size=[8, 8])
    yield _transposed((1, 3, 4, 4), (3, 2, 3, 3), strides=[2, 2], paddings=[1, 1],
                      output_padding=[1, 1])
    yield _transposed((1, 3, 4, 4), (3, 2, 3, 3), strides=[2, 2], padding_algorithm="SAME")
    yield _transposed((1, 3, 4, 4), (3, 2, 3, 3), strides=[2, 2], padding_algorithm="VALID")
    yield _transposed((2, 4, 5, 3), (3, 4, 3, 3), data_format="NHWC", strides=[2, 2],
                      paddings=[1, 0])
    yield _transposed((1, 4, 5, 5), (4, 1, 3, 3), "depthwise_conv2d_transpose", groups=4,
                      strides=[2, 2], paddings=[1, 1])
