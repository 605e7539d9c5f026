"""(e) Each op singly, forward and gradient, on both of our backends.

The cases are in `op_cases`, a module for each family of ops, which says how near is near enough.
What differs on purpose, or because the reference is wrong, is in EXPECTED, with the cause; it has
to differ, so that nothing stays there that no longer does.
"""

import functools

import numpy
import op_cases
from op_case import GRADIENT, OpProgram
from ours import BACKENDS, Refused

# Titles of cases to the outputs that differ, by the names of their slots, and why.
_UNSEEN = "2.6 has the attribute, and kernels that do not look at it; ours do, as those of 1.8 did"
_ROWS = "2.6 gives them the axes of X before begin_norm_axis, releases before it and ours one axis"
_PADDED_END = ("2.6 takes the padding at the beginning of an axis for that at its end when it "
               "counts the elements of a window; ours counts those of the padded image")
_ADAPTIVE_MAX = ("2.6 forgets that the pooling is adaptive, where it is one of maxima, and moves "
                 "its window by strides; its Python interface calls another op")
_STALE_CONTEXT = ("2.6 gathers no context of a sequence that ends before contextStart, and finds the "
                  "gradient of the context of X in its place; where none is as short, all agree")
EXPECTED = {
    "relu6: X[3,37] threshold=3.0": ({"Out", "X@GRAD"}, _UNSEEN),
    "hard_swish: X[3,37] threshold=4.0 scale=4.0 offset=2.0": ({"Out", "X@GRAD"}, _UNSEEN),
    "swish: X[3,37] beta=1.5": ({"Out", "X@GRAD"}, _UNSEEN),
    "momentum: Param[5,7] Grad[5,7] LearningRate=[0.01] Velocity[5,7] mu=0.9 rescale_grad=0.5":
        ({"Param", "Velocity"}, _UNSEEN),
    "logsigmoid: X[13]": ({"Out"}, "of -inf 2.6 computes inf - inf, a NaN; ours is -inf"),
    "layer_norm: X[2,3,8] Scale[8] Bias[8] begin_norm_axis=2": ({"Mean", "Variance"}, _ROWS),
    "layer_norm: X[2,3,4,5] Scale[20] Bias[20] begin_norm_axis=2 epsilon=0.001":
        ({"Mean", "Variance"}, _ROWS),
    "pool2d: X[1,2,6,6] ksize=[3, 3] strides=[2, 2] paddings=[1, 0, 0, 1] exclusive=False "
    "pooling_type=avg": ({"Out", "X@GRAD"}, _PADDED_END),
    "pool2d: X[1,2,7,6] ksize=[3, 3] strides=[2, 2] padding_algorithm=SAME exclusive=False "
    "pooling_type=avg": ({"Out", "X@GRAD"}, _PADDED_END),
    "pool2d: X[2,3,8,8] ksize=[1, 1] adaptive=True pooling_type=max":
        ({"Out", "X@GRAD"}, _ADAPTIVE_MAX),
    "pool2d: X[2,3,8,6] ksize=[4, 3] adaptive=True pooling_type=max":
        ({"Out", "X@GRAD"}, _ADAPTIVE_MAX),
    "pool2d: X[2,3,7,5] ksize=[3, 4] adaptive=True pooling_type=max":
        ({"Out", "X@GRAD"}, _ADAPTIVE_MAX),
    "pool2d: X[2,8,6,3] data_format=NHWC ksize=[3, 4] adaptive=True pooling_type=max":
        ({"Out", "X@GRAD"}, _ADAPTIVE_MAX),
    "sequence_conv: X[7,5] cut at 0 2 2 3 7 Filter[10,6] contextLength=2 contextStart=1 "
    "contextStride=1 paddingTrainable=False": ({"Filter@GRAD"}, _STALE_CONTEXT),
}
EXPECTED["group_norm: X[2,6,4,5] groups=3"] = (
    {"X@GRAD"}, "2.6 does not take off the mean of the gradient of Y where there is no Scale")
_FIRST_LINES = ("2.6 gives all lines along an axis that is not the first the gradient of the first "
                "of them")
