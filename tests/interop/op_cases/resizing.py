"""Resizing of images: every method, from every source of sizes."""

from op_case import ROUNDED, Case, Values, floats

TOLERANCE = ROUNDED

_DEPENDS = "want what shapes and constants decide"
# Op types with the spatial axes of their images.
_METHODS = {"nearest": (2,), "linear": (1,), "bilinear": (2,), "trilinear": (3,), "bicubic": (2,)}


def _image(axes, channels_last, sizes=(4, 5, 7)):
    spatial = sizes[-axes:]
    return floats(2, *spatial, 3) if channels_last else floats(2, 3, *spatial)


def _size_attributes(sizes):
    return dict(zip(("out_w", "out_h", "out_d"), reversed(sizes)))


def _resize(method, is_v2, axes, attributes, channels_last=False, sizes=(4, 5, 7), **inputs):
    op = f"{method}_interp" + ("_v2" if is_v2 else "")
    slots = {"X": _image(axes, channels_last, sizes)}
    slots.update(inputs.pop("slots", {}))
    return Case(op, slots, {"interp_method": method, **attributes,
                            "data_layout": "NHWC" if channels_last else "NCHW"}, **inputs)


def _corners(method):
    """Which positions an output element has in the input."""
    yield {"align_corners": True}
    modes = (0, 1) if method in ("linear", "bilinear", "trilinear") else (1,)
    for mode in modes:
        yield {"align_corners": False, "align_mode": mode}


def _by_size():
    outputs = {1: ((14,), (3,), (1,), (7,)), 2: ((10, 14), (2, 3), (1, 1), (5, 9), (8, 7)),
               3: ((8, 10, 14), (2, 3, 4), (1, 1, 1), (5, 5, 9))}
    for method, all_axes in _METHODS.items():
        for axes in all_axes:
            for is_v2 in (False, True):
                for corners in _corners(method):
                    for sizes in outputs[axes]:
                        for channels_last in (False, True):
                            yield _resize(method, is_v2, axes,
                                          {**corners, **_size_attributes(sizes)}, channels_last)


def _by_scale():
    for method, all_axes in _METHODS.items():
        for axes in all_axes:
            for corners in _corners(method):
                for scale in (2.0, 1.7, 0.5, 1.0):
                    yield _resize(method, False, axes, {**corners, "scale": scale})
                    yield _resize(method, True, axes, {**corners, "scale": [scale] * axes})
    for scales in ([2.0, 3.0], [1.3, 0.7], [3.0, 1.0]):
        for method in ("nearest", "bilinear", "bicubic"):
            yield _resize(method, True, 2, {"align_corners": False, "scale": scales})
            yield _resize(method, True, 2, {"align_corners": False, "scale": scales},
                          channels_last=True)
    # YOLOv3's and PP-OCR's.
    yield _resize("nearest", False, 2, {"align_corners": True, "scale": 2.0}, sizes=(1, 19, 19))
    yield _resize("nearest", True, 2, {"align_corners": False, "scale": [2.0, 2.0]},
                  sizes=(1, 20, 12))


def _by_tensors():
    size = Values([9, 6], "int32")
    sizes = [Values([9], "int32"), Values([6], "int32")]
    for method in ("nearest", "bilinear", "bicubic"):
        for is_v2 in (False, True):
            for slots, out in (({"OutSize": size}, (9, 6)), ({"SizeTensor": sizes}, (9, 6)),
                               ({"OutSize": Values([3, 4], "int32"), "SizeTensor": sizes}, (9, 6)),
                               ({"Scale": Values([1.7])}, (8, 11))):
                yield _resize(method, is_v2, 2, {"align_corners": False, "out_h": 2, "out_w": 3},
                              slots=slots, executor_refuses=_DEPENDS,
                              gradients={"Out": floats(2, 3, *out)})
    yield _resize("bilinear", True, 2, {"align_corners": False},
                  slots={"Scale": Values([2.0, 1.5])}, executor_refuses=_DEPENDS,
                  gradients={"Out": floats(2, 3, 10, 10)})


def cases():
    for family in (_by_size, _by_scale, _by_tensors):
        yield from family()
