"""The figures of the README that docs/results.md has too: they are the same in both.

The README has a table whose columns are us and our peers. A row "NETWORK: int8 (float)" shows times
of the table of inference in results.md, a row "LeNet-5 on MNIST at ..." accuracies of its first
table.
"""

import re

_SPEED = ": int8 (float)"
_ACCURACY = "LeNet-5 on MNIST at 8, 4 and 2 bits"
_SPEED_TABLE = "| network | float: ours |"
_ACCURACY_TABLE = "| LeNet-5, MNIST, 5 seeds |"
# The rows of results.md that the README means by so many bits.
_ACCURACY_ROWS = ("8 bits, `moving_average_abs_max`", "4 bits, `lsq`", "2 bits, `lsq`")


def _cells(line):
    return [cell.strip() for cell in line.strip().strip("|").split("|")]


def _table(text, beginning):
    """The rows of the table whose head begins so, by their first cell."""
    lines = text.splitlines()
    heads = [i for i, line in enumerate(lines) if line.startswith(beginning)]
    if len(heads) != 1:
        return {}
    rows = {}
    for line in lines[heads[0] + 2:]:
        if not line.startswith("|"):
            break
        first, *rest = _cells(line)
        rows[first] = rest
    return rows


def _speed(row, results):
    """The README's cells for a network: each tool's int8 time, and its float time."""
    times = results.get(row[:-len(_SPEED)])
    if times is None:
        return None
    return [f"{int8} ms ({in_float})" for int8, in_float in zip(times[3:6], times[:3])]


def _accuracies(results):
    """The README's row of accuracies."""
    rows = [results.get(name) for name in ("float", *_ACCURACY_ROWS)]
    if None in rows:
        return None
    in_float, *quantized = [row[0] for row in rows]
    head = f"{_ACCURACY} (float: {in_float})"
    return head, ", ".join(row.replace(" %", "") for row in quantized) + " %"


def complaints(readme, results):
    """What the README's table says otherwise than results.md, or without it; both as text."""
    found = []
    peers = _table(readme, "| | Fixpoint |")
    head = next((line for line in readme.splitlines() if line.startswith("| | Fixpoint |")), "")
    for peer in _cells(head)[2:]:
        if peer not in results:
            found.append(f"results.md has no {peer}")
    speeds = _table(results, _SPEED_TABLE)
    accuracies = _table(results, _ACCURACY_TABLE)
    compared = 0
    for row, cells in peers.items():
        if row.endswith(_SPEED):
            want = _speed(row, speeds)
        elif row.startswith(_ACCURACY):
            want = _accuracies(accuracies)
            row, cells = "accuracies", [row, cells[0]]
        else:
            found.append(f"{row}: no figures of results.md are known for this row")
            continue
        compared += 1
        if want is None:
            found.append(f"{row}: results.md has no such row")
        elif list(want) != cells:
            found.append(f"{row}: {', '.join(cells)}; results.md has {', '.join(want)}")
    if not compared:
        found.append("the README has no table of figures")
    return found
