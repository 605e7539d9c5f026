#include "transpiler/composites/components.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "proto/program/program.h"

namespace fixpoint {
namespace {

// A row has the file of built-in patterns from the op, and what writes one for its shapes.
struct Composite {
  const char* op_type;
  const char* patterns;                                                            // null: none
  ComponentsOrReason (*components)(const Op& op, const OpAttributes& attributes);  // null: none
};

constexpr Composite kComposites[] = {
    {"fc", "fc_components", nullptr},
    {"gelu", "gelu_components", nullptr},
    {"group_norm", nullptr, GroupNormComponents},
    {"gru", nullptr, GruComponents},
    {"gru_unit", nullptr, GruUnitComponents},
    {"layer_norm", "layer_norm_components", LayerNormComponents},
    {"lstm", nullptr, LstmComponents},
    {"lstm_unit", nullptr, LstmUnitComponents},
    {"rnn", nullptr, RnnComponents},
    {"scaled_dot_product_attention", "attention_components", nullptr},
    {"silu", "swish_components", nullptr},
    {"softmax", nullptr, SoftmaxComponents},
    {"swish", "swish_components", nullptr},
};

const Composite* Find(absl::string_view op_type) {
  const auto* const found =
      std::find_if(std::begin(kComposites), std::end(kComposites),
                   [op_type](const Composite& composite) { return op_type == composite.op_type; });
  return found == std::end(kComposites) ? nullptr : found;
}

}  // namespace

bool IsComposite(absl::string_view op_type) { return Find(op_type) != nullptr; }

std::vector<std::string> ExpandableTypes() {
  std::vector<std::string> types;
  for (const Composite& composite : kComposites) types.emplace_back(composite.op_type);
  return types;
}

std::vector<std::string> ComponentPatterns() {
  std::vector<std::string> files;
  for (const Composite& composite : kComposites) {
    if (composite.patterns == nullptr ||
        std::find(files.begin(), files.end(), composite.patterns) != files.end()) {
      continue;
    }
    files.push_back(composite.patterns);
  }
  return files;
}

std::string ComponentPatternName(const Op& op) { return absl::StrCat(op.type(), "_components"); }

ComponentsOrReason ComponentsOf(const Op& op, const OpAttributes& attributes) {
  const Composite& composite = *Find(op.type());
  if (composite.components != nullptr) return composite.components(op, attributes);
  return NoComponents{
      absl::StrCat("no pattern of ", composite.patterns, " has its slots and attributes")};
}

}  // namespace fixpoint
