// The forms of one quantized program side by side on the same samples: simulated, portable and
// lowered have to agree to the bit, and all differ from the float program by the noise of
// quantization.

#ifndef FIXPOINT_TRANSPILER_QUANTIZE_FORM_COMPARISON_H_
#define FIXPOINT_TRANSPILER_QUANTIZE_FORM_COMPARISON_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "proto/program/program_fwd.h"
#include "runtime/backend.h"
#include "runtime/backends.h"
#include "runtime/comparison.h"
#include "runtime/scope.h"

namespace fixpoint {

// A program that runs on a scope.
struct ComparedForm {
  const Program* program = nullptr;
  Scope* parameters = nullptr;
};

// What each variable that both programs have differs by, in the order of the quantized program,
// over one batch. State that the quantized program writes, such as scales of weights, is then that
// of a run. Errors: those of MakeBackend and Comparison.
absl::StatusOr<std::vector<ComparedVariable>> CompareWithFloat(const ComparedForm& quantized,
                                                               const ComparedForm& floats,
                                                               absl::Span<const Feed> feeds,
                                                               const BackendOptions& options);

struct ComparedForms {
  ComparedForm simulated;
  ComparedForm portable;
  ComparedForm lowered;
  // Whether the simulation rounds ties away from zero, which integers round to even: then each op
  // of the lowered program is given what the portable one computed, and only ties may differ.
  bool has_ties = false;
};

struct FormAgreement {
  // What portable and simulated, and lowered and portable programs have in common.
  int64_t elements = 0;
  int64_t ties = 0;  // elements that are rounded to the other side of a tie
};

// Compares the forms on one batch. Errors: kInternal: elements differ, with the two forms and the
// first variable; those of MakeBackend and Comparison.
absl::StatusOr<FormAgreement> CheckFormsAgree(const ComparedForms& forms,
                                              absl::Span<const Feed> feeds,
                                              const BackendOptions& options);

}  // namespace fixpoint

#endif  // FIXPOINT_TRANSPILER_QUANTIZE_FORM_COMPARISON_H_
