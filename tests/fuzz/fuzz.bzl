"""A fuzz target: libFuzzer's program under --config=fuzz, else a replay of its seeds."""

load("//tests/testing:binary_test.bzl", "binary_test")

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
        srcs = srcs,
        linkopts = select({
            "//tests/fuzz:fuzzing": ["-fsanitize=fuzzer"],
            "//conditions:default": [],
        }),
        visibility = ["//tests/docs:__pkg__"],
        deps = deps + select({
            "//tests/fuzz:fuzzing": [],
            "//conditions:default": ["//tests/fuzz:replay_main"],
        }),
    )
    binary_test(
        name = name + "_seeds_test",
        size = "small",
        args = ["$(locations %s)" % seed for seed in seeds],
        binary = ":" + name,
        data = seeds,
    )
