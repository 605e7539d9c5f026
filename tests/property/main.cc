// transpile_property: checks what must hold for a transpile, on any number of random programs.

#include <gflags/gflags.h>

#include <cstdint>
#include <iostream>
#include <string>

#include "tests/property/transpile_property.h"

DEFINE_uint64(first_seed, 0, "The seed of the first program.");
DEFINE_uint64(seeds, 10000, "How many programs are tried.");

int main(int argc, char** argv) {
  gflags::ParseCommandLineFlags(&argc, &argv, /*remove_flags=*/true);
  uint64_t failures = 0;
  for (uint64_t i = 0; i < FLAGS_seeds; ++i) {
    const std::string report = fixpoint::ReportOfSeed(FLAGS_first_seed + i);
    if (report.empty()) continue;
    ++failures;
    std::cout << report << "\n";
  }
  std::cout << FLAGS_seeds << " random programs from seed " << FLAGS_first_seed << ": " << failures
            << " failed\n";
  return failures == 0 ? 0 : 1;
}
