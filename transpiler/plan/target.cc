#include "transpiler/plan/target.h"

#include <algorithm>
#include <string>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "ops/op_schema.h"
#include "proto/base/status_macros.h"
#include "proto/file/text_message.h"

namespace fixpoint {
namespace {

struct BuiltIn {
  const char* name;
  const char* text;
};

constexpr BuiltIn kBuiltIn[] = {
#include "transpiler/plan/builtin_targets.inc"
};

}  // namespace

std::vector<std::string> QuantizableOpTypes() {
  std::vector<std::string> types;
  for (const OpSchema* schema : AllOpSchemas()) {
    if (!schema->quantizable_inputs().empty()) types.push_back(schema->type());
  }
  return types;
}

std::vector<std::string> BuiltInTargets() {
  std::vector<std::string> names;
  for (const BuiltIn& target : kBuiltIn) names.push_back(target.name);
  std::sort(names.begin(), names.end());
  return names;
}

absl::StatusOr<Target> BuiltInTarget(absl::string_view name) {
  for (const BuiltIn& target : kBuiltIn) {
    if (name == target.name) return ParseTarget(target.text, name, QuantizerTable());
  }
  return absl::InvalidArgumentError(absl::StrCat("there is no target \"", name, "\"; there are ",
                                                 absl::StrJoin(BuiltInTargets(), ", ")));
}

bool IsTargetFile(absl::string_view name_or_path) {
  return absl::StrContains(name_or_path, '/') || absl::StrContains(name_or_path, '.');
}

absl::StatusOr<Target> LoadTarget(const std::string& name_or_path,
                                  const QuantizerTable& quantizers) {
  if (!IsTargetFile(name_or_path)) return BuiltInTarget(name_or_path);
  Target target;
  RETURN_IF_ERROR(LoadTextMessage(name_or_path, &target));
  RETURN_IF_ERROR(CheckTarget(target, name_or_path, quantizers));
  return target;
}

absl::StatusOr<Target> ParseTarget(absl::string_view text, absl::string_view name,
                                   const QuantizerTable& quantizers) {
  Target target;
  RETURN_IF_ERROR(ParseTextMessage(text, name, &target));
  RETURN_IF_ERROR(CheckTarget(target, name, quantizers));
  return target;
}

bool AlwaysQuantizesOutputs(const Target& target) {
  return std::any_of(target.outputs().begin(), target.outputs().end(),
                     [](const Target::ObservedOutputs& outputs) { return outputs.always(); });
}

}  // namespace fixpoint
