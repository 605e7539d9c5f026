"""Normalizations, in training and in test."""

from op_case import SUMMED, Case, floats

TOLERANCE = SUMMED


def _batch_norm(shape, channels, ignored=(), **attributes):
    return Case("batch_norm",
                {"X": floats(*shape, low=-2, high=3), "Scale": floats(channels, low=0.5, high=2),
                 "Bias": floats(channels), "Mean": floats(channels),
                 "Variance": floats(channels, low=0.5, high=2)},
                # 2.6.2 wants a place for it wherever it trains.
                attributes, counts={"ReserveSpace": 1}, ignored=ignored)


def _layer_norm(shape, weights, slots=("Scale", "Bias"), **attributes):
    return Case("layer_norm",
                {"X": floats(*shape, low=-2, high=3),
                 **{slot: floats(weights, low=0.5, high=2) for slot in slots}}, attributes)


def _group_norm(shape, slots, **attributes):
    channels = shape[-1] if attributes.get("data_layout") == "NHWC" else shape[1]
    return Case("group_norm", {"X": floats(*shape), **{slot: floats(channels) for slot in slots}},
                attributes)


def cases():
    # In test the saved statistics are not written.
    saved = ("SavedMean", "SavedVariance")
    for shape in ((4, 3, 5, 5), (2, 16, 4, 4), (8, 6)):
        yield _batch_norm(shape, shape[1])
        yield _batch_norm(shape, shape[1], epsilon=1e-3, momentum=0.7)
        yield _batch_norm(shape, shape[1], saved, is_test=True)
        yield _batch_norm(shape, shape[1], saved, use_global_stats=True)
        yield _batch_norm(shape, shape[1], is_test=True, trainable_statistics=True)
    yield _batch_norm((1, 3, 4, 4), 3)
    yield _batch_norm((4, 5, 5, 3), 3, data_layout="NHWC")
    yield _batch_norm((8, 6), 6, data_layout="NHWC")
    yield _batch_norm((4, 5, 5, 3), 3, saved, data_layout="NHWC", is_test=True)
    yield _batch_norm((4, 5, 5, 3), 3, saved, data_layout="NHWC", use_global_stats=True)

    yield _layer_norm((4, 6), 6)
    yield _layer_norm((2, 3, 8), 8, begin_norm_axis=2)
    yield _layer_norm((2, 3, 8), 24, begin_norm_axis=1)
    yield _layer_norm((2, 3, 4, 5), 20, begin_norm_axis=2, epsilon=1e-3)
    yield _layer_norm((4, 6), 6, ())
    yield _layer_norm((4, 6), 6, ("Scale",))
    yield _layer_norm((4, 6), 6, ("Bias",))
    yield _layer_norm((3, 300), 300)

    for slots in (("Scale", "Bias"), ()):
        yield Case("instance_norm",
                   {"X": floats(2, 3, 4, 5), **{slot: floats(3) for slot in slots}},
                   refused="" if slots else "input Scale is absent")
        yield _group_norm((2, 6, 4, 5), slots, groups=3)
    yield _group_norm((2, 4, 5, 6), ("Scale", "Bias"), groups=2, data_layout="NHWC")
