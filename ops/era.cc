#include "ops/era.h"

#include "absl/strings/str_cat.h"
#include "proto/program/program.h"

namespace fixpoint {

Era EraOf(const Program& program) {
  return EraOf(program.version(), program.Proto().has_op_version_map());
}

bool Includes(Eras eras, Era era) {
  return eras == Eras::kAll || (eras == Eras::kFluid) == (era == Era::kFluid);
}

std::string ReleaseName(int64_t version) {
  if (version <= 0) return "";
  return absl::StrCat(version / 1000000, ".", version / 1000 % 1000, ".", version % 1000);
}

}  // namespace fixpoint