EXPECTED.update({
    f"gather: X[{shape}] Index={index} axis={axis}": ({"X@GRAD"}, _FIRST_LINES)
    for size in (5, 6)
    for shape, index, axis in ((f"2,{size},3", [4, 0, 0, 2], 1), (f"2,3,{size}", [4, 1], 2))})
_STATISTICS = ("2.6 takes the running statistics in the gradient of an op in test mode, even where "
               "the op itself took those of the batch")
EXPECTED.update({
    f"batch_norm: X[{shape}] Scale[{channels}] Bias[{channels}] Mean[{channels}] "
    f"Variance[{channels}] is_test=True trainable_statistics=True":
        ({"X@GRAD", "Scale@GRAD"}, _STATISTICS)
    for shape, channels in (("4,3,5,5", 3), ("2,16,4,4", 16), ("8,6", 6))})
_OF_SIGMA = ("2.6 multiplies the gradient of Out by 1 - u v^T * the sum of Weight / sigma, element "
             "by element; ours is the derivative (docs/reference_defects.md)")
EXPECTED.update({
    f"spectral_norm: Weight[3,4,5] U[{rows}] V[{60 // rows}] dim={axis} power_iters={iterations} "
    "eps=1e-12": ({"Weight@GRAD"}, _OF_SIGMA)
    for axis, rows in ((0, 3), (1, 4)) for iterations in (0, 1, 3)})
# Differences of the executor alone.
_CODE_OF_NAN = "the executor holds codes as integers, of which none is a NaN (docs/numerics.md)"
EXPECTED_OF_EXECUTOR = {
    "fake_quantize_abs_max: X=[1.0, nan, 2, 3]": ({"Out"}, _CODE_OF_NAN),
    "fake_quantize_dequantize_abs_max: X=[1.0, nan, 2, 3]": ({"Out"}, _CODE_OF_NAN),
}

