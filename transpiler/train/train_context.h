// What the passes that rewrite a training program share.

#ifndef FIXPOINT_TRANSPILER_TRAIN_TRAIN_CONTEXT_H_
#define FIXPOINT_TRANSPILER_TRAIN_TRAIN_CONTEXT_H_

#include <string>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "ops/quantizer_table.h"
#include "proto/config/quant_config.pb.h"
#include "proto/config/quant_plan.pb.h"
#include "proto/config/range_profile.pb.h"
#include "proto/config/target.pb.h"
#include "proto/program/program_fwd.h"
#include "transpiler/pipeline/input_error.h"
#include "transpiler/pipeline/pass.h"
#include "transpiler/plan/plan.h"
#include "transpiler/plan/target_check.h"
#include "transpiler/train/first_values.h"

namespace fixpoint {

// A persistable variable that a pass declared, and its initial value.
struct NewState {
  const Variable* variable = nullptr;
  double initial_value = 0;
};

class TrainContext final : public PassContext {
 public:
  // REQUIRES: all outlive this object.
  TrainContext(const QuantizerTable& quantizers, const QuantConfig& config, const Target& target,
               const CheckTable& checks, Program* startup)
      : PassContext(quantizers),
        config(config),
        target(target),
        startup(*startup),
        checks(checks) {}

  Program* startup_program() override { return &startup; }

  const QuantConfig& config;
  const Target& target;
  Program& startup;

  // Those that the target can name.
  const CheckTable& checks;

  // How messages refer to the configuration, the plan and the profile.
  InputNames names;
  // Ranges that quantizers start with; null if none were given.
  const RangeProfile* profile = nullptr;
  bool starts_from_parameters = false;  // TranspileOptions

  // A plan to follow instead of making one; null if none was given. Its positions are those of the
  // program that plan_quantizers finds.
  const QuantPlan* given_plan = nullptr;
  Plan plan;
  // The plan as a file, for the program as plan_quantizers found it.
  QuantPlan plan_as_made;
  std::vector<NewState> new_state;
  // States that begin with what a known range or a known weight gives.
  std::vector<FirstValues> first_values;
  // By site of the plan, what the names of its quantizer stand for: states, and what the ops of its
  // formula write.
  absl::flat_hash_map<const Site*, absl::flat_hash_map<std::string, std::string>> quantizer_names;
};

}  // namespace fixpoint

#endif  // FIXPOINT_TRANSPILER_TRAIN_TRAIN_CONTEXT_H_
