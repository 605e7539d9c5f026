"""What trains detectors, and ops that one kind of detector or of generator has."""

import dataclasses
import itertools

import numpy
from op_case import SUMMED, Case, Cut, Floats, Integers, Values, floats
from op_cases.boxes import Boxes, Scores

TOLERANCE = SUMMED


@dataclasses.dataclass(frozen=True)
class TrueBoxes:
    """Centres and sizes [images, boxes, 4], as parts of the image; the last of each is none."""
    images: int
    boxes: int

    @property
    def shape(self):
        return (self.images, self.boxes, 4)

    def draw(self, generator):
        drawn = generator.uniform(0.02, 0.98, self.shape)
        drawn[..., 2:] *= 0.6
        drawn[:, -1, 2:] = 0
        return drawn.astype("float32")


_TRUTH = ("GTBox", "GTLabel", "GTScore")


def _yolo():
    anchors = [10, 13, 16, 30, 33, 23, 30, 61, 62, 45]
    for mask, smooth, scale, ignore in itertools.product(
            ([0, 1, 2], [3, 4]), (True, False), (1.0, 1.2), (0.7, 0.3)):
        for scored, boxes in ((True, 4), (False, 8)):
            scores = {"GTScore": floats(2, boxes, low=0)} if scored else {}
            yield Case("yolov3_loss",
                       {"X": floats(2, 8 * len(mask), 4, 4, low=-2, high=2),
                        "GTBox": TrueBoxes(2, boxes), "GTLabel": Integers((2, boxes), 3, "int32"),
                        **scores},
                       {"anchors": anchors, "anchor_mask": mask, "class_num": 3,
                        "ignore_thresh": ignore, "downsample_ratio": 32,
                        "use_label_smooth": smooth, "scale_x_y": scale},
                       constant=_TRUTH)
    # Two boxes in one cell, of which the last decides; and one of no class.
    yield Case("yolov3_loss",
               {"X": floats(1, 14, 2, 2),
                "GTBox": Values([[[0.3, 0.3, 0.2, 0.3], [0.4, 0.2, 0.25, 0.25]]]),
                "GTLabel": Values([[1, 7]], "int32")},
               {"anchors": [10, 13, 16, 30], "anchor_mask": [0, 1], "class_num": 2,
                "ignore_thresh": 0.5, "downsample_ratio": 32}, constant=_TRUTH)


def _suppressed():
    for top, keep, threshold, background in ((-1, -1, 0.1, -1), (4, -1, 0.1, 0), (-1, 5, 0.3, -1),
                                             (3, 4, 0.01, 1), (-1, -1, 9.0, -1), (10, 100, 0.5, 0)):
        limits = {"nms_top_k": top, "keep_top_k": keep, "score_threshold": threshold}
        for normalized, overlap, eta in ((True, 0.3, 1.0), (False, 0.2, 1.0), (True, 0.6, 0.8)):
            attributes = {**limits, "background_label": background, "normalized": normalized,
                          "nms_threshold": overlap, "nms_eta": eta}
            yield Case("locality_aware_nms",
                       {"BBoxes": Boxes((2, 9)), "Scores": Scores((2, 3, 9))}, attributes)
            yield Case("locality_aware_nms",
                       {"BBoxes": Boxes((1, 12), whole=True), "Scores": Scores((1, 2, 12), 4)},
                       attributes)
    for top, keep, threshold, overlap, eta in ((-1, 100, 0.1, 0.3, 1.0), (5, 100, 0.1, 0.5, 1.0),
                                               (20, 4, 0.5, 0.3, 1.0), (20, 9, 0.9, 0.7, 0.8)):
        yield Case("retinanet_detection_output",
                   {"BBoxes": [floats(2, 6, 4), floats(2, 3, 4)],
                    "Scores": [Scores((2, 6, 3), 1000003), Scores((2, 3, 3), 1000003)],
                    "Anchors": [Boxes((6,), 30), Boxes((3,), 40)],
                    "ImInfo": Values([[40, 50, 1], [30, 25, 1.5]])},
                   {"nms_top_k": top, "keep_top_k": keep, "score_threshold": threshold,
                    "nms_threshold": overlap, "nms_eta": eta})


