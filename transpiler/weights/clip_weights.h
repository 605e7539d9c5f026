// Ranges of weights chosen by the rules of their specs. A weight's quantizer finds the range anew
// from the elements, so that clipping these is all it takes: freezing, and whatever reads the
// weights, then finds the chosen range.

#ifndef FIXPOINT_TRANSPILER_WEIGHTS_CLIP_WEIGHTS_H_
#define FIXPOINT_TRANSPILER_WEIGHTS_CLIP_WEIGHTS_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "ops/quantizer_table.h"
#include "proto/config/quant_plan.pb.h"
#include "proto/program/program_fwd.h"
#include "runtime/scope.h"

namespace fixpoint {

struct ClippedWeight {
  std::string variable;
  std::string why_not;  // its rule is not followed; "": it is
  int64_t elements = 0;
  int64_t clipped = 0;  // of the elements
};

// Whether a site's spec asks for a range of a weight other than the one that nothing is clipped by.
bool HasRangeRule(const QuantPlan::Site& site);

// Clips each weight of the plan that has such a rule to the ranges that the rule chooses from the
// weight's elements, for the tensor or for each channel (runtime/statistics/weight_ranges.h).
// `simulated` is a program for inference, as Transpile made it by that plan; `parameters` are its
// own, with which no other program runs. In the order of the plan. A weight is left as it is where
// others than its quantizer read it, too, where no parameter holds it, where its range is not
// found from it, and where it is not finite. Errors: those of FindQuantizationSites.
absl::StatusOr<std::vector<ClippedWeight>> ClipWeights(const Program& simulated,
                                                       const QuantPlan& plan,
                                                       const QuantizerTable& quantizers,
                                                       Scope* parameters);

// What a user wants to know of it: nothing where no weight has a rule.
std::vector<std::string> NotesOnClipping(const std::vector<ClippedWeight>& weights);

}  // namespace fixpoint

#endif  // FIXPOINT_TRANSPILER_WEIGHTS_CLIP_WEIGHTS_H_
