// A table of ops with gradients: what these are tested on.

#ifndef FIXPOINT_TESTS_RUNTIME_REFERENCE_GRADIENT_CASES_H_
#define FIXPOINT_TESTS_RUNTIME_REFERENCE_GRADIENT_CASES_H_

#include <cstdint>
#include <ostream>
#include <string>
#include <vector>

#include "tests/runtime/reference/differentiated_program.h"

namespace fixpoint::reference {

// The arguments of a DifferentiatedProgram.
struct GradientCase {
  std::string name;
  std::string program;
  std::string inputs = "";  // what is not drawn
  InputRange range = {};
  std::vector<int64_t> versions = {1008005, 2006002};  // of the program's writer
};

inline void PrintTo(const GradientCase& test_case, std::ostream* out) { *out << test_case.name; }

std::vector<GradientCase> GradientCases();
// Parts of them: of ops that place elements (place_gradient_cases.cc), of those that compute on
// sequences (sequence_gradient_cases.cc), of losses (loss_gradient_cases.cc), of detectors
// (detector_gradient_cases.cc), and of ops that run blocks (block_gradient_cases.cc).
std::vector<GradientCase> PlaceGradientCases();
std::vector<GradientCase> SequenceGradientCases();
std::vector<GradientCase> LossGradientCases();
std::vector<GradientCase> DetectorGradientCases();
std::vector<GradientCase> BlockGradientCases();

}  // namespace fixpoint::reference

#endif  // FIXPOINT_TESTS_RUNTIME_REFERENCE_GRADIENT_CASES_H_
