"""Nets whose loss is more than one entropy for a row: sequences of tags, and boxes in images."""

import nets
import numpy
import paddle


def _append(op_type, inputs, outputs, attributes=None):
    """Appends an op that has no function in Python; of each output, its slot and data type."""
    block = paddle.static.default_main_program().current_block()
    made = {slot: block.create_var(name=paddle.utils.unique_name.generate(op_type), dtype=dtype)
            for slot, dtype in outputs.items()}
    block.append_op(type=op_type, inputs=inputs, outputs=made, attrs=attributes or {})
    return list(made.values())


def tagger():
    """An LSTM in both directions over padded sentences, its tags by a random field."""
    sentences, words, tags, width = 4, 6, 5, 8

    def build(tokens, steps, labels):
        length = steps + 1
        embedded = paddle.static.nn.embedding(tokens, [30, width])
        hidden, _ = paddle.nn.LSTM(width, width, direction="bidirect")(
            embedded, sequence_length=paddle.reshape(length, [-1]))
        emission = paddle.static.nn.fc(hidden, tags, num_flatten_dims=2)
        transition = paddle.create_parameter([tags + 2, tags], "float32", name="transition")
        given = {"Emission": emission, "Transition": transition, "Length": length}
        *_, loss = _append(
            "linear_chain_crf", {**given, "Label": labels},
            {"Alpha": "float32", "EmissionExps": "float32", "TransitionExps": "float32",
             "LogLikelihood": "float32"})
        right, = _append("crf_decoding", {**given, "Label": labels}, {"ViterbiPath": "int64"})
        # It persists, so that what is decoded is compared too.
        kept = paddle.static.create_global_var([sentences, words], 0.0, "float32",
                                               persistable=True, name="right_tags")
        paddle.assign(paddle.cast(right, "float32"), kept)
        return paddle.mean(loss), emission
    return nets.made(build, lambda: paddle.optimizer.Adam(1e-2), {
        "tokens": ((sentences, words), 30), "steps": ((sentences, 1), words),
        "labels": ((sentences, words), tags)})


def detector():
    """SSD: prior boxes on two maps, matched with true ones, and the hardest of the others."""
    images, truths, classes, size = 3, 2, 4, 32
    count = 4 * (8 * 8 + 4 * 4)  # prior boxes: 4 at each place of both maps

    def head(features, image, least, largest):
        boxes, variances = _append(
            "prior_box", {"Input": features, "Image": image},
            {"Boxes": "float32", "Variances": "float32"},
            {"min_sizes": [least], "max_sizes": [largest], "aspect_ratios": [2.0], "flip": True,
             "variances": [0.1, 0.1, 0.2, 0.2], "offset": 0.5})
        parts = [paddle.reshape(boxes, [-1, 4]), paddle.reshape(variances, [-1, 4])]
        for width in (4, classes):
            of_boxes = paddle.static.nn.conv2d(features, 4 * width, 3, padding=1)
            parts.append(paddle.reshape(paddle.transpose(of_boxes, [0, 2, 3, 1]),
                                        [images, -1, width]))
        return parts

    def heads(image):
        features = paddle.static.nn.conv2d(image, 12, 3, stride=4, padding=1, act="relu")
        smaller = paddle.static.nn.conv2d(features, 12, 3, stride=2, padding=1, act="relu")
        of_maps = zip(head(features, image, 6.0, 10.0), head(smaller, image, 12.0, 20.0))
        return [paddle.concat(list(parts), axis=0 if i < 2 else 1)
                for i, parts in enumerate(of_maps)]

    def cut(rows):
        """The rows, cut into those of each image."""
        made, = _append("lod_reset", {"X": rows}, {"Out": rows.dtype},
                        {"target_lod": list(range(0, images * truths + 1, truths))})
        return made

    def places(first, match):
        """The row of the true box, among those of all images, and the prior box."""
        row = paddle.maximum(match, paddle.zeros_like(match)) + first
        column = paddle.zeros_like(match) + paddle.arange(count, dtype="int32")
        return paddle.stack([row, column], axis=2)

    def build(image, centres, extents, labels):
        priors, variances, located, scores = heads(image)
        half = 0.15 + 0.05 * extents
        middle = 0.5 + 0.3 * centres
        true_boxes = cut(paddle.concat([middle - half, middle + half], axis=1))
        overlap, = _append("iou_similarity", {"X": true_boxes, "Y": priors}, {"Out": "float32"})
        match, distance = _append(
            "bipartite_match", {"DistMat": overlap},
            {"ColToRowMatchIndices": "int32", "ColToRowMatchDist": "float32"},
            {"match_type": "per_prediction", "dist_threshold": 0.4})
        match = paddle.reshape(match, [images, count])
        matched = paddle.cast(match >= 0, "float32")
        first = paddle.assign(numpy.arange(0, images * truths, truths, dtype="int32")[:, None])
        place = places(first, match)
        target = paddle.gather_nd(paddle.reshape(labels, [-1]), place[:, :, 0:1])
        target = target * paddle.cast(match >= 0, "int64")
        entropy = paddle.nn.functional.softmax_with_cross_entropy(
            paddle.reshape(scores, [-1, classes]), paddle.reshape(target, [-1, 1]))
        entropy = paddle.reshape(entropy, [images, count])
        hard, _ = _append(
            "mine_hard_examples",
            {"ClsLoss": entropy, "MatchIndices": match, "MatchDist": distance},
            {"NegIndices": "int32", "UpdatedMatchIndices": "int32"},
            {"neg_pos_ratio": 3.0, "neg_dist_threshold": 0.3, "mining_type": "max_negative",
             "sample_size": 0})
        # Each is a place of its image.
        first_of_image = paddle.assign(
            numpy.arange(0, images * count, count, dtype="int32")[:, None])
        of_hard, = _append("sequence_expand", {"X": first_of_image, "Y": hard}, {"Out": "int32"},
                           {"ref_level": 0})
        place_of_hard = of_hard + hard
        mined = paddle.scatter(paddle.zeros([images * count, 1]), place_of_hard,
                               paddle.ones_like(paddle.cast(place_of_hard, "float32")))
        mined = paddle.reshape(mined, [images, count])
        mined.stop_gradient = True
        codes, = _append(
            "box_coder", {"PriorBox": priors, "PriorBoxVar": variances, "TargetBox": true_boxes},
            {"OutputBox": "float32"}, {"code_type": "encode_center_size", "box_normalized": True})
        offsets = paddle.nn.functional.smooth_l1_loss(
            located, paddle.gather_nd(codes, place), reduction="none")
        loss = paddle.sum(entropy * (matched + mined)) + paddle.sum(
            paddle.sum(offsets, axis=2) * matched)
        return loss / paddle.sum(matched), scores
    return nets.made(build, lambda: paddle.optimizer.Momentum(0.004, 0.9), {
        "image": ((images, 3, size, size), 0), "centres": ((images * truths, 2), 0),
        "extents": ((images * truths, 2), 0), "labels": ((images * truths, 1), classes)},
        also_quantize=())  # not the sums that boxes are made of
