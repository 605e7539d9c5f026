"""PP-OCR's steps before and after its networks, in NumPy: a judge of examples/ocr.

Written from PP-OCR's formulas, not from our C++; where the two name one thing alike, they mean it.
"""

import collections
import math

import numpy

_STEPS = ((-1, 0), (1, 0), (0, -1), (0, 1), (-1, -1), (-1, 1), (1, -1), (1, 1))


def resized(image, height, width):
    """OpenCV's bilinear interpolation of bytes, with weights of 11 bits."""
    if image.shape[:2] == (height, width):
        return image

    def between(size, result_size):
        place = ((numpy.arange(result_size) + 0.5) * (size / result_size) - 0.5).astype("float32")
        before = numpy.floor(place).astype(int)
        rest = place - before.astype("float32")
        outside = (before < 0) | (before >= size - 1)
        rest[outside] = 0
        before = before.clip(0, size - 1)
        after = numpy.minimum(before + 1, size - 1)
        weights = [numpy.rint(part * numpy.float32(2048)).astype(int) for part in (1 - rest, rest)]
        return before, after, weights

    top, bottom, rows = between(image.shape[0], height)
    left, right, columns = between(image.shape[1], width)
    wide = image.astype(int)
    lines = (wide[:, left] * columns[0][None, :, None]
             + wide[:, right] * columns[1][None, :, None]) >> 4
    return ((((rows[0][:, None, None] * lines[top]) >> 16)
             + ((rows[1][:, None, None] * lines[bottom]) >> 16) + 2) >> 2).astype("uint8")


def detection_input(image, longest_side=960):
    height, width = image.shape[:2]
    ratio = min(1.0, longest_side / max(height, width))
    sides = [max(round(int(side * ratio) / 32) * 32, 32) for side in (height, width)]
    scaled = resized(image, *sides).astype("float32") * numpy.float32(1 / 255)
    mean = numpy.array([0.485, 0.456, 0.406], "float32")
    deviation = numpy.array([0.229, 0.224, 0.225], "float32")
    return ((scaled - mean) / deviation).transpose(2, 0, 1)[None]


def lines_input(lines, height, width):
    batch = numpy.zeros((len(lines), 3, height, width), "float32")
    for row, line in zip(batch, lines):
        own = min(width, math.ceil(height * (line.shape[1] / line.shape[0])))
        scaled = resized(line, height, own).astype("float32")
        row[:, :, :own] = ((scaled / 255 - 0.5) / 0.5).transpose(2, 0, 1)
    return batch


def _regions(bits):
    """Borders of regions of set pixels, and of holes, as lists of (x, y)."""
    height, width = bits.shape
    seen = numpy.zeros_like(bits)
    for first in zip(*(axis.tolist() for axis in numpy.indices(bits.shape).reshape(2, -1))):
        if seen[first]:
            continue
        is_set = bits[first]
        seen[first] = True
        border, at_edge, queue = [], False, collections.deque([first])
        while queue:
            y, x = queue.popleft()
            for down, right in _STEPS if is_set else _STEPS[:4]:
                below, beside = y + down, x + right
                if not (0 <= below < height and 0 <= beside < width):
                    at_edge = True
                    border.append((x, y))
                elif bits[below, beside] != is_set:
                    border.append((x, y) if is_set else (beside, below))
                elif not seen[below, beside]:
                    seen[below, beside] = True
                    queue.append((below, beside))
        if is_set or not at_edge:
            yield border


def _hull(points):
    """Of points (x, y): their hull from the leftmost one, clockwise on the screen."""
    points = sorted(set(map(tuple, points)))
    if len(points) < 3:
        return numpy.array(points, float)

    def half(ordered):
        chain = []
        for point in ordered:
            while len(chain) > 1 and numpy.cross(numpy.subtract(chain[-1], chain[-2]),
                                                 numpy.subtract(point, chain[-2])) <= 0:
                chain.pop()
            chain.append(point)
        return chain[:-1]

    return numpy.array(half(points) + half(points[::-1]), float)


def _smallest_rectangle(points):
    """(corners, shorter side)."""
    hull = _hull(points)
    best = (math.inf, numpy.repeat(hull[:1], 4, axis=0), 0.0)
    for start, end in zip(hull, numpy.roll(hull, -1, axis=0)):
        if (start == end).all():
            continue
        along = (end - start) / math.hypot(*(end - start))
        axes = numpy.array([along, [-along[1], along[0]]])
        places = (hull - start) @ axes.T
        least, most = places.min(axis=0).clip(max=0), places.max(axis=0).clip(min=0)
        area = numpy.prod(most - least)
        if area < best[0]:
            ends = [least, [most[0], least[1]], most, [least[0], most[1]]]
            best = (area, start + numpy.array(ends) @ axes, (most - least).min())
    corners = sorted(best[1].astype("float32").astype(float).tolist(), key=lambda corner: corner[0])
    left = sorted(corners[:2], key=lambda corner: corner[1])
    right = sorted(corners[2:], key=lambda corner: corner[1])
    return numpy.array([left[0], right[0], right[1], left[1]]), best[2]


