// A network that was quantized, in all its forms, and what is known of it.

#ifndef FIXPOINT_TRANSPILER_QUANTIZE_QUANTIZED_NETWORK_H_
#define FIXPOINT_TRANSPILER_QUANTIZE_QUANTIZED_NETWORK_H_

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "proto/config/quant_config.pb.h"
#include "proto/config/range_profile.pb.h"
#include "proto/config/run_report.pb.h"
#include "runtime/comparison.h"
#include "runtime/scope.h"
#include "transpiler/freeze/freeze.h"
#include "transpiler/lower/lower.h"
#include "transpiler/prepare/prepare.h"
#include "transpiler/quantize/form_comparison.h"
#include "transpiler/quantize/network_cost.h"
#include "transpiler/quantize/plan_search.h"
#include "transpiler/quantize/simulated_model.h"

namespace fixpoint {

struct QuantizedNetwork {
  PreparedModel prepared;
  std::vector<std::string> outputs;  // as the prepared program has them
  RangeProfile profile;
  QuantConfig config;  // as asked for, with the target, and the rules that were found
  SimulatedModel simulated;
  Scope simulated_parameters;
  FrozenModel portable;
  LoweredModel lowered;
  std::vector<ComparedVariable> noise;  // beside the float program
  FormAgreement agreement;
  int64_t compared_samples = 0;
  std::optional<MeasuredDrop> measured;
  std::optional<FoundPlan> found;  // if a plan was searched; whether it meets the bound, it says
  NetworkCost float_cost;
  NetworkCost lowered_cost;
  RunReport report;                // without settings and the name of the program
  std::vector<std::string> notes;  // also in the report
};

// Writes a folder that appears whole or not at all (runtime/staged_directory.h): portable.pdmodel
// and portable.pdiparams, lowered.pdmodel and lowered.pdiparams, profile.textproto, plan.textproto
// and config.textproto; the report as report.textproto and, for people, as report.html. Errors:
// those of StagedDirectory and WriteInferenceModel.
absl::Status WriteQuantizedNetwork(const QuantizedNetwork& network, const std::string& folder);

}  // namespace fixpoint

#endif  // FIXPOINT_TRANSPILER_QUANTIZE_QUANTIZED_NETWORK_H_
