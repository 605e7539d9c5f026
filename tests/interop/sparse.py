"""(g) Sparse embeddings: what optimizers make of the rows that a batch looks up.

A table is looked up, and three steps are trained with PaddlePaddle's own optimizers, on both of our
backends. What persists is compared: the table, and the state of the optimizer.
"""

import functools
import itertools

import numpy
import paddle
import paddle_run
from op_case import SUMMED
from ours import BACKENDS

_STEPS = 3
_HEIGHT, _WIDTH = 11, 5
_IDS = (3, 4)

# adamw is none of them: 2.6 takes the rows for a tensor, and crashes.
_OPTIMIZERS = {
    "sgd": lambda **with_: paddle.optimizer.SGD(0.1, **with_),
    "momentum": lambda **with_: paddle.optimizer.Momentum(0.1, **with_),
    "nesterov": lambda **with_: paddle.optimizer.Momentum(0.1, use_nesterov=True, **with_),
    "adam": lambda **with_: paddle.optimizer.Adam(0.1, **with_),
    "lazy adam": lambda **with_: paddle.optimizer.Adam(0.1, lazy_mode=True, **with_),
    "adagrad": lambda **with_: paddle.optimizer.Adagrad(0.1, **with_),
    "rmsprop": lambda **with_: paddle.optimizer.RMSProp(0.1, **with_),
    "centered rmsprop": lambda **with_: paddle.optimizer.RMSProp(
        0.1, momentum=0.9, centered=True, **with_),
    "lamb": lambda **with_: paddle.optimizer.Lamb(0.1, **with_),
}
# Clipping by value is none of them: 2.6 takes the rows for a tensor, and crashes.
_SETTINGS = {
    "plain": lambda: {},
    "clipped by the global norm": lambda: {"grad_clip": paddle.nn.ClipGradByGlobalNorm(0.5)},
    "clipped by their norm": lambda: {"grad_clip": paddle.nn.ClipGradByNorm(0.5)},
}
_DECAYED = {"weight_decay": 0.1}
# Lookups of the table, as (op, padding_idx).
_LOOKUPS = {
    "one lookup": (("lookup_table_v2", -1),),
    "of version 1": (("lookup_table", -1),),
    "with padding": (("lookup_table_v2", 3),),
    "two lookups": (("lookup_table_v2", -1), ("lookup_table", 2)),
}


def _looked_up(block, table, ids, op, padding):
    if op == "lookup_table":
        ids = paddle.unsqueeze(ids, -1)
    out = block.create_var(name=f"{op}.out", dtype="float32", shape=[*_IDS, _WIDTH])
    block.append_op(type=op, inputs={"W": table, "Ids": ids}, outputs={"Out": out},
                    attrs={"is_sparse": True, "padding_idx": padding})
    return out


