"""A test of kernels with several instruction sets."""

# Those that there are loops for (runtime/kernels/vectorised.h).
LOOP_INSTRUCTION_SETS = [
    "DEFAULT",
    "AVX2",
    "SSE41",
]

def instruction_sets_test(name, instruction_sets, **kwargs):
    """Declares <name>_<instruction set>_test for each that oneDNN is limited to.

    Args:
      name: what the tests have in front; their source is <name>_test.cc.
      instruction_sets: values of ONEDNN_MAX_CPU_ISA, DEFAULT for all that the machine has.
      **kwargs: of each cc_test.
    """
    for instruction_set in instruction_sets:
        native.cc_test(
            name = "%s_%s_test" % (name, instruction_set.lower()),
            size = "small",
            srcs = [name + "_test.cc"],
            env = {"ONEDNN_MAX_CPU_ISA": instruction_set},
            **kwargs
        )
