#include "tests/comparisons/range_profile.h"

#include <algorithm>
#include <string>
#include <variant>
#include <vector>

#include "proto/base/status_macros.h"
#include "runtime/executor/executor.h"
#include "runtime/op_by_op.h"
#include "runtime/tensor.h"

namespace fixpoint {
namespace {

void AddRange(const std::string& variable, const Tensor& value, RangeProfile* profile) {
  if (value.dtype() != VarType::FP32 || value.size() == 0) return;
  const auto numbers = value.data<float>();
  const auto [least, most] = std::minmax_element(numbers.begin(), numbers.end());
  RangeProfile::Entry& entry = *profile->add_entries();
  entry.set_variable(variable);
  entry.set_min(*least);
  entry.set_max(*most);
}

}  // namespace

absl::StatusOr<RangeProfile> ProfileOf(const Program& program, Scope* parameters,
                                       const Feed& feed) {
  std::vector<std::string> names = {std::string(feed.name)};
  for (const WrittenTensor& tensor : WrittenTensors(program)) names.push_back(tensor.name);
  ASSIGN_OR_RETURN(const auto executor, executor::Executor::Create(program, parameters));
  ASSIGN_OR_RETURN(const std::vector<Tensor> values, executor->Run({feed}, names, 0));
  RangeProfile profile;
  for (const auto& [name, value] : *parameters) {
    if (const auto* const tensor = std::get_if<Tensor>(&value)) AddRange(name, *tensor, &profile);
  }
  for (size_t i = 0; i < names.size(); ++i) AddRange(names[i], values[i], &profile);
  return profile;
}

}  // namespace fixpoint