class Training:
    """A program, and what it is fed."""

    def __init__(self, lookups, minimize):
        self.main, self.startup = paddle.static.Program(), paddle.static.Program()
        with paddle.static.program_guard(self.main, self.startup), \
                paddle.utils.unique_name.guard():
            ids = paddle.static.data("ids", _IDS, "int64")
            weights = paddle.static.data("weights", [*_IDS, _WIDTH], "float32")
            table = paddle.static.create_parameter(
                [_HEIGHT, _WIDTH], "float32", name="table",
                default_initializer=paddle.nn.initializer.Uniform(-1, 1))
            block = self.main.global_block()
            rows = [_looked_up(block, table, ids, *lookup) for lookup in lookups]
            loss = paddle.sum(paddle.square(paddle.add_n(rows)) * weights)
            self.fetches = minimize(self.main, loss)
        self.persistable = sorted(
            name for name, variable in block.vars.items()
            if variable.persistable and name not in ("feed", "fetch"))

    @staticmethod
    def feed(step):
        generator = numpy.random.default_rng(step)
        # Some rows are those of the step before, some are new, and some are left. The table's last
        # row is always looked up: for the rows after the largest id, 2.6's adam reads the memory
        # that follows its list of ids.
        ids = generator.integers(0, _HEIGHT // 2, _IDS) + 2 * step
        ids[-1, -1] = _HEIGHT - 1
        return {"ids": ids,
                "weights": generator.uniform(-1, 1, (*_IDS, _WIDTH)).astype("float32")}

    def run(self, runner):
        """What PaddlePaddle fetches in each step and leaves, and each of our backends."""
        scope = paddle_run.start_as_paddle_does(self.startup.desc.serialize_to_string(), seed=5)

        def values():
            return {name: paddle_run.value(scope, name) for name in self.persistable}
        initial = values()
        feeds = [self.feed(step) for step in range(_STEPS)]
        theirs = [dict(zip(self.fetches, paddle_run.run(self.main, scope, feed, self.fetches)))
                  for feed in feeds]
        yield "theirs", theirs, values()
        for backend in BACKENDS:
            ours, _, left = runner.run(backend, self.main.desc.serialize_to_string(), initial,
                                       feeds, self.fetches)
            yield backend, ours, left


def _distance(ours, theirs):
    theirs = theirs.astype("float64")
    return numpy.abs(ours.astype("float64") - theirs).max() / max(numpy.abs(theirs).max(), 1e-30)


def trains_as_paddle(runner, lookups, optimizer, settings):
    def minimize(_, loss):
        _OPTIMIZERS[optimizer](**settings()).minimize(loss)
        return []
    training = Training(lookups, minimize)
    assert any(op.type == "lookup_table_v2_grad" or op.type == "lookup_table_grad"
               for op in training.main.global_block().ops)
    (_, _, theirs), *ours = training.run(runner)
    told = []
    for backend, _, left in ours:
        distances = {name: _distance(left[name].reshape(theirs[name].shape), theirs[name])
                     for name in theirs}
        far = {name: f"{distance:.1e}" for name, distance in distances.items()
               if not distance <= SUMMED}
        assert not far, f"{backend}: {far}, of {SUMMED}"
        told.append(f"{backend} {max(distances.values()):.1e}")
    return f"{len(theirs)} variables: {', '.join(told)}"


def _in_some_order(rows):
    return rows[numpy.lexsort(rows.T)]


def has_the_rows(runner, lookups):
    """The rows of the gradient, and those of it merged, which the reference has in any order."""
    def minimize(main, loss):
        block = main.global_block()
        gradient = paddle.static.append_backward(loss)[0][1]

        def append(op, x, kind):
            out = block.create_var(name=f"{x.name}.{op}", dtype="float32", type=kind)
            block.append_op(type=op, inputs={"X": x}, outputs={"Out": out})
            return out
        merged = append("merge_selected_rows", gradient, gradient.type)
        dense = paddle.base.core.VarDesc.VarType.LOD_TENSOR
        return [append("get_tensor_from_selected_rows", rows, dense).name
                for rows in (gradient, merged)]
    training = Training(lookups, minimize)
    (_, theirs, _), *ours = training.run(runner)
    for backend, fetched, _ in ours:
        for step, name in itertools.product(range(_STEPS), training.fetches):
            mine, want = fetched[step][name], theirs[step][name]
            assert mine.shape == want.shape, f"{backend}: {mine.shape} instead of {want.shape}"
            distance = _distance(_in_some_order(mine), _in_some_order(want))
            assert distance <= SUMMED, f"{backend}, {name}: {distance:.1e}"
    return f"{[list(theirs[0][name].shape) for name in training.fetches]}"


def cases(environment):
    runner = environment.runner
    for lookup, lookups in _LOOKUPS.items():
        yield f"rows: {lookup}", functools.partial(has_the_rows, runner, lookups)
    for optimizer, (setting, settings) in itertools.product(_OPTIMIZERS, _SETTINGS.items()):
        yield (f"{optimizer}: {setting}", functools.partial(
            trains_as_paddle, runner, _LOOKUPS["one lookup"], optimizer, settings))
    for optimizer, lookup in itertools.product(_OPTIMIZERS, list(_LOOKUPS)[1:]):
        yield (f"{optimizer}: {lookup}", functools.partial(
            trains_as_paddle, runner, _LOOKUPS[lookup], optimizer, dict))
    for optimizer in ("sgd", "adam", "lazy adam", "adagrad", "rmsprop"):
        yield (f"{optimizer}: decayed", functools.partial(
            trains_as_paddle, runner, _LOOKUPS["one lookup"], optimizer, lambda: _DECAYED))