def _targets():
    truth = {"GtBoxes": Cut(Boxes((5,), 30), ((0, 2, 5),)),
             "IsCrowd": Cut(Values([[0], [0], [0], [1], [0]], "int32"), ((0, 2, 5),)),
             "ImInfo": Values([[40, 50, 1], [30, 35, 0.5]])}
    anchors = {"Anchor": Boxes((40,), 40)}
    for batch, straddle, part in itertools.product((256, 6), (-1.0, 0.0, 3.0), (0.25, 0.5)):
        for positive, negative in ((0.7, 0.3), (0.3, 0.5)):
            yield Case("rpn_target_assign", {**anchors, **truth},
                       {"rpn_batch_size_per_im": batch, "rpn_straddle_thresh": straddle,
                        "rpn_fg_fraction": part, "rpn_positive_overlap": positive,
                        "rpn_negative_overlap": negative, "use_random": False})
    # The reference multiplies in float: 0.7 of 10 are 7.
    yield Case("rpn_target_assign", {**anchors, **truth},
               {"rpn_batch_size_per_im": 10, "rpn_straddle_thresh": -1.0, "rpn_fg_fraction": 0.7,
                "rpn_positive_overlap": 0.1, "rpn_negative_overlap": 0.1, "use_random": False})
    labels = {"GtLabels": Cut(Integers((5, 1), 9, "int32"), ((0, 2, 5),))}
    for positive, negative in ((0.5, 0.4), (0.2, 0.1), (0.2, 0.5)):
        yield Case("retinanet_target_assign", {**anchors, **truth, **labels},
                   {"positive_overlap": positive, "negative_overlap": negative})


def _proposal_labels():
    truth = {"GtClasses": Cut(Integers((5, 1), 4, "int32"), ((0, 2, 5),)),
             "IsCrowd": Cut(Values([[0], [0], [0], [1], [0]], "int32"), ((0, 2, 5),)),
             "GtBoxes": Cut(Boxes((5,), 30), ((0, 2, 5),)),
             "ImInfo": Values([[40, 50, 1], [30, 35, 0.5]])}
    proposals = {"RpnRois": Cut(Boxes((20,), 30), ((0, 12, 20),))}
    yield Case("generate_proposal_labels", {**proposals, **truth},
               {"batch_size_per_im": 10, "fg_fraction": 0.7, "fg_thresh": 0.05,
                "bg_thresh_hi": 0.05, "bg_thresh_lo": 0.0,
                "bbox_reg_weights": [0.1, 0.1, 0.2, 0.2], "class_nums": 4, "use_random": False,
                "is_cls_agnostic": False})
    for batch, part, agnostic in itertools.product((512, 6), (0.25, 0.5), (False, True)):
        for least, high, low in ((0.5, 0.5, 0.0), (0.25, 0.2, 0.05)):
            attributes = {"batch_size_per_im": batch, "fg_fraction": part, "fg_thresh": least,
                          "bg_thresh_hi": high, "bg_thresh_lo": low,
                          "bbox_reg_weights": [0.1, 0.1, 0.2, 0.2], "class_nums": 4,
                          "use_random": False, "is_cls_agnostic": agnostic}
            yield Case("generate_proposal_labels", {**proposals, **truth}, attributes)
            yield Case("generate_proposal_labels",
                       {**proposals, **truth,
                        "MaxOverlap": Cut(Floats((20,), 0, 1.25), ((0, 12, 20),))},
                       {**attributes, "is_cascade_rcnn": True})


def _others():
    for axis, iterations in itertools.product((0, 1), (0, 1, 3)):
        shape = (3, 4, 5)
        yield Case("spectral_norm",
                   {"Weight": floats(*shape), "U": floats(shape[axis], low=0.1),
                    "V": floats(60 // shape[axis], low=0.1)},
                   {"dim": axis, "power_iters": iterations, "eps": 1e-12})
    for kernel, stride, padding, dilation in (
            ([2, 2], [1, 1], [0, 0, 0, 0], [1, 1]), ([3, 2], [2, 1], [1, 0, 1, 0], [1, 2]),
            ([1, 3], [2, 2], [1, 1, 1, 1], [2, 1])):
        size = (5, 6)
        windows = numpy.prod([
            (size[i] + padding[i] + padding[i + 2] - dilation[i] * (kernel[i] - 1) - 1)
            // stride[i] + 1 for i in range(2)])
        yield Case("fold", {"X": floats(2, 3 * kernel[0] * kernel[1], int(windows))},
                   {"output_sizes": list(size), "kernel_sizes": kernel, "strides": stride,
                    "paddings": padding, "dilations": dilation})


def cases():
    yield from _yolo()
    yield from _suppressed()
    yield from _targets()
    yield from _proposal_labels()
    yield from _others()
