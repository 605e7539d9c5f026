// A pass: one step of a rewrite. A pass decides nothing that a plan, configuration or target
// decides, edits only through a Rewriter, and leaves a program that verifies.

#ifndef FIXPOINT_TRANSPILER_PASS_H_
#define FIXPOINT_TRANSPILER_PASS_H_

#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "ops/quantizer_table.h"
#include "proto/program.h"
#include "proto/quant_config.pb.h"
#include "proto/quant_plan.pb.h"
#include "proto/target.pb.h"
#include "runtime/scope.h"
#include "transpiler/input_error.h"
#include "transpiler/lowering/reasons.h"
#include "transpiler/plan.h"

namespace fixpoint {

// A persistable variable that a pass declared, and its initial value.
struct NewState {
  const Variable* variable = nullptr;
  double initial_value = 0;
};

// How a frozen program represents what was quantized.
enum class FrozenForm {
  kPortable,    // int8 weights; quantize_linear and dequantize_linear around what stays float
  kLegacy,      // codes as FP32 values, and one dequantize op after each product
  kLegacyInt8,  // the same with codes stored as INT8, as the reference's convert_to_int8
};

// Weights that became codes.
struct QuantizedWeights {
  int count = 0;
  int64_t float_bytes = 0;
  int64_t code_bytes = 0;
};

// What the passes that freeze a program share.
struct FreezeContext {
  FrozenForm form = FrozenForm::kPortable;
  // Whether a frozen program may still find ranges of activations anew at every run.
  bool allow_dynamic = false;
  // The outputs and inputs of a pruned program; empty: those of its fetch and feed ops.
  std::vector<std::string> feeds;
  std::vector<std::string> fetches;
  // The trained parameters; not null if the fact "trained_parameters" is given.
  const Scope* trained = nullptr;

  // The values of parameters that passes declare.
  Scope new_parameters;
  QuantizedWeights quantized_weights;
};

// What became of an op of a portable program.
struct LoweredOp {
  int block = 0;
  int op = 0;  // its index in the portable program
  std::string type;
  std::string output;  // the first one; "" for an op without
  LoweringReason reason = LoweringReason::kNoRule;
};

// What the passes that rewrite a training program share.
struct TrainContext {
  // REQUIRES: all outlive this object.
  TrainContext(const QuantConfig& config, const Target& target, Program* startup)
      : config(config), target(target), startup(*startup) {}

  const QuantConfig& config;
  const Target& target;
  Program& startup;

  // How messages refer to the configuration, the plan and the profile.
  InputNames names;
  // Ranges that quantizers start with; null if none were given.
  const RangeProfile* profile = nullptr;

  // A plan to follow instead of making one; null if none was given. Its positions are those of the
  // program that plan_quantizers finds.
  const QuantPlan* given_plan = nullptr;
  Plan plan;
  // The plan as a file, for the program as plan_quantizers found it.
  QuantPlan plan_as_made;
  std::vector<NewState> new_state;
};

// What the passes of one pipeline share.
struct PassContext {
  explicit PassContext(const QuantizerTable& quantizers, TrainContext* train = nullptr)
      : quantizers(quantizers), train(train) {}

  const QuantizerTable& quantizers;
  // Not null if the facts "target" and "startup_program" are given: a pass that uses it requires
  // one of them.
  TrainContext* const train;
  FreezeContext freeze;
  std::vector<LoweredOp> lowered;  // in program order, without feeds and fetches
  // Notes to the user, a line each.
  std::vector<std::string> notes;
};

class Pass {
 public:
  virtual ~Pass() = default;

  // A verb: "insert_quantizers".
  virtual absl::string_view name() const = 0;
  // A sentence for the generated list.
  virtual absl::string_view doc() const = 0;
  // What must hold before, and what holds afterwards: names of facts, whose order the pipeline
  // checks before anything runs.
  virtual std::vector<std::string> Requires() const { return {}; }
  virtual std::vector<std::string> Establishes() const { return {}; }
  // What held before and no longer holds.
  virtual std::vector<std::string> Consumes() const { return {}; }
  // What no pass before this one may have established.
  virtual std::vector<std::string> ComesBefore() const { return {}; }

  // Whether the invariants (invariants.h) hold the pass to what the plan names. A pass that
  // rewrites a program in other ways returns false, and is itself responsible for its edits.
  virtual bool IsHeldToPlan() const { return true; }

  virtual absl::Status Run(Program& program, PassContext& context) const = 0;
};

// The passes that a pipeline can name: the built-in ones, and a user's own.
class PassTable {
 public:
  // The passes of passes/all_passes.inc.
  PassTable();
  PassTable(PassTable&&) = default;
  PassTable& operator=(PassTable&&) = default;

  // Error (kInvalidArgument): the name is taken.
  absl::Status Add(std::unique_ptr<Pass> pass);
  // Null if there is none of that name.
  const Pass* Find(absl::string_view name) const;
  absl::Span<const std::unique_ptr<Pass>> all() const { return passes_; }

 private:
  std::vector<std::unique_ptr<Pass>> passes_;
};

}  // namespace fixpoint

#endif  // FIXPOINT_TRANSPILER_PASS_H_
