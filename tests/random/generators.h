// Random cases of each op type that the executor runs, by family (generators/*.cc); and of what it
// does for several ops in one step.

#ifndef FIXPOINT_TESTS_RANDOM_GENERATORS_H_
#define FIXPOINT_TESTS_RANDOM_GENERATORS_H_

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "tests/random/random_case.h"

namespace fixpoint::random_cases {

// Draws a case. Everything that the case is follows from the maker's seed.
using Generator = std::function<void(CaseMaker&)>;

struct NamedGenerator {
  std::string name;  // an op type, or what is done in one step: "conv2d on integers"
  Generator generator;
};
using Generators = std::vector<NamedGenerator>;

// What there are cases of: op types of the executor, and steps. Those of a gradient op are the ones
// of its forward op. In ascending order.
std::vector<std::string> AllNames();

// Op types of the executor that there are no cases of.
std::vector<std::string> NamesWithoutCases();

// REQUIRES: `name` is one of AllNames().
RandomCase MakeCase(const std::string& name, uint64_t seed);

// The families. A row of all_generators.inc without its function does not link.
#define FIXPOINT_GENERATORS(family) Generators family##Generators();
#include "tests/random/all_generators.inc"
#undef FIXPOINT_GENERATORS

}  // namespace fixpoint::random_cases

#endif  // FIXPOINT_TESTS_RANDOM_GENERATORS_H_
