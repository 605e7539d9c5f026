// Linked into the tests of instruction_sets.bzl: a test that is limited to a set
// (ONEDNN_MAX_CPU_ISA) which the machine lacks says that it is skipped, and does not pass with the
// one below it.

#include <gtest/gtest.h>

#include <cstdlib>
#include <optional>

#include "absl/strings/string_view.h"
#include "runtime/kernels/instruction_set.h"

namespace fixpoint::kernels {
namespace {

// Nothing: any machine has it, or it is none that there are loops for.
std::optional<InstructionSet> SetOf(absl::string_view limit) {
  if (limit == "AVX512_CORE") return InstructionSet::kAvx512;
  if (limit == "AVX2") return InstructionSet::kAvx2;
  return std::nullopt;
}

class LimitedInstructions final : public testing::Environment {
 public:
  void SetUp() override {
    const char* const limit = std::getenv("ONEDNN_MAX_CPU_ISA");
    if (limit == nullptr) return;
    const std::optional<InstructionSet> set = SetOf(limit);
    if (set && BestInstructionSet() != *set) GTEST_SKIP() << "the machine has no " << limit;
  }
};

[[maybe_unused]] testing::Environment* const kLimited =
    testing::AddGlobalTestEnvironment(new LimitedInstructions);

}  // namespace
}  // namespace fixpoint::kernels
