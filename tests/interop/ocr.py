"""(i) The networks of examples/ocr, in Paddle Inference, with PP-OCR's steps in NumPy around
them (`ocr_steps.py`): the same boxes and characters as `examples/ocr` finds on the pages that it
drew; and how far those on integers are from them.
"""

import functools
import pathlib
import re
import subprocess
import tempfile

import numpy
import ocr_steps
import paddle.inference
import PIL.Image

_STAGES = ("detection", "direction", "recognition")
_LINE = re.compile(r"(\S+) (\S+) (\S+) (\S+) (\d\.\d+)( upside down)? (.*)")
_PRINTED = 0.0005  # scores are printed to three digits
_ADDED_IN_FLOAT = 1e-4


def _run(command):
    done = subprocess.run([str(part) for part in command], capture_output=True, text=True,
                          check=False)
    assert done.returncode == 0, done.stderr.strip()
    return done.stdout


@functools.lru_cache(maxsize=None)
def _made(environment):
    """A folder with pages, which lives as long as the process."""
    folder = tempfile.TemporaryDirectory(prefix="fixpoint-interop-")
    _run([environment.ocr / "draw_pages", folder.name])
    return folder


def _ours(environment, folder, form="", flags=()):
    """The pages, and lines (box, score, is upside down, text) of each of them."""
    det, cls, rec = (folder / f"{stage}{form}" for stage in _STAGES)
    pages = sorted(pathlib.Path(_made(environment).name).glob("*.png"))
    told = _run([environment.ocr / "ocr", f"--det={det}", f"--cls={cls}", f"--rec={rec}",
                 f"--dictionary={environment.ocr / 'trained' / 'dictionary.txt'}", *flags, *pages])
    read = []
    for line in told.splitlines():
        if re.fullmatch(r".*\.png: \d+ lines", line):
            read.append([])
            continue
        *corners, score, turned, text = _LINE.fullmatch(line).groups()
        box = numpy.array([corner.split(",") for corner in corners], float)
        read[-1].append((box, float(score), turned is not None, text))
    return pages, read


class _Network:
    """Paddle Inference, of one input and one output."""

    def __init__(self, folder):
        config = paddle.inference.Config(str(folder / "inference.pdmodel"),
                                         str(folder / "inference.pdiparams"))
        config.disable_gpu()
        config.disable_glog_info()
        self._predictor = paddle.inference.create_predictor(config)

    def __call__(self, values):
        handle = self._predictor.get_input_handle(self._predictor.get_input_names()[0])
        handle.reshape(values.shape)
        handle.copy_from_cpu(values)
        self._predictor.run()
        return self._predictor.get_output_handle(
            self._predictor.get_output_names()[0]).copy_to_cpu()


def _theirs(folder, pages):
    detection, direction, recognition = (_Network(folder / stage) for stage in _STAGES)
    characters = (folder / "dictionary.txt").read_text().splitlines()
    read = []
    for page in pages:
        image = numpy.ascontiguousarray(numpy.array(PIL.Image.open(page).convert("RGB"))[..., ::-1])
        probabilities = detection(ocr_steps.detection_input(image))[0, 0]
        boxes = ocr_steps.find_boxes(probabilities, *image.shape[:2])
        lines = [ocr_steps.crop(image, box) for box in boxes]
        texts = [None] * len(lines)
        ratios = [line.shape[1] / line.shape[0] for line in lines]
        order = numpy.argsort(ratios, kind="stable")
        for begin in range(0, len(order), 6):
            batch = order[begin:begin + 6]
            directions = direction(ocr_steps.lines_input([lines[i] for i in batch], 48, 192))
            turned = (directions[:, 1] > directions[:, 0]) & (directions[:, 1] > 0.9)
            upright = [lines[i][::-1, ::-1] if flip else lines[i]
                       for i, flip in zip(batch, turned)]
            width = int(32 * max(320 / 32, *(ratios[i] for i in batch)))
            scores = recognition(ocr_steps.lines_input(upright, 32, width))
            for i, flip, probabilities in zip(batch, turned, scores):
                text, score = ocr_steps.read_characters(probabilities, characters)
                texts[i] = (boxes[i], score, bool(flip), text)
        read.append([line for line in texts if line[1] >= 0.5])
    return read


