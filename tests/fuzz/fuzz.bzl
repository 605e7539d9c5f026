"""A fuzz target: libFuzzer's program under --config=fuzz, else a replay of its seeds."""

def fuzz_target(name, srcs, seeds, deps):
    """Declares the program `name` and the test `name`_seeds_test.

    Args:
      name: the program's name.
      srcs: files that define LLVMFuzzerTestOneInput.
      seeds: files that the test replays.
      deps: what srcs need.
    """
    native.cc_binary(
        name = name,
        testonly = True,
        srcs = srcs + select({
            "//tests/fuzz:fuzzing": [],
            "//conditions:default": ["//tests/fuzz:replay_main.cc"],
        }),
        linkopts = select({
            "//tests/fuzz:fuzzing": ["-fsanitize=fuzzer"],
            "//conditions:default": [],
        }),
        visibility = ["//tests/docs:__pkg__"],
        deps = deps,
    )
    native.cc_test(
        name = name + "_seeds_test",
        size = "small",
        srcs = srcs + ["//tests/fuzz:replay_main.cc"],
        args = ["$(locations %s)" % seed for seed in seeds],
        data = seeds,
        deps = deps,
    )