# Op types that our backends run and that no case judges.
_OURS = "no op of the reference"
_RANDOM = "draws other random numbers, from the seed, the op and the step (docs/numerics.md)"
_BLOCKS = "runs blocks of a program: five_steps.py, control_flow_ops_test.cc of the interpreter"
_CHOOSES = "leaves outputs without a value: tests/runtime/executor/blocks_test.cc"
_ARRAYS = "takes an array or a table: tests/runtime/reference/tensor_array_ops_test.cc"
_ROWS_OF_TABLES = "takes selected rows: sparse.py"
_OF_OTHERS = "no op of 2.6, but of releases before or after it"
_NO_KERNEL = "an op of 2.6 that has no kernel there"
NOT_JUDGED = {
    "dither": _OURS,
    "fake_dequantize_affine": _OURS,
    "fake_dequantize_bias": _OURS,
    "fake_quantize_dequantize_affine": _OURS,
    "fake_quantize_dequantize_affine_grad": _OURS,
    "fake_quantize_dequantize_at_range": _OURS,
    "fake_quantize_dequantize_at_range_grad": _OURS,
    "fake_quantize_dequantize_bias": _OURS,
    "fake_quantize_dequantize_stochastic_abs_max": _OURS,
    "fake_quantize_moving_average_min_max": _OURS,
    "fake_quantize_window_mean_abs_max": _OURS,
    "fake_requantize": _OURS,
    "fake_row_wise_dequantize": _OURS,
    "fake_row_wise_quantize_min_max": _OURS,
    "folded_batch_norm": _OURS,
    "folded_batch_norm_grad": _OURS,
    "integer_add": _OURS,
    "integer_average_pool2d": _OURS,
    "integer_conv2d": _OURS,
    "integer_conv2d_transpose": _OURS,
    "integer_dequantize": _OURS,
    "integer_elementwise_mul": _OURS,
    "integer_gru": _OURS,
    "integer_lookup_table": _OURS,
    "integer_lookup_table_v2": _OURS,
    "integer_lstm": _OURS,
    "integer_matmul": _OURS,
    "integer_mul": _OURS,
    "integer_quantize": _OURS,
    "integer_rnn": _OURS,
    "integer_row_wise_fc": _OURS,
    "integer_table": _OURS,
    "scale_gradient": _OURS,
    "scaled_dot_product_attention": _OURS,
    "select_from_step": _OURS,
    "select_from_step_grad": _OURS,
    "fake_quantize_dequantize_grad": _OF_OTHERS,
    "expand_as": _OF_OTHERS,
    "expand_as_grad": _OF_OTHERS,
    "flatten": _OF_OTHERS,
    "flatten_grad": _OF_OTHERS,
    "isfinite": _OF_OTHERS,
    "isinf": _NO_KERNEL,
    "isnan": _NO_KERNEL,
    "cos_sim": _OF_OTHERS,
    "cos_sim_grad": _OF_OTHERS,
    "lstm_unit": _OF_OTHERS,
    "lstm_unit_grad": _OF_OTHERS,
    "lstmp": _OF_OTHERS,
    "lstmp_grad": _OF_OTHERS,
    "one_hot": _OF_OTHERS,
    "prroi_pool": _OF_OTHERS,
    "prroi_pool_grad": _OF_OTHERS,
    "sigmoid_focal_loss": _OF_OTHERS,
    "sigmoid_focal_loss_grad": _OF_OTHERS,
    "pad2d": _NO_KERNEL,
    "pad2d_grad": _NO_KERNEL,
    "rnn_memory_helper": _OF_OTHERS,
    "rnn_memory_helper_grad": _OF_OTHERS,
    "smooth_l1_loss": _OF_OTHERS,
    "smooth_l1_loss_grad": _OF_OTHERS,
    "space_to_depth": _OF_OTHERS,
    "space_to_depth_grad": _OF_OTHERS,
    "squeeze": _OF_OTHERS,
    "squeeze_grad": _OF_OTHERS,
    "straight_through_estimator_grad": _OF_OTHERS,
    "target_assign": _OF_OTHERS,
    "unsqueeze": _OF_OTHERS,
    "unsqueeze_grad": _OF_OTHERS,
    "array_to_lod_tensor": _ARRAYS,
    "beam_search_decode": "takes an array: searches.py",
    "lod_array_length": _ARRAYS,
    "lod_rank_table": _ARRAYS,
    "lod_tensor_to_array": _ARRAYS,
    "max_sequence_len": _ARRAYS,
    "read_from_array": _ARRAYS,
    "reorder_lod_tensor_by_rank": _ARRAYS,
    "shrink_rnn_memory": _ARRAYS,
    "shrink_rnn_memory_grad": _ARRAYS,
    "tensor_array_to_tensor": _ARRAYS,
    "write_to_array": _ARRAYS,
    "get_tensor_from_selected_rows": _ROWS_OF_TABLES,
    "merge_selected_rows": _ROWS_OF_TABLES,
    "gaussian_random": _RANDOM,
    "truncated_gaussian_random": _RANDOM,
    "uniform_random": _RANDOM,
    "conditional_block": _BLOCKS,
    "conditional_block_grad": _BLOCKS,
    "recurrent": _BLOCKS,
    "recurrent_grad": "PaddlePaddle 2.6.2 cannot run what its own backward pass makes of a state",
    "select_output": _CHOOSES,
    "while": _BLOCKS,
    "while_grad": _BLOCKS,
}


def _distance(ours, theirs):
    """The largest difference, as a part of the largest number; a text where none can be had."""
    # A scalar is [1] on our backends.
    ours, theirs = numpy.atleast_1d(ours), numpy.atleast_1d(theirs)
    if ours.dtype != theirs.dtype or ours.shape != theirs.shape:
        return f"{ours.dtype}{list(ours.shape)} instead of {theirs.dtype}{list(theirs.shape)}"
    if ours.dtype.kind != "f":
        return 0.0 if numpy.array_equal(ours, theirs) else "other integers"
    finite = numpy.isfinite(ours) & numpy.isfinite(theirs)
    if not numpy.array_equal(ours[~finite], theirs[~finite], equal_nan=True):
        return "infinities or NaN at other places"
    if numpy.array_equal(ours[finite], theirs[finite]):
        return 0.0
    ours, theirs = ours[finite].astype("float64"), theirs[finite].astype("float64")
    return numpy.abs(ours - theirs).max() / max(numpy.abs(theirs).max(), 1e-30)