def reads_the_same(environment):
    trained = environment.ocr / "trained"
    pages, ours = _ours(environment, trained)
    theirs = _theirs(trained, pages)
    assert len(pages) == len(ours) == 10, len(pages)
    lines = characters = upside_down = 0
    for page, (mine, other) in enumerate(zip(ours, theirs)):
        assert len(mine) == len(other), f"page {page}: {len(mine)} lines, not {len(other)}"
        for (box, score, turned, text), (their_box, their_score, their_turned, their_text) in zip(
                mine, other):
            assert (box == their_box).all(), f"page {page}: {box.tolist()}, {their_box.tolist()}"
            assert text == their_text, f"page {page}: {text}, not {their_text}"
            assert turned == their_turned, f"page {page}: {text}"
            difference = abs(score - their_score)
            assert difference <= _PRINTED + _ADDED_IN_FLOAT, f"{text}: {score}, {their_score}"
            lines += 1
            characters += len(text)
            upside_down += turned
    assert lines >= 20 and upside_down > 0, f"{lines} lines, {upside_down} upside down"
    return (f"{lines} boxes and {characters} characters are the same; {upside_down} lines were "
            "upside down")


def _overlap(a, b):
    """Of the upright rectangles around two boxes."""
    least = numpy.maximum(a.min(axis=0), b.min(axis=0))
    most = numpy.minimum(a.max(axis=0), b.max(axis=0))
    shared = numpy.prod((most - least).clip(min=0))
    sizes = [numpy.prod(box.max(axis=0) - box.min(axis=0)) for box in (a, b)]
    return shared / (sum(sizes) - shared)


def _differing(a, b):
    """The edit distance."""
    row = list(range(len(b) + 1))
    for i, left in enumerate(a, 1):
        diagonal, row[0] = row[0], i
        for j, right in enumerate(b, 1):
            diagonal, row[j] = row[j], min(diagonal + (left != right), row[j] + 1, row[j - 1] + 1)
    return row[-1]


def differs_little_on_integers(environment):
    trained = environment.ocr / "trained"
    folder = pathlib.Path(_made(environment).name)
    pages, _ = _ours(environment, trained, flags=[f"--save_inputs={folder}"])
    for stage in _STAGES:
        model = trained / stage / "inference"
        _run([environment.quantize, f"{model}.pdmodel", f"--params={model}.pdiparams",
              f"--data=npz:{folder / stage}.npz", f"--output={folder / stage}.int8",
              "--batch_size=6", "--notimes"])
    _, ours = _ours(environment, folder, ".int8/lowered")
    theirs = _theirs(trained, pages)
    lines = missing = characters = differing = same = 0
    least = 1.0
    for mine, other in zip(ours, theirs):
        for box, _, _, text in other:
            overlap, there = max(((_overlap(box, line[0]), line[3]) for line in mine),
                                 default=(0.0, ""))
            lines += 1
            characters += len(text)
            if overlap < 0.5:
                missing += 1
                differing += len(text)
                continue
            least = min(least, overlap)
            same += overlap == 1
            differing += _differing(text, there)
    counted = (f"int8 beside Paddle Inference in float: {same} of {lines} boxes are the same and "
               f"{missing} missing, the least overlap is {least:.3f}; {differing} of {characters} "
               "characters differ")
    assert missing <= 1 and least >= 0.75 and differing * 20 <= characters, counted
    return counted


def cases(environment):
    yield "the same boxes and characters", functools.partial(reads_the_same, environment)
    yield "little is different on integers", functools.partial(
        differs_little_on_integers, environment)
