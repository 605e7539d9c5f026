"""(i) A translation by a search with beams, in a `while` over arrays of prefixes: do both backends
find PaddlePaddle's sentences, with its scores?

The program is what `layers.beam_search` and `layers.While` of 1.x wrote, appended op by op.
"""

import functools

import numpy
import paddle
import paddle_run
from op_case import ROUNDED
from ours import BACKENDS

_END = 1
_WORDS, _WIDTH, _STATE = 12, 5, 7


class _Writer:
    """Appends ops to the current block."""

    def __init__(self, program):
        self._program = program
        self._count = 0

    def variable(self, name, shape, dtype="float32", lod_level=0, **others):
        return self._program.current_block().create_var(name=name, shape=shape, dtype=dtype,
                                                        lod_level=lod_level, **others)

    def __call__(self, kind, inputs, outputs, element="float32", **attributes):
        """The first output; `outputs` are slots, or variables by their slots."""
        made = {}
        for slot in outputs:
            self._count += 1
            made[slot] = outputs[slot] if isinstance(outputs, dict) else self.variable(
                f"{kind}.{self._count}", [-1], element)
        self._program.current_block().append_op(type=kind, inputs=inputs, outputs=made,
                                                attrs=attributes)
        first, *others = made.values()
        return (first, *others) if others else first


def _translation(steps, beam_size):
    """The program, what is fed, and what is fetched."""
    program = paddle.static.Program()
    with paddle.static.program_guard(program, paddle.static.Program()):
        op = _Writer(program)
        first_ids = op.variable("first_ids", [-1, 1], "int64", 2)
        first_scores = op.variable("first_scores", [-1, 1], "float32", 2)
        first_state = op.variable("first_state", [-1, _STATE])
        words = op.variable("words", [_WORDS, _WIDTH], persistable=True)
        of_state = op.variable("of_state", [_STATE, _STATE], persistable=True)
        of_word = op.variable("of_word", [_WIDTH, _STATE], persistable=True)
        to_words = op.variable("to_words", [_STATE, _WORDS], persistable=True)
        ids, scores, states = (
            program.current_block().create_var(name=name, dtype=dtype,
                                               type=paddle.base.core.VarDesc.VarType.LOD_TENSOR_ARRAY)
            for name, dtype in (("ids", "int64"), ("scores", "float32"), ("states", "float32")))
        t = op("fill_constant", {}, ["Out"], "int64", shape=[1], dtype=3, value=0.0)
        last = op("fill_constant", {}, ["Out"], "int64", shape=[1], dtype=3, value=float(steps))
        for value, array in ((first_ids, ids), (first_scores, scores), (first_state, states)):
            op("write_to_array", {"X": value, "I": t}, {"Out": array})
        goes_on = op("less_than", {"X": t, "Y": last}, ["Out"], "bool")
        loop = paddle.static.nn.control_flow.While(cond=goes_on)
        with loop.block():
            last_ids = op("read_from_array", {"X": ids, "I": t}, ["Out"], "int64")
            last_scores = op("read_from_array", {"X": scores, "I": t}, ["Out"])
            last_state = op("read_from_array", {"X": states, "I": t}, ["Out"])
            last_ids.desc.set_shape([-1, 1])
            last_scores.desc.set_shape([-1, 1])
            last_state.desc.set_shape([-1, _STATE])
            state = op("sequence_expand", {"X": last_state, "Y": last_scores}, ["Out"],
                       ref_level=-1)
            state.desc.set_shape([-1, _STATE])
            embedded = op("lookup_table_v2", {"W": words, "Ids": op(
                "reshape2", {"X": last_ids}, ["Out", "XShape"], "int64", shape=[-1])[0]}, ["Out"])
            both = op("sum", {"X": [op("mul", {"X": state, "Y": of_state}, ["Out"]),
                                    op("mul", {"X": embedded, "Y": of_word}, ["Out"])]}, ["Out"])
            new_state = op("tanh", {"X": both}, ["Out"])
            cut_state = op("lod_reset", {"X": new_state, "Y": last_scores}, ["Out"])
            likely = op("softmax", {"X": op("mul", {"X": cut_state, "Y": to_words}, ["Out"])},
                        ["Out"], axis=-1)
            best, best_ids = op("top_k", {"X": likely}, ["Out", "Indices"], k=4)
            best_ids.desc.set_dtype(paddle.base.core.VarDesc.VarType.INT64)
            before = op("reshape2", {"X": last_scores}, ["Out", "XShape"], shape=[-1])[0]
            sums = op("elementwise_add", {"X": op("log", {"X": best}, ["Out"]), "Y": before},
                      ["Out"], axis=0)
            new_ids = op.variable("new_ids", [-1, 1], "int64", 2)
            new_scores = op("beam_search", {
                "pre_ids": last_ids, "pre_scores": last_scores, "ids": best_ids, "scores": sums},
                {"selected_scores": op.variable("new_scores", [-1, 1], "float32", 2),
                 "selected_ids": new_ids, "parent_idx": op.variable("parents", [-1], "int32")},
                level=0, beam_size=beam_size, end_id=_END, is_accumulated=True)[0]
            op("increment", {"X": t}, {"Out": t}, step=1.0)
            for value, array in ((new_state, states), (new_ids, ids), (new_scores, scores)):
                op("write_to_array", {"X": value, "I": t}, {"Out": array})
            has_time = op("less_than", {"X": t, "Y": last}, ["Out"], "bool")
            is_over = op("is_empty", {"X": new_ids}, ["Out"], "bool")
            has_words = op("logical_not", {"X": is_over}, ["Out"], "bool")
            op("logical_and", {"X": has_time, "Y": has_words}, {"Out": goes_on})
        sentences = op.variable("sentences", [-1], "int64", 2)
        sentence_scores = op.variable("sentence_scores", [-1], "float32", 2)
        op("beam_search_decode", {"Ids": ids, "Scores": scores},
           {"SentenceIds": sentences, "SentenceScores": sentence_scores},
           beam_size=beam_size, end_id=_END)
    return program, ["sentences", "sentence_scores"]


