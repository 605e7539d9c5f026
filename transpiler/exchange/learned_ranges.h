// The values that a program quantizes or observes, with what it has learned of them: the one list
// that every form of ranges is written from.

#ifndef FIXPOINT_TRANSPILER_EXCHANGE_LEARNED_RANGES_H_
#define FIXPOINT_TRANSPILER_EXCHANGE_LEARNED_RANGES_H_

#include <cstddef>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "ops/code_range.h"
#include "ops/quantizer_table.h"
#include "proto/program/program_fwd.h"
#include "runtime/scope.h"

namespace fixpoint {

struct LearnedRange {
  // What is quantized, before what a formula does with it, or, for a weight that a frozen program
  // holds as codes, those codes.
  const Value* value = nullptr;
  const Op* op = nullptr;  // that quantizes it, takes the codes back, observes it or has its range
  bool is_weight = false;
  // The range was seen, and no op quantizes by it: `codes` are of 8 bits.
  bool is_observed = false;
  std::string quantizer;  // "" for the ops of portable programs, which belong to none
  CodeRange codes;        // symmetric ones begin at 0 where the value has no negative elements
  bool is_affine = false;
  int axis = -1;  // the channel axis, or -1: one scale for the tensor
  // One, or one for each channel: the floats that the largest code stands for or, with zero points,
  // the steps between two codes. None where the range is found anew at every run.
  std::vector<float> scales;
  std::vector<float> zero_points;  // as many, for affine codes

  const std::string& variable() const;
  // Of one channel: what one code is worth, the number that the smallest code stands for, and the
  // ends of the range, from which it is read back. A symmetric range has both signs, and equal ends,
  // if its codes have, also where there is one negative code more; the number that the largest code
  // stands for is Max.
  float Step(size_t channel) const;
  float Smallest(size_t channel) const;
  float Min(size_t channel) const;
  float Max(size_t channel) const;
};

// Every quantized value of a program in test mode (MakeTestProgram), in program order, and then the
// other values that it observes, or whose ranges frozen ops have as attributes; biases in int32,
// whose steps follow from those of their products, are none. The range of a weight that a
// dynamic quantizer finds, and one that a formula computes, are found from the parameters, as
// freezing finds them. Errors: those of FindQuantizationSites, FindStoredScales, ReadRange,
// MakeSiteCodes and ThresholdsOf; kFailedPrecondition: there is none.
absl::StatusOr<std::vector<LearnedRange>> FindLearnedRanges(const Program& program,
                                                            const Scope& parameters,
                                                            const QuantizerTable& quantizers);

// Error (kFailedPrecondition): the range of an activation is found anew at every run, so that there
// is none to write.
absl::Status CheckAllAreKept(const std::vector<LearnedRange>& ranges);

}  // namespace fixpoint

#endif  // FIXPOINT_TRANSPILER_EXCHANGE_LEARNED_RANGES_H_
