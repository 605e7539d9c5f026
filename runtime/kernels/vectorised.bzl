"""Libraries of loops that the compiler vectorises."""

load("//runtime:optimised.bzl", "OPTIMISED")

def vectorised_library(name, deps = [], **kwargs):
    """Declares a cc_library whose loops run through runtime/kernels/vectorised.h.

    They are optimised in every compilation mode, and may ignore traps and errno, without which few
    of them are vectorised. Not NaN, infinities, signs of zero or the order of sums.

    Args:
      name: the library's.
      deps: those besides :parallel_for and :vectorised.
      **kwargs: of the cc_library.
    """
    native.cc_library(
        name = name,
        copts = OPTIMISED + [
            "-fno-trapping-math",
            "-fno-math-errno",
        ],
        deps = deps + [
            ":parallel_for",
            ":vectorised",
        ],
        **kwargs
    )
