"""Ops of detectors: boxes that are placed, coded, matched and suppressed, and regions."""

import dataclasses
import itertools

import numpy
from op_case import SUMMED, Case, Cut, Floats, Integers, Values, floats

TOLERANCE = SUMMED

_VARIANCES = [0.1, 0.1, 0.2, 0.2]


@dataclasses.dataclass(frozen=True)
class Boxes:
    """Boxes [..., 4] in an image of that size, with corners in order but for some."""
    leading: tuple
    size: float = 10
    unordered: bool = False
    whole: bool = False

    @property
    def shape(self):
        return self.leading + (4,)

    def draw(self, generator):
        corners = generator.uniform(0, self.size, self.leading + (2, 2))
        if self.whole:
            corners = numpy.floor(corners)
        if not self.unordered:
            corners = numpy.sort(corners, -2)
        return corners.reshape(self.shape).astype("float32")


@dataclasses.dataclass(frozen=True)
class Scores:
    """Drawn from so many numbers, so that some are equal."""
    shape: tuple
    steps: int = 1000

    def draw(self, generator):
        return (generator.integers(0, self.steps, self.shape) / self.steps).astype("float32")


def _placed():
    images = {"Input": floats(1, 2, 3, 5), "Image": floats(1, 3, 30, 45)}
    for sizes, flip, clip, order in itertools.product(
            (([4.0], []), ([4.0, 9.0], [16.0, 25.0])), (True, False), (True, False),
            (True, False)):
        for ratios in ([2.0], [1.0, 2.0, 3.0], [0.5, 2.0]):
            yield Case("prior_box", images,
                       {"min_sizes": sizes[0], "max_sizes": sizes[1], "aspect_ratios": ratios,
                        "variances": _VARIANCES, "flip": flip, "clip": clip,
                        "min_max_aspect_ratios_order": order})
    for step_w, step_h, offset in ((0.0, 0.0, 0.0), (8.0, 0.0, 0.5), (0.0, 8.0, 0.5),
                                   (8.0, 6.0, 0.5), (8.0, 6.0, -0.25), (9.0, 9.0, 1.0)):
        steps = {"step_w": step_w, "step_h": step_h, "offset": offset, "variances": _VARIANCES}
        yield Case("prior_box", images,
                   {"min_sizes": [4.0], "max_sizes": [], "aspect_ratios": [2.0], "flip": True,
                    "clip": False, **steps})
        for flat, clip in itertools.product((True, False), (True, False)):
            yield Case("density_prior_box", images,
                       {"fixed_sizes": [4.0, 10.0], "fixed_ratios": [1.0, 2.0],
                        "densities": [3, 2], "flatten_to_2d": flat, "clip": clip, **steps})
    for sizes, ratios, stride, offset in itertools.product(
            ([32.0], [64.0, 128.0]), ([1.0], [0.5, 1.0, 2.0]), ([16.0, 16.0], [8.0, 12.0]),
            (0.5, 0.0)):
        yield Case("anchor_generator", {"Input": floats(1, 2, 3, 5)},
                   {"anchor_sizes": sizes, "aspect_ratios": ratios, "variances": _VARIANCES,
                    "stride": stride, "offset": offset})


def _coded():
    for normalized, kind in itertools.product((True, False), ("none", "each", "all")):
        each = {"PriorBoxVar": floats(5, 4, low=0.1)} if kind == "each" else {}
        every = {"variance": _VARIANCES} if kind == "all" else {}
        attributes = {"box_normalized": normalized, **every}
        yield Case("box_coder", {"PriorBox": Boxes((5,)), **each, "TargetBox": Boxes((3,))},
                   {"code_type": "encode_center_size", **attributes})
        for axis, shape in ((0, (3, 5, 4)), (1, (5, 3, 4))):
            yield Case("box_coder",
                       {"PriorBox": Boxes((5,)), **each, "TargetBox": floats(*shape)},
                       {"code_type": "decode_center_size", "axis": axis, **attributes})
    for normalized, whole, rows in itertools.product((True, False), (True, False), (1, 7)):
        yield Case("iou_similarity",
                   {"X": Boxes((rows,), whole=whole), "Y": Boxes((5 if whole else 3,), whole=whole)},
                   {"box_normalized": normalized})
    for lod, images in ((((0, 6),), 1), (((0, 2, 6),), 2), (((0, 1, 3, 6),), 3)):
        yield Case("box_clip", {"Input": Cut(floats(6, 4, low=-20, high=60), lod),
                                "ImInfo": Values([[30, 40, 1], [25, 50, 2], [21, 33, 0.7]][:images])})


