"""(d) What PaddlePaddle accepts of ours: op types, marks, attributes, the edit log.

Written to docs/paddle_acceptance.md by `./bazelw run //tests/interop -- acceptance --update_docs`,
and compared with it otherwise.
"""

import functools
import pathlib
import tempfile

import nets
import paddle
import paddle_run
from paddle.base import core
from paddle.base.framework import IrGraph
from paddle_program import Program, parse, without_feeds

_DOCUMENT = "paddle_acceptance.md"
_EDIT_LOG_FIELD = 1000

# Configurations that make our targets emit every op type that they know.
_CONFIGS = (
    'target: "paddle_2_6" weights { quantizer: "abs_max" } activations { quantizer: "abs_max" }',
    'target: "paddle_2_6" weights { quantizer: "abs_max" form: FUSED } '
    'activations { quantizer: "abs_max" form: FUSED }',
    'target: "paddle_2_6" weights { quantizer: "channel_wise_abs_max" } '
    'activations { quantizer: "range_abs_max" }',
    'target: "paddle_2_6" weights { quantizer: "channel_wise_abs_max" form: FUSED } '
    'activations { quantizer: "moving_average_abs_max" } also_quantize: "elementwise_add" '
    'also_quantize: "pool2d" observe_outputs: true',
    'target: "onednn_int8" also_quantize: "elementwise_add"',
    'target: "onednn_int8" activations { quantizer: "window_mean_abs_max" }',
    'target: "onednn_int8" activations { quantizer: "moving_average_min_max" scheme: AFFINE }',
)

_STATIC = ('target: "paddle_2_6" weights { quantizer: "channel_wise_abs_max" } '
           'activations { quantizer: "moving_average_abs_max" }')
_STATIC_16_BITS = ('target: "paddle_2_6" weights { quantizer: "abs_max" bits: 16 } '
                   'activations { quantizer: "moving_average_abs_max" bits: 16 }')


# What PaddlePaddle does with a program. Each takes a serialized program and gives one back, or
# raises what PaddlePaddle raises.

def _save_again(data, net, startup):
    return paddle_run.load(data).desc.serialize_to_string()


def _clone_for_test(data, net, startup):
    return paddle_run.load(data).clone(for_test=True).desc.serialize_to_string()


def _through_a_graph(data, net, startup):
    graph = IrGraph(core.Graph(paddle_run.load(data).desc), for_test=False)
    return graph.to_program().desc.serialize_to_string()


def _save_inference_model(data, net, startup):
    program = paddle_run.load(data).clone(for_test=True)
    variable = program.global_block().var
    with tempfile.TemporaryDirectory() as folder, \
            paddle.static.scope_guard(paddle_run.start(startup)):
        path = pathlib.Path(folder) / "model"
        paddle.static.save_inference_model(
            str(path), [variable("image")], [variable(_prediction(program))],
            paddle.static.Executor(paddle.CPUPlace()), program=program)
        return path.with_suffix(".pdmodel").read_bytes()


def _train(data, net, startup):
    paddle_run.train(paddle_run.load(data), paddle_run.start(startup), net, 1)
    return data


def _run_the_clone(data, net, startup):
    program = paddle_run.load(data).clone(for_test=True)
    paddle_run.train(program, paddle_run.start(startup), net, 1)
    return data


def _prediction(program):
    """What the loss is computed of."""
    return next(op.input("Logits")[0] for op in program.global_block().ops
                if op.type == "softmax_with_cross_entropy")


_FOR_OPS = {"loads and saves": _save_again, "trains": _train,
            "clone(for_test) runs": _run_the_clone,
            "save_inference_model": _save_inference_model}
_FOR_MARKS = {"save": _save_again, "clone(for_test)": _clone_for_test,
              "IrGraph": _through_a_graph, "save_inference_model": _save_inference_model}


def _attempt(action, *arguments):
    """What the action gives, or None where PaddlePaddle refuses."""
    try:
        return action(*arguments)
    except (RuntimeError, ValueError, NotImplementedError, TypeError):
        return None


def _op_rows(environment, net):
    """For each op type that we insert: which actions succeed on a program that has it."""
    rows = {}
    for config in _CONFIGS:
        main, startup = environment.transpiler.transpile(net.main, config, net.startup)
        inserted = {op.type for op in Program(main).ops()
                    if "fixpoint.inserted_by" in op.attributes}
        for action_name, action in _FOR_OPS.items():
            accepted = _attempt(action, main, net, startup) is not None
            for op_type in inserted:
                row = rows.setdefault(op_type, {})
                if accepted or action_name not in row:
                    row[action_name] = "yes" if accepted else "no"
    return rows


# How a quantized program is configured and frozen, by name.
_FROZEN = {
    "portable": (_STATIC, "portable"),
    "portable, 16 bits": (_STATIC_16_BITS, "portable"),
    "legacy": (_STATIC, "legacy"),
    "legacy_int8": (_STATIC, "legacy_int8"),
}


