#include "transpiler/exchange/before_quantizers.h"

#include <optional>
#include <vector>

#include "absl/strings/string_view.h"
#include "ops/requantization.h"
#include "proto/program/attributes.h"
#include "proto/program/program.h"
#include "transpiler/freeze/folded_formulas.h"
#include "transpiler/pipeline/marks.h"
#include "transpiler/plan/layer_name.h"

namespace fixpoint {

BeforeQuantizers::BeforeQuantizers(const Program& program) : era_(EraOf(program)) {
  for (const Op& op : program.ops()) {
    const auto marks = StringsAttr(op.desc(), kRewiredAttr).value_or(std::vector<std::string>());
    for (const absl::string_view mark : marks) {
      const size_t equals = mark.find('=');
      if (equals != absl::string_view::npos) rewired_.emplace(mark.substr(equals + 1));
    }
  }
}

const Value& BeforeQuantizers::BeforeFormula(const Value& quantized) {
  std::vector<const Value*> open = {&quantized};
  absl::flat_hash_set<const Value*> seen = {&quantized};
  const Value* weight = nullptr;
  while (!open.empty()) {
    const Value& value = *open.back();
    open.pop_back();
    const bool is_weight = parameters_.IsWeight(value);
    const bool is_written = value.origin() == Value::Origin::kWrite;
    const auto requantization = is_written ? ReadRequantization(*value.op(), era_) : std::nullopt;
    if (requantization && requantization->input->value() != nullptr) {
      if (seen.insert(requantization->input->value()).second) {
        open.push_back(requantization->input->value());
      }
    } else if (!is_weight && is_written && IsOfFormula(*value.op())) {
      for (const Argument* input : value.op()->inputs()) {
        if (input->value() != nullptr && seen.insert(input->value()).second) {
          open.push_back(input->value());
        }
      }
    } else if (!is_weight) {
      return value;
    } else if (weight == nullptr || WasRead(value)) {
      weight = &value;
    }
  }
  return weight == nullptr ? quantized : *weight;
}

const Value& BeforeQuantizers::OriginalOf(const Value& value) {
  const Value* original = &value;
  while (true) {
    const Value& quantized = fixpoint::OriginalOf(*original);
    if (&quantized == original) return quantized;
    original = &BeforeFormula(quantized);
  }
}

bool BeforeQuantizers::WasRead(const Value& weight) const {
  const VarDesc* const desc = weight.variable().desc();
  return rewired_.contains(weight.variable().name()) || (desc != nullptr && desc->is_parameter());
}

}  // namespace fixpoint
