"""Tests of the executor, beside the interpreter or by themselves."""

load("//tests/runtime/kernels:instruction_sets.bzl", "instruction_sets_test")

_DEPS = [
    "//ops:op_schema",
    "//proto/program",
    "//runtime:guarded_call",
    "//runtime:random",
    "//runtime:scope",
    "//runtime:tensor",
    "//runtime/executor",
    "//runtime/executor:plan",
    "//runtime/executor:planner",
    "//runtime/reference:interpreter",
    "//tests/runtime/executor:both_backends",
    "//tests/testing:parameter_text",
    "//tests/testing:parsed_program",
    "@absl//:span",
    "@absl//:status",
    "@absl//:strings",
    "@googletest//:gmock",
    "@googletest//:gtest_main",
]

def executor_test(name, size = "small", deps = [], instruction_sets = None, srcs = None, **kwargs):
    """Declares <name>_test, or with instruction sets one for each.

    Args:
      name: what the test has in front.
      size: of the test.
      deps: beside what most of these tests need.
      instruction_sets: those of instruction_sets_test.
      srcs: its sources, if not <name>_test.cc.
      **kwargs: of the cc_test.
    """
    if instruction_sets:
        instruction_sets_test(
            name = name,
            size = size,
            srcs = srcs,
            instruction_sets = instruction_sets,
            deps = _DEPS + deps,
            **kwargs
        )
        return
    native.cc_test(
        name = name + "_test",
        size = size,
        srcs = srcs or [name + "_test.cc"],
        deps = _DEPS + deps,
        **kwargs
    )