def _translates_as_paddle(environment, sources, steps, beam_size, seed):
    program, fetches = _translation(steps, beam_size)
    generator = numpy.random.default_rng(seed)
    def draw(*shape):
        return generator.uniform(-2, 2, shape).astype("float32")
    values = {"words": draw(_WORDS, _WIDTH), "of_state": draw(_STATE, _STATE),
              "of_word": draw(_WIDTH, _STATE), "to_words": draw(_STATE, _WORDS)}
    feed = {"first_ids": numpy.full((sources, 1), 2, "int64"),
            "first_scores": numpy.zeros((sources, 1), "float32"),
            "first_state": draw(sources, _STATE)}
    each = list(range(sources + 1))
    lods = {"first_ids": [each, each], "first_scores": [each, each]}
    scope = paddle.static.Scope()
    for name, array in values.items():
        paddle_run.set_value(scope, name, array)
    theirs, their_lods = paddle_run.run_with_lods(
        program, scope,
        {name: paddle_run.cut(array, lods[name]) if name in lods else array
         for name, array in feed.items()}, fetches)
    data = program.desc.serialize_to_string()
    for backend in BACKENDS:
        ours, our_lods, _ = environment.runner.run(backend, data, values, [feed], fetches, lods)
        assert numpy.array_equal(ours[0]["sentences"], theirs[0]), \
            f"{backend}: {ours[0]['sentences']} instead of {theirs[0]}"
        assert our_lods[0]["sentences"] == their_lods[0], \
            f"{backend}: offsets {our_lods[0]['sentences']} instead of {their_lods[0]}"
        distance = numpy.abs(ours[0]["sentence_scores"] - theirs[1]).max()
        assert distance <= ROUNDED * numpy.abs(theirs[1]).max(), f"{backend}: {distance:.1e}"
    return f"{len(theirs[0])} words in {len(their_lods[0][1]) - 1} sentences"


def cases(environment):
    for sources, steps, beam_size, seed in ((1, 4, 2, 0), (2, 6, 3, 1), (3, 9, 4, 2), (5, 12, 4, 3)):
        yield (f"{sources} sources, {steps} steps, {beam_size} beams",
               functools.partial(_translates_as_paddle, environment, sources, steps, beam_size,
                                 seed))
