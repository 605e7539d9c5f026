#include "transpiler/plan/quant_config.h"

#include <algorithm>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "proto/base/nearest_name.h"
#include "transpiler/plan/target.h"

namespace fixpoint {

absl::Status CheckConfig(const QuantConfig& config) {
  std::vector<std::string> complaints;
  const auto complain = [&complaints](const auto&... parts) {
    complaints.push_back(absl::StrCat(parts...));
  };
  const auto check_spec = [&complain](const QuantSpec& spec, const std::string& place) {
    if (spec.axis() < 0) complain(place, ".axis is ", spec.axis(), "; want 0 or more");
  };
  check_spec(config.weights(), "weights");
  check_spec(config.fc_weights(), "fc_weights");
  check_spec(config.activations(), "activations");
  check_spec(config.gradients(), "gradients");
  for (int i = 0; i < config.rules_size(); ++i) {
    const std::string& name = config.rules(i).name();
    check_spec(config.rules(i).spec(),
               absl::StrCat(name.empty() ? absl::StrCat("rule ", i + 1) : name, ": spec"));
  }
  if (!config.also_quantize().empty()) {
    const std::vector<std::string> types = QuantizableOpTypes();
    for (const std::string& type : config.also_quantize()) {
      if (std::find(types.begin(), types.end(), type) != types.end()) continue;
      complain("also_quantize: no op of type \"", type, "\" can be quantized",
               DidYouMean(type, types));
    }
  }
  if (complaints.empty()) return absl::OkStatus();
  return absl::InvalidArgumentError(absl::StrJoin(complaints, "\n"));
}

}  // namespace fixpoint
