// rewrite_property: checks what must hold when any number of random programs are rewritten.

#include <gflags/gflags.h>

#include <cstdint>
#include <iostream>

#include "tests/property/rewrite_property.h"

DEFINE_uint64(first_seed, 0, "The seed of the first program.");
DEFINE_uint64(seeds, 1000, "How many programs are tried.");

int main(int argc, char** argv) {
  gflags::ParseCommandLineFlags(&argc, &argv, /*remove_flags=*/true);
  uint64_t failures = 0;
  uint64_t replaced = 0;
  uint64_t with_gradients = 0;
  uint64_t checked_gradients = 0;
  for (uint64_t i = 0; i < FLAGS_seeds; ++i) {
    const fixpoint::RewriteOutcome outcome = fixpoint::RewriteOfSeed(FLAGS_first_seed + i);
    replaced += outcome.replaced;
    with_gradients += outcome.replaced_with_gradients;
    checked_gradients += outcome.gradient_is_checked;
    if (outcome.report.empty()) continue;
    ++failures;
    std::cout << outcome.report << "\n";
  }
  std::cout << FLAGS_seeds << " random programs from seed " << FLAGS_first_seed << ": " << replaced
            << " matches replaced, " << with_gradients << " of them with gradients; "
            << checked_gradients << " gradients compared with differences; " << failures
            << " failed\n";
  return failures == 0 ? 0 : 1;
}
