#include "ops/quantizers/formula_links.h"

#include <utility>

#include "absl/container/flat_hash_map.h"
#include "ops/quantizers/formula_words.h"
#include "proto/program/slots.h"

namespace fixpoint {

std::string NameInSlot(const OpDesc& op, absl::string_view input_slot) {
  const OpDesc::Var* const found = FindSlot(op.inputs(), input_slot);
  return found == nullptr || found->arguments_size() == 0 ? "" : found->arguments(0);
}

std::string ResultOf(const OpDesc& op) {
  return op.outputs_size() == 0 || op.outputs(0).arguments_size() == 0 ? ""
                                                                       : op.outputs(0).arguments(0);
}

absl::flat_hash_set<std::string> NamesReadBy(const std::vector<OpDesc>& ops) {
  absl::flat_hash_set<std::string> names;
  for (const OpDesc& op : ops) {
    ForEachInput(op, [&names](const std::string& name) { names.insert(name); });
  }
  return names;
}

absl::flat_hash_set<std::string> NamesWrittenBy(const std::vector<OpDesc>& ops) {
  absl::flat_hash_set<std::string> names;
  for (const OpDesc& op : ops) {
    ForEachOutput(op, [&names](const std::string& name) { names.insert(name); });
  }
  return names;
}

std::vector<OpDesc> OpsWithoutWords(const std::vector<OpDesc>& ops) {
  absl::flat_hash_map<std::string, std::string> same_as;
  std::vector<OpDesc> plain;
  for (const OpDesc& op : ops) {
    OpDesc renamed = WithoutWords(op);
    for (OpDesc::Var& slot : *renamed.mutable_inputs()) {
      for (std::string& name : *slot.mutable_arguments()) {
        const auto same = same_as.find(name);
        if (same != same_as.end()) name = same->second;
      }
    }
    if (op.type() == kScaleGradient) {
      same_as[ResultOf(op)] = NameInSlot(renamed, "X");
    } else {
      plain.push_back(std::move(renamed));
    }
  }
  return plain;
}

}  // namespace fixpoint
