// From a trained program and its parameters to the program to deploy: integer weights, fixed
// ranges, and nothing that belongs to training.

#ifndef FIXPOINT_TRANSPILER_FREEZE_FREEZE_H_
#define FIXPOINT_TRANSPILER_FREEZE_FREEZE_H_

#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "ops/quantizer_table.h"
#include "proto/program/program.h"
#include "runtime/row_formats.h"
#include "runtime/scope.h"
#include "transpiler/freeze/frozen_form.h"
#include "transpiler/pipeline/pipeline.h"

namespace fixpoint {

inline constexpr char kFreezePipeline[] =
    "strip_training,set_test_mode,freeze_observers,prune_to_inference,fold_formulas,"
    "freeze_scales,"
    "quantize_weights,quantize_biases,prune_to_inference,remove_dead_variables";
// The pipeline of the legacy forms.
inline constexpr char kLegacyFreezePipeline[] =
    "strip_training,set_test_mode,freeze_observers,prune_to_inference,fold_formulas,"
    "freeze_scales,"
    "quantize_weights,quantize_biases,dequantize_products,prune_to_inference,remove_dead_variables";

inline const char* FreezePipelineOf(FrozenForm form) {
  return form == FrozenForm::kPortable ? kFreezePipeline : kLegacyFreezePipeline;
}

// The pipeline of a freeze. Errors (kInvalidArgument): those of Pipeline::Parse; no pass for what a
// frozen program of the form has to be.
absl::StatusOr<Pipeline> ParseFreezePipeline(absl::string_view text, FrozenForm form,
                                             const PassTable& passes);

struct FreezeOptions {
  FrozenForm form = FrozenForm::kPortable;
  // The feeds and fetches; empty: those of the program's feed and fetch ops. If the program has no
  // feed op and none are named, its feeds are the variables that it needs and does not compute.
  std::vector<std::string> feeds;
  std::vector<std::string> fetches;
  // Stores float tables as rows of codes (pack_tables.cc), which no quantizer simulates: the pass
  // becomes one of the form's pipeline, and in a pipeline of one's own it has this format.
  std::optional<RowFormat> pack_tables;
  // Keeps activations whose range is found anew at every run as they are, instead of refusing.
  bool allow_dynamic = false;
  // A user's own quantizers; null: the built-in ones.
  const QuantizerTable* quantizers = nullptr;
  // The same for passes; and the passes to run, empty: the pipeline of the form.
  const PassTable* passes = nullptr;
  std::string pipeline;
  PipelineOptions pipeline_options;
};

// The passes that the options ask for, unless they name their own.
std::string FreezePipelineOf(const FreezeOptions& options);

struct FrozenModel {
  Program program;
  Scope scope;  // the program's parameters, and nothing else
  QuantizedWeights weights;
  std::vector<std::string> notes;
};

// Freezes a quantized program, for training or inference, Fixpoint's or the reference's, with the
// values of its persistable variables; neither is changed. Block indexes stay too. The result
// has no way back: neither an edit log nor marks of what ops read before. Linear in the program and
// in the parameters.
//
// In the portable form the result computes what MakeTestProgram(program) computes, bit for bit on
// the same kernels, and every variable that both have holds the same; except that a weight whose
// stored range is not its own (the reference reads that of the last training step) has its own
// again.
//
// Errors name the op and the variable:
//   kFailedPrecondition  nothing is quantized; it is frozen or lowered already; neither training
//   nor
//                        a profile has told a range (known_ranges.h), or that of an activation is
//                        dynamic or computed; codes are read by an op that does not
//                        dequantize, or the range that a quantizer found by one that stays
//   kInvalidArgument     those of ParseFreezePipeline; an op that quantizes is invalid; a feed or
//                        fetch is not there; a scale or a weight is of a wrong type or shape, NaN,
//                        infinite or negative
//   kNotFound            the scope lacks a parameter
//   kUnimplemented       a weight after a cast to another type than FP32, or with a zero point
absl::StatusOr<FrozenModel> Freeze(const Program& program, const Scope& scope,
                                   const FreezeOptions& options = {});

}  // namespace fixpoint

#endif  // FIXPOINT_TRANSPILER_FREEZE_FREEZE_H_
