// A random network, quantized by a random configuration, in all forms and on both backends.

#ifndef FIXPOINT_TESTS_RANDOM_PROGRAMS_PROGRAM_CASE_H_
#define FIXPOINT_TESTS_RANDOM_PROGRAMS_PROGRAM_CASE_H_

#include <cstdint>
#include <string>

#include "proto/wire/program.pb.h"
#include "runtime/scope.h"
#include "tests/random/programs/configuration.h"
#include "tests/random/programs/coverage.h"
#include "tests/random/programs/network.h"

namespace fixpoint::random_cases {

struct ProgramCase {
  ProgramDesc forward;  // floats
  Scope parameters;
  RandomNetwork network;
  RandomConfiguration configuration;
  // Steps of training that find the ranges; 0: they are those of one run of the float program.
  int steps = 0;
  uint64_t inputs_seed = 0;
  bool is_on_grid = false;  // whether the numbers that are fed are multiples of 1 / 64
};

// All of it follows from both numbers.
ProgramCase MakeProgramCase(uint64_t seed, uint64_t number);

enum class ProgramOutcome {
  kSame,     // simulated, portable and lowered programs give the same, on both backends
  kRefused,  // there is no lowered program, or the float one does not run
  kDiffers,
};

struct ComparedProgram {
  ProgramOutcome outcome = ProgramOutcome::kSame;
  std::string text;  // what differs, a line each, or the error
  Coverage coverage;
};

// docs/numerics.md, "Lowering" and "How far from the interpreter", says what has to be the same and
// what may differ.
ComparedProgram CompareProgramForms(const ProgramCase& tried);

// What differs in the smallest case with the same first difference that is found in some seconds:
// as text, with its configuration, the float program and the lowered one. REQUIRES: the case
// differs.
std::string ReducedReport(ProgramCase tried);

}  // namespace fixpoint::random_cases

#endif  // FIXPOINT_TESTS_RANDOM_PROGRAMS_PROGRAM_CASE_H_