def _yolo():
    sizes = Values([[300, 200], [128, 256]], "int32")
    for clip, scale, thresh, aware in itertools.product((True, False), (1.0, 1.2), (0.0, 0.3),
                                                        (False, True)):
        for height, width in ((3, 3), (2, 4)):
            yield Case("yolo_box",
                       {"X": floats(2, 2 * (9 if aware else 8), height, width), "ImgSize": sizes},
                       {"anchors": [10, 13, 33, 23], "class_num": 3, "conf_thresh": thresh,
                        "downsample_ratio": 32, "clip_bbox": clip, "scale_x_y": scale,
                        "iou_aware": aware, "iou_aware_factor": 0.4})


def _matched():
    for match, threshold in (("bipartite", 0.5), ("per_prediction", 0.5), ("per_prediction", 0.8)):
        attributes = {"match_type": match, "dist_threshold": threshold}
        for rows, columns in ((4, 6), (6, 3), (1, 5), (7, 7)):
            yield Case("bipartite_match", {"DistMat": floats(rows, columns, low=0)}, attributes)
        yield Case("bipartite_match", {"DistMat": Cut(floats(7, 6, low=0), ((0, 3, 7),))},
                   attributes)
        yield Case("bipartite_match", {"DistMat": Cut(Scores((7, 5), 3), ((0, 2, 3, 7),))},
                   attributes)
    matches = Values([[0, -1, -1, 2, -1, -1], [-1, 1, -1, -1, -1, 0], [-1] * 6], "int32")
    for kind, ratio, threshold, sample in (
            ("max_negative", 1.0, 0.5, 0), ("max_negative", 3.0, 0.5, 0),
            ("max_negative", 1.5, 0.9, 0), ("hard_example", 1.0, 0.5, 2),
            ("hard_example", 1.0, 0.5, 4), ("hard_example", 1.0, 0.5, 20)):
        for located in (False, True):
            losses = {"LocLoss": floats(3, 6, low=0)} if located else {}
            yield Case("mine_hard_examples",
                       {"ClsLoss": floats(3, 6, low=0), **losses, "MatchIndices": matches,
                        "MatchDist": floats(3, 6, low=0)},
                       {"mining_type": kind, "neg_pos_ratio": ratio,
                        "neg_dist_threshold": threshold, "sample_size": sample})


def _suppressed():
    limits = [{"nms_top_k": top, "keep_top_k": keep, "score_threshold": threshold,
               "background_label": background}
              for top, keep, threshold, background in (
                  (-1, -1, 0.1, -1), (4, -1, 0.1, 0), (-1, 5, 0.3, -1), (3, 4, 0.01, 1),
                  (-1, -1, 2.0, -1), (10, 100, 0.5, 0))]
    for op, one in itertools.product(("multiclass_nms", "multiclass_nms2", "multiclass_nms3"),
                                     limits):
        counts = {"NmsRoisNum": 1} if op == "multiclass_nms3" else {}
        for normalized, overlap, eta in ((True, 0.3, 1.0), (False, 0.5, 1.0), (True, 0.7, 0.8)):
            attributes = {**one, "normalized": normalized, "nms_threshold": overlap,
                          "nms_eta": eta}
            yield Case(op, {"BBoxes": Boxes((2, 9)), "Scores": Scores((2, 3, 9))}, attributes,
                       counts)
            yield Case(op, {"BBoxes": Boxes((1, 12), whole=True), "Scores": Scores((1, 2, 12), 4)},
                       attributes, counts)
            regions = {"BBoxes": Boxes((8, 3), unordered=True), "Scores": Scores((8, 3))}
            if op == "multiclass_nms3":
                regions["RoisNum"] = Values([3, 5], "int32")
            else:
                regions = {slot: Cut(value, ((0, 3, 8),)) for slot, value in regions.items()}
            yield Case(op, regions, attributes, counts)
    for one, gaussian, normalized in itertools.product(limits, (True, False), (True, False)):
        for post in (0.0, 0.2):
            yield Case("matrix_nms", {"BBoxes": Boxes((2, 9)), "Scores": Scores((2, 3, 9), 1000003)},
                       {**one, "post_threshold": post, "use_gaussian": gaussian,
                        "gaussian_sigma": 1.5, "normalized": normalized}, {"RoisNum": 1})
    for dtype, last in (("bool", 5), ("int32", 6), ("int64", 4)):
        for leading in ((), (3,), (2, 3)):
            yield Case("where_index", {"Condition": Integers((*leading, last), 2, dtype)})