def _frozen_rows(environment, net):
    """For each form of frozen programs: whether PaddlePaddle loads, saves and runs it."""
    rows = {}
    for name, (config, form) in _FROZEN.items():
        main, startup = environment.transpiler.transpile(net.main, config, net.startup)
        folder = environment.transpiler.new_folder()
        trained = paddle_run.start(startup)
        paddle_run.train(paddle_run.load(main), trained, net, 1)
        paddle_run.save_parameters(paddle_run.load(main), trained, folder)
        frozen, path = environment.transpiler.freeze(
            main, folder, ["image"], [net.prediction], form)
        program = without_feeds(frozen)
        saved = _attempt(_save_again, frozen, net, startup)
        scope = _attempt(paddle_run.load_parameters, paddle_run.load(frozen), path)
        ran = scope and _attempt(
            paddle_run.run, paddle_run.load(program.SerializeToString()), scope,
            {"image": net.feed(0)["image"]}, [net.prediction])
        rows[name] = {
            "op types": ", ".join(f"`{op}`" for op in sorted(Program(frozen).op_counts())
                                  if "quantize" in op),
            "loads and saves": "yes" if saved else "no",
            "loads the parameters": "yes" if scope else "no",
            "runs": "yes" if ran else "no"}
    return rows


def _kept(before, after, attribute):
    """Whether the ops that carried an attribute, of those that are left, still do."""
    carriers = [title for title, op in before.items()
                if attribute in op.attributes and title in after]
    assert carriers, attribute
    kept = [after[title].attributes.get(attribute) == before[title].attributes[attribute]
            for title in carriers]
    return "yes" if all(kept) else "on some ops" if any(kept) else "no"


def _mark_rows(environment, net):
    """For each mark: whether it is still there, unchanged, after each action."""
    main, startup = environment.transpiler.transpile(net.main, _CONFIGS[3], net.startup)
    rows = {}
    for action_name, action in _FOR_MARKS.items():
        result = action(main, net, startup)
        before = {op.title(): op for op in Program(main).ops()}
        after = {op.title(): op for op in Program(result).ops()}
        for attribute in ("fixpoint.inserted_by", "fixpoint.rewired", "quantization_type",
                          "with_quant_attr", "activation_bits"):
            rows.setdefault(f"op attribute `{attribute}`", {})[action_name] = _kept(
                before, after, attribute)
        rows.setdefault(f"`edit_log` (ProgramDesc field {_EDIT_LOG_FIELD})", {})[action_name] = (
            "yes" if _has_edit_log(result) else "no")
    return rows


def _has_edit_log(data):
    """Whether the serialized program still has the field, which PaddlePaddle does not know."""
    return parse(data).ByteSize() != len(_without_unknown_fields(data))


def _without_unknown_fields(data):
    desc = parse(data)
    desc.DiscardUnknownFields()
    return desc.SerializeToString()


def _table(first, rows):
    columns = list(next(iter(rows.values())))
    lines = [f"| {first} | " + " | ".join(columns) + " |", "|---" * (len(columns) + 1) + "|"]
    lines += [f"| {name} | " + " | ".join(row[c] for c in columns) + " |"
              for name, row in sorted(rows.items())]
    return "\n".join(lines)


def document(environment):
    net = nets.small()
    ops = {f"`{name}`": row for name, row in _op_rows(environment, net).items()}
    return f"""# What PaddlePaddle {paddle.__version__} accepts of ours

Made by `./bazelw run //tests/interop -- acceptance --update_docs`; `//tests/interop` checks that it
is still so.

## The ops that a transpile inserts

*yes*: PaddlePaddle does it with a program that has the op. The targets `paddle_1_8` and
`paddle_2_6` refuse the quantizers whose ops it does not have.

{_table("op type", ops)}

## Frozen programs

{_table("form", _frozen_rows(environment, net))}

## Marks and the edit log

Whether it is still there, unchanged, in what PaddlePaddle writes then. `transpile --undo` reads the
edit log or, where that is gone or the program was changed, the marks. An inference model has lost
the marks of the inserted ops: undo before that.

{_table("what", _mark_rows(environment, net))}
"""


def document_is_up_to_date(environment):
    path = pathlib.Path(environment.docs) / _DOCUMENT
    made = document(environment)
    if environment.update:
        path.write_text(made)
        return f"wrote {path}"
    written = path.read_text() if path.exists() else ""
    assert written == made, (
        f"docs/{_DOCUMENT} is out of date; "
        "./bazelw run //tests/interop -- acceptance --update_docs writes it")
    return None


def undo_after(environment, action):
    """Undo of what PaddlePaddle wrote gives what it would have written of the original."""
    net = nets.small()
    main, startup = environment.transpiler.transpile(net.main, _CONFIGS[0], net.startup)
    undone = environment.transpiler.undo(action(main, net, startup))
    assert _described(undone) == _described(action(net.main, net, net.startup))


def _described(data):
    program = Program(data)
    return ([(op.type, op.inputs, op.outputs, op.attributes) for op in program.ops()],
            sorted(program.variables))


def cases(environment):
    yield f"docs/{_DOCUMENT} is up to date", functools.partial(document_is_up_to_date, environment)
    for name, action in (("save", _save_again), ("clone(for_test)", _clone_for_test)):
        yield f"undo after {name}", functools.partial(undo_after, environment, action)
