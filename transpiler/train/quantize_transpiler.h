// The main job: a training program becomes one that trains as the integers will run, and back.
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
#include "proto/program.h"
#include "proto/quant_config.pb.h"
#include "proto/quant_plan.pb.h"
#include "proto/target.pb.h"
#include "transpiler/pipeline/input_error.h"
#include "transpiler/pipeline/pipeline.h"

namespace fixpoint {

inline constexpr char kTrainPipeline[] =
    "plan_quantizers,insert_quantizers,train_scales,freeze_batch_norm,initialize_state";
// The target where a configuration names none: that whose programs run in the most runtimes
// (docs/manual.md, "Targets").
inline constexpr char kDefaultTarget[] = "paddle_2_6";

// The pipeline of a transpile. Errors (kInvalidArgument): those of Pipeline::Parse; a pass twice
// whose effect holds already; quantizers whose state nothing initialises.
absl::StatusOr<Pipeline> ParseTrainPipeline(absl::string_view text, const PassTable& passes);

struct TranspileOptions {
  QuantConfig config;
  // Instead of config.target: one that was read or made already. It is checked as a file is.
  std::optional<Target> target;
  // The startup program, which new persistable variables are initialised in.
  Program* startup = nullptr;
  // What messages call the configuration, the plan and the profile.
  InputNames names;
  // A plan to follow instead of making one, and ranges to begin with.
  const QuantPlan* plan = nullptr;
  const RangeProfile* profile = nullptr;
  // A user's own quantizers and passes; null: the built-in ones.
  const QuantizerTable* quantizers = nullptr;
  const PassTable* passes = nullptr;
  std::string pipeline = kTrainPipeline;
  PipelineOptions pipeline_options;
};

struct TranspileResult {
  // What was decided and done; also in the program's edit log.
  QuantPlan plan;
  // Why nothing was done, where nothing was: the program is quantized already.
  std::string left_alone;
  // Initialises what the program needs beyond what it needed before; only where no startup program
  // was given.
  std::optional<Program> new_startup;
  std::vector<std::string> notes;
};

// Rewrites a program in place. If it fails, `program` and the startup program are as before.
// A program that Fixpoint has rewritten is left alone, and one that another tool has quantized
// unless config.allow_quantized; the result says so. Linear in the program.
// Errors: those of CheckConfig, LoadTarget, CheckTarget, MakePlan and Pipeline; kInternal where a
// pass or an invariant broke.
absl::StatusOr<TranspileResult> Transpile(Program* program, const TranspileOptions& options = {});

// Gives the program back as it was before Transpile: byte for byte, from the edit log, where it is
// as Transpile left it; where it was loaded and saved by another tool since, from the marks on its
// ops, up to what that tool changed.
// Errors: kFailedPrecondition: the program carries neither log nor marks, or a log that does not
// fit it, or marks that lead back to a wrong program; kInvalidArgument: a mark does not fit its op.
// The program is then as before.
absl::Status Untranspile(Program* program);

}  // namespace fixpoint

#endif  // FIXPOINT_TRANSPILER_TRAIN_QUANTIZE_TRANSPILER_H_
