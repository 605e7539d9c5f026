"""Matrix products."""

from op_case import SUMMED, Case, floats

TOLERANCE = SUMMED


def _product(op, x, y, **attributes):
    return Case(op, {"X": floats(*x), "Y": floats(*y)}, attributes)


def _addmm(*shape):
    return Case("addmm", {"Input": floats(*shape), "X": floats(4, 7), "Y": floats(7, 5)},
                {"Alpha": 0.5, "Beta": 2.0})


def cases():
    for shape in ((4, 5), (1, 5), (4, 1), (5,), (1,)):
        yield _addmm(*shape)
    yield _product("mul", (4, 6), (6, 5))
    yield _product("mul", (64, 300), (300, 10))
    yield _product("mul", (2, 3, 4), (12, 5))
    yield _product("mul", (2, 3, 4), (4, 5), x_num_col_dims=2)
    yield _product("mul", (2, 3, 2, 2), (2, 2, 5), x_num_col_dims=2, y_num_col_dims=2)
    yield _product("mul", (2, 8), (2, 4, 3, 2), y_num_col_dims=2)
    yield _product("mul", (1, 7), (7, 1))

    for attributes in ({}, {"activation_type": "relu"}):
        yield Case("fc", {"Input": floats(4, 6), "W": floats(6, 5), "Bias": floats(5)}, attributes,
                   has_gradient=False)
    yield Case("fc", {"Input": floats(2, 3, 6), "W": floats(6, 5)}, {"in_num_col_dims": 2},
               has_gradient=False)

    yield _product("matmul", (4, 6), (6, 5))
    yield _product("matmul", (4, 6), (6, 5), alpha=0.25)
    for transpose_x in (False, True):
        for transpose_y in (False, True):
            x = (2, 6, 4) if transpose_x else (2, 4, 6)
            y = (2, 5, 6) if transpose_y else (2, 6, 5)
            yield _product("matmul", x, y, transpose_X=transpose_x, transpose_Y=transpose_y)
            yield _product("matmul_v2", x, y, trans_x=transpose_x, trans_y=transpose_y)
    yield _product("matmul", (2, 3, 4, 6), (2, 3, 6, 5), alpha=0.5)
    yield _product("matmul", (3, 4, 6), (6, 5))
    yield _product("matmul", (6,), (6,))
    yield _product("matmul", (2, 4, 6), (6,))
    yield _product("matmul", (6, 4), (5, 6), transpose_X=True, transpose_Y=True)

    for batch, rows, inner, columns in ((1, 4, 6, 5), (3, 4, 6, 5), (2, 1, 8, 1), (2, 17, 33, 9),
                                        (4, 5, 1, 3)):
        yield _product("bmm", (batch, rows, inner), (batch, inner, columns))
    yield _product("matmul_v2", (4, 6), (6, 5))
    yield _product("matmul_v2", (3, 4, 6), (6, 5))
    yield _product("matmul_v2", (4, 6), (3, 6, 5))
    # 2.6.2 has no gradient for this one: its kernel refuses the shapes.
    yield Case("matmul_v2", {"X": floats(2, 1, 4, 6), "Y": floats(3, 6, 5)}, has_gradient=False)
    yield _product("matmul_v2", (2, 3, 4, 6), (1, 3, 6, 5))
    yield _product("matmul_v2", (6,), (6,))
    yield _product("matmul_v2", (6,), (6, 5))
    yield _product("matmul_v2", (2, 4, 6), (6,))
    yield _product("matmul_v2", (6,), (3, 6, 5))
    yield _product("matmul_v2", (6, 4), (5, 6), trans_x=True, trans_y=True)
