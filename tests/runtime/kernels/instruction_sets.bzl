"""A test of what runs on kernels, with several instruction sets."""

load("//tests/testing:binary_test.bzl", "binary_test")

# The instruction sets that there are loops for (runtime/kernels/vectorised.h).
LOOP_INSTRUCTION_SETS = [
    "DEFAULT",
    "AVX2",
    "SSE41",
]

# The sets that there are integer products for: by instructions that are exact, in vectors of 512
# bits and of 256, by ones that are not, and by none (runtime/kernels/instruction_set.h).
PRODUCT_INSTRUCTION_SETS = [
    "DEFAULT",
    "AVX512_CORE",
    "AVX2_VNNI",
    "AVX2",
    "SSE41",
]

def instruction_sets_test(
        name,
        instruction_sets,
        size = "small",
        shard_count = None,
        srcs = None,
        deps = [],
        **kwargs):
    """Declares <name>_<instruction set>_test for each that oneDNN is limited to: one program.

    Args:
      name: what the tests have in front.
      instruction_sets: values of ONEDNN_MAX_CPU_ISA, DEFAULT for all that the machine has.
      size: of each test.
      shard_count: of each test.
      srcs: the program's sources, if not <name>_test.cc.
      deps: of the program.
      **kwargs: of the program.
    """
    native.cc_binary(
        name = name + "_test_program",
        testonly = True,
        srcs = srcs or [name + "_test.cc"],
        linkstatic = False,
        deps = deps + ["//tests/runtime/kernels:limited_instructions"],
        **kwargs
    )
    for instruction_set in instruction_sets:
        binary_test(
            name = "%s_%s_test" % (name, instruction_set.lower()),
            size = size,
            binary = ":%s_test_program" % name,
            env = {"ONEDNN_MAX_CPU_ISA": instruction_set},
            shard_count = shard_count,
        )
