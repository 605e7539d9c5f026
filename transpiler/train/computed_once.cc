#include "transpiler/train/computed_once.h"

#include <algorithm>
#include <string>

#include "absl/container/flat_hash_set.h"
#include "ops/computed_once.h"
#include "ops/op_schema.h"
#include "ops/op_traits.h"
#include "ops/quantizer.h"
#include "proto/program/attributes.h"
#include "proto/program/slots.h"

namespace fixpoint {
namespace {

bool AnyOf(const Slots& slots, const absl::flat_hash_set<std::string>& names) {
  return std::any_of(slots.begin(), slots.end(), [&names](const OpDesc::Var& slot) {
    const auto& arguments = slot.arguments();
    return std::any_of(arguments.begin(), arguments.end(),
                       [&names](const std::string& name) { return names.contains(name); });
  });
}

}  // namespace

void MarkComputedOnce(bool quantizes_weight, std::vector<OpDesc>* ops) {
  absl::flat_hash_set<std::string> of_activation;
  if (!quantizes_weight) of_activation.insert(Quantizer::kValue);
  for (OpDesc& op : *ops) {
    if (AnyOf(op.inputs(), of_activation)) {
      for (const OpDesc::Var& slot : op.outputs()) {
        of_activation.insert(slot.arguments().begin(), slot.arguments().end());
      }
    } else if (!FindOpSchema(op.type())->traits().draws_numbers) {
      SetAttr(MakeBoolAttr(kComputedOnceAttr, true), &op);
    }
  }
}

}  // namespace fixpoint
