#include "runtime/own_ops.h"

#include <string>
#include <utility>

#include "absl/container/flat_hash_set.h"
#include "absl/strings/str_cat.h"
#include "proto/base/status_macros.h"
#include "runtime/run_op_types.h"

namespace fixpoint {
namespace {

using Types = absl::flat_hash_set<std::string>;

absl::StatusOr<Types> NewTypes(const std::vector<OpSchema>& schemas) {
  Types types;
  for (const OpSchema& schema : schemas) {
    const std::string& type = schema.type();
    if (FindOpSchema(type) != nullptr || !types.insert(type).second) {
      return absl::InvalidArgumentError(absl::StrCat("there is an op \"", type, "\" already"));
    }
  }
  return types;
}

// How a backend runs ops: entries with a type.
template <typename Entries>
absl::Status CheckEntries(const Entries& entries, const Types& types, absl::string_view what) {
  Types seen;
  for (const auto& entry : entries) {
    if (!types.contains(entry.type)) {
      return absl::InvalidArgumentError(
          absl::StrCat("there is a ", what, " of \"", entry.type, "\", and no schema beside it"));
    }
    if (!seen.insert(entry.type).second) {
      return absl::InvalidArgumentError(absl::StrCat("\"", entry.type, "\" has two ", what, "s"));
    }
  }
  return absl::OkStatus();
}

template <typename Entries>
void NoteTypes(const Entries& entries) {
  for (const auto& entry : entries) AddRunOpType(entry.type);
}

}  // namespace

absl::Status AddOwnOps(OwnOps ops) {
  ASSIGN_OR_RETURN(const Types types, NewTypes(ops.schemas));
  RETURN_IF_ERROR(CheckEntries(ops.plans, types, "plan"));
  RETURN_IF_ERROR(CheckEntries(ops.kernels, types, "kernel"));
  // The tables of the backends have an entry for each schema of a function, so that they have to be
  // made before there are more.
  executor::TypesWithPlan();
  reference::TypesWithKernel();
  NoteTypes(ops.plans);
  NoteTypes(ops.kernels);
  AddOpSchemas(std::move(ops.schemas));
  executor::AddOpPlans(std::move(ops.plans));
  reference::AddKernels(std::move(ops.kernels));
  return absl::OkStatus();
}

}  // namespace fixpoint