def _mean_inside(probabilities, corners):
    height, width = probabilities.shape
    left, top = numpy.floor(corners.min(axis=0)).astype(int).clip(0, [width - 1, height - 1])
    last, bottom = numpy.ceil(corners.max(axis=0)).astype(int).clip(0, [width - 1, height - 1])
    hull = _hull(numpy.trunc(corners - [left, top]))
    y, x = numpy.mgrid[0:bottom - top + 1, 0:last - left + 1]
    least, most = hull.min(axis=0), hull.max(axis=0)
    inside = (least[0] <= x) & (x <= most[0]) & (least[1] <= y) & (y <= most[1])
    for start, end in zip(hull, numpy.roll(hull, -1, axis=0)):
        # Pixels on a line of OpenCV's are up to half a pixel outside.
        right, down = end - start
        inside &= right * (y - start[1]) - down * (x - start[0]) >= -max(abs(right), abs(down)) / 2
    part = probabilities[top:bottom + 1, left:last + 1].astype(float)
    return part[inside].mean() if inside.any() else 0.0


def _area_and_perimeter(polygon):
    following = numpy.roll(polygon, -1, axis=0)
    area = abs(numpy.sum(polygon[:, 0] * following[:, 1] - polygon[:, 1] * following[:, 0])) / 2
    return area, numpy.hypot(*(following - polygon).T).sum()


def _grown(polygon, distance):
    """Clipper's offset with round joins."""
    following = numpy.roll(polygon, -1, axis=0)
    sides = following - polygon
    normals = numpy.stack([sides[:, 1], -sides[:, 0]], 1) / numpy.hypot(*sides.T)[:, None]
    tolerance = min(0.25, distance * 0.25)
    steps = min(math.pi / math.acos(1 - tolerance / distance), distance * math.pi)
    points = []
    for corner, before, after in zip(polygon, numpy.roll(normals, 1, axis=0), normals):
        turn = math.atan2(numpy.cross(before, after), before @ after)
        arcs = max(1, math.floor(steps / (2 * math.pi) * abs(turn) + 0.5))
        angle = math.atan2(before[1], before[0])
        for arc in range(arcs):
            at = angle + arc * 2 * math.pi / steps
            points.append(corner + distance * numpy.array([math.cos(at), math.sin(at)]))
        points.append(corner + distance * after)
    points = numpy.array(points)
    return numpy.sign(points) * numpy.floor(numpy.abs(points) + 0.5)


def find_boxes(probabilities, height, width):
    """Boxes [4,2] in an image of that size, in the order of reading."""
    boxes = []
    for region in list(_regions(probabilities > numpy.float32(0.3)))[:1000]:
        around, side = _smallest_rectangle(region)
        if side < 3 or _mean_inside(probabilities, around) < 0.6:
            continue
        area, perimeter = _area_and_perimeter(around)
        cut = _hull(numpy.trunc(around))
        if len(cut) < 3 or not area > 0:
            continue
        box, side = _smallest_rectangle(_grown(cut, area * 1.5 / perimeter))
        if side < 5:
            continue
        scale = numpy.array(probabilities.shape[::-1], float)
        box = numpy.rint(box / scale * [width, height]).clip(0, [width - 1, height - 1])
        box = numpy.roll(box, -int(numpy.argmin(box.sum(axis=1))), axis=0)
        if min(int(math.dist(box[0], box[1])), int(math.dist(box[0], box[3]))) > 3:
            boxes.append(box)
    boxes.sort(key=lambda box: (box[0][1], box[0][0]))
    for end in range(1, len(boxes)):
        for i in range(end, 0, -1):
            if (abs(boxes[i][0][1] - boxes[i - 1][0][1]) >= 10
                    or boxes[i][0][0] >= boxes[i - 1][0][0]):
                break
            boxes[i - 1:i + 1] = boxes[i], boxes[i - 1]
    return boxes


def crop(image, box):
    """What lies in a box, by the perspective that its corners solve, cubically interpolated."""
    width = int(max(math.dist(box[0], box[1]), math.dist(box[2], box[3])))
    height = int(max(math.dist(box[0], box[3]), math.dist(box[1], box[2])))
    rows, wanted = [], []
    for (x, y), (u, v) in zip(box, ((0, 0), (width, 0), (width, height), (0, height))):
        rows += [[u, v, 1, 0, 0, 0, -u * x, -v * x], [0, 0, 0, u, v, 1, -u * y, -v * y]]
        wanted += [x, y]
    matrix = numpy.append(numpy.linalg.solve(rows, wanted), 1).reshape(3, 3)
    v, u = numpy.mgrid[0:height, 0:width]
    x, y, scale = numpy.einsum("ij,jhw->ihw", matrix, numpy.stack([u, v, numpy.ones_like(u)]))

    def taps(place, size):
        parts = numpy.rint(place * 32).astype(int)
        whole, rest = parts >> 5, (parts & 31) / 32
        weights = []
        for distance in (1 + rest, rest, 1 - rest, 2 - rest):
            near = (1.25 * distance - 2.25) * distance ** 2 + 1
            far = ((-0.75 * distance + 3.75) * distance - 6) * distance + 3
            weights.append(numpy.where(distance <= 1, near, far))
        return [(whole - 1 + i).clip(0, size - 1) for i in range(4)], weights

    rows, row_weights = taps(y / scale, image.shape[0])
    columns, column_weights = taps(x / scale, image.shape[1])
    total = sum((row_weights[i] * column_weights[j])[..., None] * image[rows[i], columns[j]]
                for i in range(4) for j in range(4))
    cut = numpy.rint(total).clip(0, 255).astype("uint8")
    return numpy.rot90(cut) if height / width >= 1.5 else cut


def read_characters(probabilities, characters):
    """(text, mean probability) of [steps,classes]."""
    classes = probabilities.argmax(axis=1)
    starts = numpy.append(True, classes[1:] != classes[:-1]) & (classes != 0)
    text = "".join(characters[index - 1] for index in classes[starts])
    return text, float(probabilities.max(axis=1)[starts].mean()) if text else 0.0
