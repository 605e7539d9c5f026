// A program and the one that initializes it.

#include "absl/container/flat_hash_map.h"
#include "absl/strings/str_cat.h"
#include "ops/infer.h"
#include "ops/verifier/checks.h"
#include "proto/program/program.h"

namespace fixpoint {
namespace {

bool HoldsTensor(const Variable& variable) {
  const VarType::Type kind = variable.desc()->type().type();
  return kind == VarType::LOD_TENSOR || kind == VarType::SELECTED_ROWS;
}

// Whether a startup program has to initialize it.
bool IsState(const Variable& variable) {
  return variable.persistable() && variable.is_used() && HoldsTensor(variable);
}

// How many variables the startup program should initialize but does not; 0 if it declares one of
// them.
int CountIfNoneIsInitialized(const Program& program, const Program& startup) {
  int count = 0;
  for (int b = 0; b < program.block_count(); ++b) {
    for (const Variable* variable : program.block(b).variables()) {
      if (!IsState(*variable)) continue;
      if (startup.Find(startup.block(0), variable->name()) != nullptr) return 0;
      ++count;
    }
  }
  return count;
}

int CountWrites(const Variable& variable) {
  int writes = 0;
  for (const Argument* argument : variable.arguments()) writes += argument->is_output();
  return writes;
}

}  // namespace

void CheckStartup(const Program& program, const Program& startup, FindingList* findings) {
  if (const int count = CountIfNoneIsInitialized(program, startup); count > 1) {
    findings->Error(FindingCode::kUninitialized, program.block(0),
                    absl::StrCat("the startup program initializes none of ", count,
                                 " persistable variables; does it belong to another program?"));
    return;
  }
  absl::flat_hash_map<const Variable*, int> counted;  // a name may belong to many variables
  for (int b = 0; b < program.block_count(); ++b) {
    const Block& block = program.block(b);
    for (const Variable* variable : block.variables()) {
      if (!IsState(*variable)) continue;
      const Variable* initialized = startup.Find(startup.block(0), variable->name());
      const auto [count, is_new] = counted.try_emplace(initialized, 0);
      if (is_new && initialized != nullptr) count->second = CountWrites(*initialized);
      const int writes = count->second;
      if (writes == 0) {
        findings->Error(FindingCode::kUninitialized, block,
                        absl::StrCat("persistable \"", variable->name(),
                                     "\" is not initialized by the startup program"));
        continue;
      }
      if (writes > 1) {
        findings->Warning(FindingCode::kInitializedTwice, block,
                          absl::StrCat("persistable \"", variable->name(), "\" is written ", writes,
                                       " times by the startup program; want once"));
      }
      const TensorInfo here = TensorInfoOf(variable->desc());
      const TensorInfo there = TensorInfoOf(initialized->desc());
      if (here.has_dims() && there.has_dims() && !MayBeEqual(here.dims, there.dims)) {
        findings->Error(
            FindingCode::kShape, block,
            absl::StrCat("persistable \"", variable->name(), "\" is ", DimsText(here.dims),
                         ", and the startup program makes it ", DimsText(there.dims)));
      }
    }
  }
}

}  // namespace fixpoint
