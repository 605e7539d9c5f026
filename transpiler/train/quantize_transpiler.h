// The main flow: rewrites a training program to train with simulated integers, and back.
//
//   RETURN_IF_ERROR(optimizer.Minimize(net, loss).status());
//   RETURN_IF_ERROR(Transpile(&program, options).status());

#ifndef FIXPOINT_TRANSPILER_TRAIN_QUANTIZE_TRANSPILER_H_
#define FIXPOINT_TRANSPILER_TRAIN_QUANTIZE_TRANSPILER_H_

#include <optional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "ops/quantizer_table.h"
#include "proto/config/quant_config.pb.h"
#include "proto/config/quant_plan.pb.h"
#include "proto/config/range_profile.pb.h"
#include "proto/config/target.pb.h"
#include "proto/program/program.h"
#include "transpiler/pipeline/input_error.h"
#include "transpiler/pipeline/pipeline.h"
#include "transpiler/plan/target_check.h"

namespace fixpoint {

inline constexpr char kTrainPipeline[] =
    "fold_training_batch_norm,plan_quantizers,insert_quantizers,train_scales,freeze_batch_norm,"
    "initialize_state";
// The target if a configuration names none: the one whose programs run in the most runtimes
// (docs/manual.md, "Targets").
inline constexpr char kDefaultTarget[] = "paddle_2_6";

// The pipeline of a transpile. Errors (kInvalidArgument): those of Pipeline::Parse; a repeated pass
// whose effect already holds; quantizers whose state nothing initialises.
absl::StatusOr<Pipeline> ParseTrainPipeline(absl::string_view text, const PassTable& passes);

struct TranspileOptions {
  QuantConfig config;
  // Replaces config.target: a target that was already read or made. It is checked like a file.
  std::optional<Target> target;
  // The startup program, in which new persistable variables are initialised.
  Program* startup = nullptr;
  // How messages refer to the configuration, the plan and the profile.
  InputNames names;
  // A plan to follow instead of making one, and ranges to start with.
  const QuantPlan* plan = nullptr;
  const RangeProfile* profile = nullptr;
  // Whether the startup program runs where the parameters are those that will be frozen, so that
  // states of weights can be computed from them in a program that is not trained.
  bool starts_from_parameters = false;
  // A user's own quantizers, passes and checks of targets; null: the built-in ones.
  const QuantizerTable* quantizers = nullptr;
  const CheckTable* checks = nullptr;
  const PassTable* passes = nullptr;
  std::string pipeline = kTrainPipeline;
  PipelineOptions pipeline_options;
};

struct TranspileResult {
  // The decisions, which were carried out; also in the program's edit log.
  QuantPlan plan;
  // Why nothing was done, if nothing was: the program is already quantized.
  std::string left_alone;
  // Initialises what the program needs in addition to what it needed before; only if no startup
  // program was given.
  std::optional<Program> new_startup;
  std::vector<std::string> notes;
};

// Rewrites a program in place. If it fails, `program` and the startup program are unchanged. A
// program that Fixpoint has rewritten is left alone, and so is one that another tool has quantized
// unless config.allow_quantized is set; the result says so. Linear in the program. Errors: those of
// CheckConfig, LoadTarget, CheckTarget, MakePlan and Pipeline; kInvalidArgument: the startup
// program has ops, and initialises no persistable variable of the program; kFailedPrecondition: it
// was rewritten before; kInternal if a pass or an invariant failed.
absl::StatusOr<TranspileResult> Transpile(Program* program, const TranspileOptions& options = {});

// Restores the program as it was before Transpile, or before Prepare
// (transpiler/prepare/prepare.h), whichever was last: byte for byte, from the edit log, if it is as
// that left it; if another tool has loaded and saved it since Transpile, from the marks on its ops,
// up to what that tool changed. Errors: kFailedPrecondition: the program has neither log nor marks,
// or a log that does not fit it, or marks that lead back to a wrong program; kInvalidArgument: a
// mark does not fit its op. The program is then unchanged.
absl::Status Untranspile(Program* program);

}  // namespace fixpoint

#endif  // FIXPOINT_TRANSPILER_TRAIN_QUANTIZE_TRANSPILER_H_
