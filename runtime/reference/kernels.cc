#include "runtime/reference/kernels.h"

#include <glog/logging.h>

#include <map>
#include <utility>

#include "ops/op_schema.h"

namespace fixpoint::reference {
namespace {

using KernelTable = std::map<std::string, Kernel, std::less<>>;

void AddTo(KernelTable* table, Kernels kernels) {
  for (KernelEntry& entry : kernels) {
    CHECK(FindOpSchema(entry.type) != nullptr) << entry.type << " has no schema";
    const bool is_new = table->emplace(entry.type, std::move(entry.kernel)).second;
    CHECK(is_new) << entry.type << " has two kernels";
  }
}

KernelTable& AllKernels() {
  static KernelTable* const table = [] {
    auto* made = new KernelTable();
    for (Kernels kernels : {
#define FIXPOINT_REFERENCE_KERNELS(family) family##Kernels(),
#include "runtime/reference/all_kernels.inc"
#undef FIXPOINT_REFERENCE_KERNELS
         }) {
      AddTo(made, std::move(kernels));
    }
    return made;
  }();
  return *table;
}

}  // namespace

void AddKernels(Kernels kernels) { AddTo(&AllKernels(), std::move(kernels)); }

const Kernel* FindKernel(absl::string_view type) {
  const auto found = AllKernels().find(type);
  return found != AllKernels().end() ? &found->second : nullptr;
}

std::vector<std::string> TypesWithKernel() {
  std::vector<std::string> types;
  for (const auto& [type, kernel] : AllKernels()) types.push_back(type);
  return types;
}

}  // namespace fixpoint::reference
