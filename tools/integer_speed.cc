#include "tools/integer_speed.h"

#include "absl/strings/str_cat.h"
#include "runtime/kernels/instruction_set.h"

namespace fixpoint {

std::string InstructionsText() {
  const bool has_vnni = kernels::HasVnni();
  switch (kernels::BestInstructionSet()) {
    case kernels::InstructionSet::kAvx512:
      return has_vnni ? "AVX-512 with VNNI" : "AVX-512 without VNNI";
    case kernels::InstructionSet::kAvx2:
      return has_vnni ? "AVX2 with VNNI" : "AVX2 without VNNI";
    case kernels::InstructionSet::kSse41:
      return "SSE4.1";
  }
  return "";
}

std::string IntegerSpeedNote(const CodedProducts& products, const std::string& path) {
  if (products.slower_than_floats == 0) return "";
  return absl::StrCat("note: ", path, ": slower than in float on this machine (",
                      InstructionsText(), "), with the same results: ", products.slower_than_floats,
                      " of ", products.all,
                      " products of codes; --dump_plan marks them, and a rule with skip: true "
                      "leaves an op in float\n");
}

}  // namespace fixpoint