def _slot_of(output):
    """The slot of an output's variable, which is named after it."""
    variable, gradient, _ = output.partition(GRADIENT)
    return variable.split(".")[0] + gradient


def _check_lods(ours, theirs):
    """Offsets of gradients are not compared: the reference hands them on by chance."""
    def of_outputs(lods):
        return {name: lod for name, lod in lods.items() if GRADIENT not in name}
    assert of_outputs(ours) == of_outputs(theirs), f"offsets are {ours}; want {theirs}"


def _told(value):
    return f"{value:.1e}" if isinstance(value, float) else value


class Judge:
    """Runs cases here and there, and knows which op types were compared."""

    def __init__(self, runner):
        self._runner = runner
        self.types = {backend: runner.types(backend) for backend in BACKENDS}
        self.judged = set()

    def _program(self, case):
        """The program with the gradient, where any backend of ours has it."""
        if case.has_gradient:
            program = OpProgram(case, with_gradient=True)
            if any(program.op_types <= types for types in self.types.values()):
                return program, "forward and gradient"
        return OpProgram(case, with_gradient=False), "forward"

    def compare(self, case, tolerance):
        program, what = self._program(case)
        theirs, their_lods = program.run_by_paddle()
        told = []
        for backend in BACKENDS:
            if not program.op_types <= self.types[backend]:
                told.append(f"{backend} has no such op")
                continue
            refusal = case.refused or (backend == "onednn" and case.executor_refuses)
            try:
                ours, our_lods = program.run_by_us(self._runner, backend)
            except Refused as message:
                assert refusal and refusal in str(message), f"{backend}: {message}"
                told.append(f"{backend} refuses: {refusal}")
                continue
            assert not refusal, f"{backend} does it; it was expected to say \"{refusal}\""
            _check_lods(our_lods, their_lods)
            told.append(f"{backend} " + self._compare(case, backend, ours, theirs, tolerance))
        assert any(program.op_types <= types for types in self.types.values()), program.op_types
        self.judged |= program.op_types
        return f"{what}: {', '.join(told)}"

    def _compare(self, case, backend, ours, theirs, tolerance):
        distances = {name: _distance(ours[name], theirs[name]) for name in theirs}
        far = {name: distance for name, distance in distances.items()
               if isinstance(distance, str) or distance > tolerance}
        expected = EXPECTED.get(case.title()) or (
            backend == "onednn" and EXPECTED_OF_EXECUTOR.get(case.title()))
        if expected:
            slots, cause = expected
            assert {_slot_of(name) for name in far} == slots, \
                f"{backend}: {far} differ; {slots} were expected to, because {cause}"
            return f"differs: {cause}"
        assert not far, f"{backend}: " + ", ".join(
            f"{name} {_told(distance)}" for name, distance in far.items()) + f", of {tolerance}"
        return _told(max(distances.values()))


def every_op_type_is_judged(judge):
    known = set().union(*judge.types.values())
    missing = known - judge.judged - set(NOT_JUDGED)
    assert not missing, f"there is no case of {' '.join(sorted(missing))}"
    stale = set(NOT_JUDGED) & judge.judged | set(NOT_JUDGED) - known
    assert not stale, f"NOT_JUDGED lists {' '.join(sorted(stale))} without need"
    return f"{len(judge.judged & known)} op types; not {', '.join(sorted(NOT_JUDGED))}"


def cases(environment):
    judge = Judge(environment.runner)
    titles = set()
    for case, tolerance in op_cases.all_cases():
        assert case.title() not in titles, f"two cases are {case.title()}"
        titles.add(case.title())
        yield case.title(), functools.partial(judge.compare, case, tolerance)
    stale = (EXPECTED.keys() | EXPECTED_OF_EXECUTOR.keys()) - titles
    assert not stale, f"no cases are {stale}"
    yield "every op type is judged", functools.partial(every_op_type_is_judged, judge)
