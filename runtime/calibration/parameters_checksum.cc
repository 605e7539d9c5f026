#include "runtime/calibration/parameters_checksum.h"

#include <string>
#include <variant>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/types/span.h"
#include "runtime/checksum.h"
#include "runtime/parameter_file.h"
#include "runtime/tensor.h"

namespace fixpoint {

uint64_t ParametersChecksum(const ProgramDesc& program, const Scope& scope) {
  std::vector<uint64_t> checksums;
  for (const ParameterInfo& parameter : ParametersOf(program)) {
    const Scope::Value* value = scope.FindOrNull(parameter.name);
    const auto* tensor = value != nullptr ? std::get_if<Tensor>(value) : nullptr;
    if (tensor == nullptr) continue;
    const std::string text = absl::StrCat(parameter.name, " ", VarType::Type_Name(tensor->dtype()),
                                          "[", absl::StrJoin(tensor->dims(), ","), "]");
    checksums.push_back(ChecksumOf(
        {{reinterpret_cast<const uint8_t*>(text.data()), text.size()}, tensor->bytes()}));
  }
  return ChecksumOf(
      {{reinterpret_cast<const uint8_t*>(checksums.data()), checksums.size() * sizeof(uint64_t)}});
}

}  // namespace fixpoint
