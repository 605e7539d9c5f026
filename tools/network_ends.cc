#include "tools/network_ends.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "proto/feeds_and_fetches.h"
#include "tools/command_line.h"
#include "tools/named_program.h"

namespace fixpoint {

NetworkEnds DeclaredEnds(const Program& program) {
  return {NamesOf(FedVariables(program)), NamesOf(FetchedVariables(program))};
}

absl::StatusOr<NetworkEnds> FindNetworkEnds(const Program& program, const std::string& path,
                                            const NetworkVariables& named, absl::string_view flag) {
  NetworkEnds ends = DeclaredEnds(program);
  if (!ends.outputs.empty()) return ends;
  const absl::StatusOr<NetworkVariables> variables = FindNetworkVariables(program, named);
  if (!variables.ok()) return InFile(path, variables.status());
  if (variables->scores.empty()) {
    return UsageError(absl::StrCat(path,
                                   " fetches nothing and has no cross entropy: which variable is "
                                   "computed? ",
                                   flag));
  }
  return NetworkEnds{{variables->images}, {variables->scores}};
}

absl::StatusOr<std::vector<int64_t>> FedDims(const Variable& variable, int64_t batch_size,
                                             absl::string_view flag) {
  const VarType::TensorDesc* declared = variable.tensor();
  std::vector<int64_t> dims;
  if (declared != nullptr) dims.assign(declared->dims().begin(), declared->dims().end());
  if (!dims.empty() && dims.front() < 0) dims.front() = batch_size;
  const bool is_known = std::all_of(dims.begin(), dims.end(), [](int64_t dim) { return dim >= 0; });
  if (declared != nullptr && is_known) return dims;
  return UsageError(absl::StrCat("the program does not say the shape of \"", variable.name(),
                                 "\", which it is fed; want ", flag));
}

}  // namespace fixpoint
