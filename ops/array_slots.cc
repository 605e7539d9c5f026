#include "ops/array_slots.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "proto/program/program.h"

namespace fixpoint {

bool IsArray(const Variable& variable) {
  return variable.desc() != nullptr && variable.desc()->type().type() == VarType::LOD_TENSOR_ARRAY;
}

bool MayBeTensorArray(const Argument& input) {
  struct Slot {
    absl::string_view op;
    absl::string_view slot;
  };
  static constexpr Slot kSlots[] = {
      {"array_to_lod_tensor", "X"},     {"beam_search_decode", "Ids"},
      {"beam_search_decode", "Scores"}, {"lod_array_length", "X"},
      {"read_from_array", "X"},         {"sum", "X"},
      {"tensor_array_to_tensor", "X"},
  };
  const Op& op = input.op();
  if (!op.sub_blocks().empty()) return true;
  return std::any_of(std::begin(kSlots), std::end(kSlots), [&](const Slot& known) {
    return known.op == op.type() && known.slot == input.slot_name();
  });
}

absl::Status IsTensorArray(const Argument& input) {
  return absl::InvalidArgumentError(absl::StrCat("input ", input.slot_name(), " reads \"",
                                                 input.name(),
                                                 "\", an array of tensors; want a tensor"));
}

bool KeepsOtherTensors(const Argument& output) {
  return output.op().type() == "write_to_array" && output.slot_name() == "Out";
}

}  // namespace fixpoint
