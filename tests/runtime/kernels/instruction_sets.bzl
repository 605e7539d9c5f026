"""A test of what runs on kernels, with several instruction sets."""

# Those that there are loops for (runtime/kernels/vectorised.h).
LOOP_INSTRUCTION_SETS = [
    "DEFAULT",
    "AVX2",
    "SSE41",
]

# Those that there are integer products for: by instructions that are exact, by ones that are not,
# and by none (runtime/kernels/instruction_set.h).
PRODUCT_INSTRUCTION_SETS = [
    "DEFAULT",
    "AVX512_CORE",
    "AVX2",
    "SSE41",
]

def instruction_sets_test(
        name,
        instruction_sets,
        size = "small",
        shard_count = None,
        srcs = None,
        **kwargs):
    """Declares <name>_<instruction set>_test for each that oneDNN is limited to.

    Args:
      name: what the tests have in front.
      instruction_sets: values of ONEDNN_MAX_CPU_ISA, DEFAULT for all that the machine has.
      size: of each cc_test.
      shard_count: of each cc_test.
      srcs: their sources, if not <name>_test.cc.
      **kwargs: of the library that they share, so that it is compiled once.
    """
    native.cc_library(
        name = name + "_test_cases",
        testonly = True,
        srcs = srcs or [name + "_test.cc"],
        alwayslink = True,
        **kwargs
    )
    for instruction_set in instruction_sets:
        native.cc_test(
            name = "%s_%s_test" % (name, instruction_set.lower()),
            size = size,
            shard_count = shard_count,
            env = {"ONEDNN_MAX_CPU_ISA": instruction_set},
            deps = [":%s_test_cases" % name],
        )
