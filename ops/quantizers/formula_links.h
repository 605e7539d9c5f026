// What the ops of a section read and write.

#ifndef FIXPOINT_OPS_QUANTIZERS_FORMULA_LINKS_H_
#define FIXPOINT_OPS_QUANTIZERS_FORMULA_LINKS_H_

#include <string>
#include <vector>

#include "absl/container/flat_hash_set.h"
#include "absl/strings/string_view.h"
#include "proto/wire/program.pb.h"

namespace fixpoint {

// The first name in a slot, "" if it is empty or absent.
std::string NameInSlot(const OpDesc& op, absl::string_view input_slot);

// What the op computes: the first name of its first output slot, "" for none.
std::string ResultOf(const OpDesc& op);

// Call f(name) for each name that the op reads, or writes.
template <typename F>
void ForEachInput(const OpDesc& op, F f) {
  for (const OpDesc::Var& slot : op.inputs()) {
    for (const std::string& name : slot.arguments()) f(name);
  }
}
template <typename F>
void ForEachOutput(const OpDesc& op, F f) {
  for (const OpDesc::Var& slot : op.outputs()) {
    for (const std::string& name : slot.arguments()) f(name);
  }
}

absl::flat_hash_set<std::string> NamesReadBy(const std::vector<OpDesc>& ops);
absl::flat_hash_set<std::string> NamesWrittenBy(const std::vector<OpDesc>& ops);

// The ops without the words of formulas (formula_words.h), as a program has them: scale_gradient,
// whose result is its input, is left out.
std::vector<OpDesc> OpsWithoutWords(const std::vector<OpDesc>& ops);

}  // namespace fixpoint

#endif  // FIXPOINT_OPS_QUANTIZERS_FORMULA_LINKS_H_
