// Linked into the tests of instruction_sets.bzl: a test that is limited to a set
// (ONEDNN_MAX_CPU_ISA) which the machine lacks says that it is skipped, and does not pass with the
// one below it.

#include <gtest/gtest.h>

#include <cstdlib>

#include "absl/strings/string_view.h"
#include "runtime/kernels/instruction_set.h"

namespace fixpoint::kernels {
namespace {

bool HasSet(absl::string_view limit) {
  if (limit == "AVX512_CORE_AMX") return HasAmx();
  if (limit == "AVX512_CORE") return BestInstructionSet() == InstructionSet::kAvx512;
  if (limit == "AVX2_VNNI") return BestProductSet() == ProductSet::kAvxVnni;
  if (limit == "AVX2") return BestInstructionSet() == InstructionSet::kAvx2;
  return true;  // any machine has it, or it is none that there are loops for
}

class LimitedInstructions final : public testing::Environment {
 public:
  void SetUp() override {
    const char* const limit = std::getenv("ONEDNN_MAX_CPU_ISA");
    if (limit == nullptr) return;
    if (!HasSet(limit)) GTEST_SKIP() << "the machine has no " << limit;
  }
};

[[maybe_unused]] testing::Environment* const kLimited =
    testing::AddGlobalTestEnvironment(new LimitedInstructions);

}  // namespace
}  // namespace fixpoint::kernels
