"""docs/models_beside_paddle.md: a row for each program of the reference data that infers.

whole_models.py measures its differences and benchmarks/models_beside_paddle.py its times; each
keeps what the other has written.
"""

import pathlib
import re
import textwrap

NAME = "models_beside_paddle.md"
DIFFERENCES = ("executor", "interpreter", "noise")
TIMES = ("fed", "float, ms", "int8, ms", "Paddle Inference, ms", "ONNX Runtime, ms", "differ")
_HEAD = ("program", *DIFFERENCES, *TIMES)
# Of what is fed: every layer rounds, and a network whose parameters are drawn may magnify it.
NOISE = 1e-5
# How the paragraph begins that says how times were measured.
_MEASURED = "Measured on "

_TEXT = """# Every program that infers, beside PaddlePaddle {paddle}

Each program of the reference data that infers, with drawn parameters and inputs, which are the same for all. How much of each
is computed on integers is a table of [models.md](models.md#on-integers). [The manual](manual.md#first-parameters) says how to
get parameters for a program that comes without.

`./bazelw run //tests/interop -- whole_models --update_docs` writes the first three columns; `//tests/interop` runs them anew.
*executor* and *interpreter*: the largest difference of what they and PaddlePaddle fetch, as a part of the largest value, in
float unless the program was quantized (*-*: the interpreter is not asked about large images). *noise*: the same of
PaddlePaddle's own outputs when each value that is fed moves by up to {noise} of itself. Drawn parameters may magnify what is
rounded, and in a quantized network a code on the other side of a tie is many others some layers on.

`./bazelw run --config=opt //benchmarks:models_beside_paddle -- --update_docs` writes the others. They are of the program in
float, without the quantizers that it may have had; one that computes its loss ends at its answer. *fed*: the largest array of
one sample. *float* and *int8*: our predictor, *int8* with what `quantize` makes for `onednn_int8` with all ops
quantized that this takes on request. *Paddle Inference* runs the program in float, with oneDNN, and *ONNX Runtime* what paddle2onnx makes of it
(*-*: it is not converted, or does not run). *differ*: how many elements the program on integers computes otherwise than the
simulated one, of those that `quantize` compares; each is a tie of rounding.

{measured}

{table}
"""


def _cells(line):
    return [cell.strip() for cell in line.strip("|\n").split("|")]


def _line(cells):
    return f"| {' | '.join(cells)} |"


def _paddle_version():
    """The one that the tests are run with."""
    requirements = pathlib.Path(__file__).with_name("requirements.txt").read_text(encoding="ascii")
    return re.search(r"^paddlepaddle==(\S+)", requirements, re.MULTILINE)[1]


class ModelsPage:

    def __init__(self, docs):
        self._path = pathlib.Path(docs) / NAME
        text = self._path.read_text(encoding="utf-8") if self._path.exists() else ""
        measured = re.search(f"^{_MEASURED}.*?(?=\n\n)", text, re.MULTILINE | re.DOTALL)
        self._measured = measured[0] if measured else ""
        table = [_cells(line) for line in text.splitlines() if line.startswith("| ")]
        self._rows = {row[0].strip("`"): dict(zip(table[0][1:], row[1:])) for row in table[1:]}

    def programs(self):
        return list(self._rows)

    def _write(self, columns, rows):
        kept = self._rows
        self._rows = {name: {**kept.get(name, {}), **dict(zip(columns, row))}
                      for name, row in rows.items()}
        lines = [_line(_HEAD), "|---|" + "--:|" * (len(_HEAD) - 1)]
        lines += [_line([f"`{name}`", *(cells.get(column, "") for column in _HEAD[1:])])
                  for name, cells in self._rows.items()]
        text = _TEXT.format(paddle=_paddle_version(), noise=NOISE, measured=self._measured,
                            table="\n".join(lines))
        self._path.write_text(text, encoding="utf-8")
        return f"wrote {self._path}"

    def write_differences(self, rows):
        """The rows are the programs that there are, with a cell for each of DIFFERENCES."""
        return self._write(DIFFERENCES, rows)

    def write_times(self, how, rows):
        """A cell for each of TIMES, and a text that says on what and how they were measured."""
        self._measured = textwrap.fill(_MEASURED + how, width=128)
        return self._write(TIMES, rows)
