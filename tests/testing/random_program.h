// Random training programs, for property tests of what must hold for every program.

#ifndef FIXPOINT_TESTS_TESTING_RANDOM_PROGRAM_H_
#define FIXPOINT_TESTS_TESTING_RANDOM_PROGRAM_H_

#include <cstdint>
#include <random>

#include "proto/wire/program.pb.h"

namespace fixpoint {

// Numbers that are the same on every machine, which the standard distributions' are not.
class Random {
 public:
  explicit Random(uint64_t seed) : engine_(seed) {}

  // 0 to bound - 1. REQUIRES: bound > 0.
  int Below(int bound) { return static_cast<int>(engine_() % static_cast<uint64_t>(bound)); }
  bool OneIn(int n) { return Below(n) == 0; }
  template <typename List>
  typename List::value_type OneOf(const List& list) {
    return list[Below(static_cast<int>(list.size()))];
  }

 private:
  std::mt19937_64 engine_;
};

struct RandomProgramOptions {
  // Ops of the forward part, about; those of nested blocks come on top.
  int forward_ops = 14;
  // Loops and conditionals, nested twice at most.
  bool blocks = true;
  // Gradient ops and an optimizer.
  bool backward = true;
};

// A program of convolutions, products and what stands between them, with shared weights, values
// that several ops read, in-place writes, and weights and values of outer blocks that inner ones
// read and write. It verifies clean. The same seed gives the same program on every machine.
ProgramDesc RandomProgram(uint64_t seed, const RandomProgramOptions& options = {});

// A startup program that initialises every persistable of `program` once.
ProgramDesc StartupOf(const ProgramDesc& program);

}  // namespace fixpoint

#endif  // FIXPOINT_TESTS_TESTING_RANDOM_PROGRAM_H_
