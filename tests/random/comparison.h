// A random case on the executor and on the reference interpreter.

#ifndef FIXPOINT_TESTS_RANDOM_COMPARISON_H_
#define FIXPOINT_TESTS_RANDOM_COMPARISON_H_

#include <cstdint>
#include <string>

#include "tests/random/random_case.h"

namespace fixpoint::random_cases {

enum class Outcome {
  kSame,     // what both give is the same, as far as the case asks for it
  kRefused,  // the executor says that it does not do this (kUnimplemented), the interpreter runs it
  kInvalid,  // both say that the case is wrong
  kDiffers,
};

struct Compared {
  Outcome outcome = Outcome::kSame;
  std::string text;      // what differs, or the errors
  std::string program;   // as text, with the gradient op
  std::string inputs;    // as text, of what differs
  int64_t elements = 0;  // of all inputs
};

// Some cases run with two threads, and some with parameters that do not change, as `seed` has it.
Compared Compare(RandomCase random_case, uint64_t seed);

}  // namespace fixpoint::random_cases

#endif  // FIXPOINT_TESTS_RANDOM_COMPARISON_H_