def _regions():
    inputs = {"X": floats(2, 3, 8, 9), "ROIs": Boxes((5,), 16),
              "RoisNum": Values([2, 3], "int32")}
    for (height, width), scale in itertools.product(((1, 1), (2, 3), (4, 4)), (1.0, 0.5, 0.25)):
        pooled = {"pooled_height": height, "pooled_width": width, "spatial_scale": scale}
        for ratio, aligned in itertools.product((-1, 1, 2), (False, True)):
            # 2.6.2 takes sides of at least 1 in the gradient of aligned regions.
            yield Case("roi_align", inputs, {**pooled, "sampling_ratio": ratio, "aligned": aligned},
                       has_gradient=not aligned)
        yield Case("roi_pool", inputs, pooled)
        yield Case("psroi_pool", {**inputs, "X": floats(2, 3 * height * width, 8, 9)},
                   {**pooled, "output_channels": 3})
    large = {**inputs, "ROIs": Values([[0, 0, 12, 13], [1, 2, 9, 11], [3, 0, 14, 8],
                                       [2.5, 3.25, 10, 9], [0, 1, 15, 15]])}
    for ratio in (-1, 2):
        yield Case("roi_align", large, {"pooled_height": 2, "pooled_width": 2,
                                        "spatial_scale": 0.5, "sampling_ratio": ratio,
                                        "aligned": True})


def _proposals():
    for (before, after), overlap, smallest, eta in itertools.product(
            ((0, 0), (6, 4), (30, 3)), (0.3, 0.7), (0.1, 4.0), (1.0, 0.8)):
        attributes = {"pre_nms_topN": before, "post_nms_topN": after, "nms_thresh": overlap,
                      "min_size": smallest, "eta": eta}
        inputs = {"Scores": floats(2, 2, 3, 4), "BboxDeltas": floats(2, 8, 3, 4),
                  "Anchors": Boxes((3, 4, 2), 30), "Variances": floats(3, 4, 2, 4, low=0.1)}
        yield Case("generate_proposals",
                   {**inputs, "ImInfo": Values([[30, 40, 1], [25, 20, 2]])}, attributes,
                   {"RpnRoisNum": 1})
        for pixels in (True, False):
            yield Case("generate_proposals_v2",
                       {**inputs, "ImShape": Values([[30, 40], [25, 20]])},
                       {**attributes, "pixel_offset": pixels}, {"RpnRoisNum": 1})
    for (least, most, refer), scale, pixels in itertools.product(
            ((2, 5, 4), (1, 1, 1), (0, 3, 2)), (30, 224), (True, False)):
        levels = most - least + 1
        attributes = {"min_level": least, "max_level": most, "refer_level": refer,
                      "refer_scale": scale, "pixel_offset": pixels}
        yield Case("distribute_fpn_proposals",
                   {"FpnRois": Boxes((9,), 300), "RoisNum": Values([4, 5], "int32")}, attributes,
                   {"MultiFpnRois": levels, "MultiLevelRoIsNum": levels})
        yield Case("distribute_fpn_proposals", {"FpnRois": Cut(Boxes((9,), 300), ((0, 4, 9),))},
                   attributes, {"MultiFpnRois": levels})
    # 2.6.2 forgets images without regions.
    for most in (4, 7, 8, 100):
        yield Case("collect_fpn_proposals",
                   {"MultiLevelRois": [Boxes((5,)), Boxes((4,))],
                    "MultiLevelScores": [Scores((5, 1), 1000003), Scores((4, 1), 1000003)],
                    "MultiLevelRoIsNum": [Values([2, 3], "int32"), Values([3, 1], "int32")]},
                   {"post_nms_topN": most}, {"RoisNum": 1})


def _samples():
    for mode, padding, aligns in itertools.product(("bilinear", "nearest"),
                                                   ("zeros", "border", "reflection"),
                                                   (True, False)):
        for x, grid, far in (((2, 3, 4, 5), (2, 3, 2, 2), 1.0), ((1, 2, 6, 3), (1, 4, 5, 2), 2.5)):
            yield Case("grid_sampler",
                       {"X": floats(*x), "Grid": Floats(grid, -far, far)},
                       {"mode": mode, "padding_mode": padding, "align_corners": aligns})
    for groups, offsets, stride, padding, dilation in (
            (1, 1, 1, 0, 1), (2, 1, 1, 1, 1), (1, 2, 2, 1, 1), (2, 2, 1, 2, 2), (4, 4, 2, 0, 1)):
        for kernel in ((3, 3), (2, 1)):
            size = [(7 + 2 * padding - dilation * (k - 1) - 1) // stride + 1 for k in kernel]
            taps = offsets * kernel[0] * kernel[1]
            inputs = {"Input": floats(2, 4, 7, 7), "Offset": floats(2, 2 * taps, *size, low=-2),
                      "Filter": floats(4, 4 // groups, *kernel)}
            attributes = {"strides": [stride] * 2, "paddings": [padding] * 2,
                          "dilations": [dilation] * 2, "groups": groups,
                          "deformable_groups": offsets, "im2col_step": 1}
            yield Case("deformable_conv_v1", inputs, attributes)
            yield Case("deformable_conv", {**inputs, "Mask": floats(2, taps, *size, low=0)},
                       attributes)


def cases():
    yield from _placed()
    yield from _coded()
    yield from _yolo()
    yield from _matched()
    yield from _suppressed()
    yield from _regions()
    yield from _proposals()
    yield from _samples()
