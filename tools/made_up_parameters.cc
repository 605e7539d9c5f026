#include "tools/made_up_parameters.h"

#include <algorithm>
#include <limits>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "ops/dims.h"
#include "proto/base/status_macros.h"
#include "proto/program/program.h"
#include "runtime/tensor.h"

namespace fixpoint {
namespace {

constexpr int64_t kMostMadeUpBytes = int64_t{1} << 32;

absl::StatusOr<Tensor> MakeUp(const ParameterInfo& parameter) {
  ASSIGN_OR_RETURN(Tensor tensor, Tensor::Allocate(parameter.dtype, parameter.dims));
  std::fill(tensor.mutable_bytes().begin(), tensor.mutable_bytes().end(), 0);
  if (parameter.dtype != VarType::FP32) return tensor;
  const bool is_weight = parameter.dims.size() >= 2;
  const absl::Span<float> values = tensor.mutable_data<float>();
  for (int64_t i = 0; i < tensor.size(); ++i) {
    values[i] = is_weight ? static_cast<float>(i % 17 - 8) / 8 : 1.0f;
  }
  return tensor;
}

}  // namespace

absl::StatusOr<int64_t> BytesOfParameter(const Program& program, const ParameterInfo& parameter) {
  const absl::StatusOr<int64_t> bytes = TensorBytes(parameter.dtype, parameter.dims);
  if (bytes.ok()) return bytes;
  return absl::InvalidArgumentError(
      absl::StrCat(program.name(), ": the parameter \"", parameter.name, "\" is declared ",
                   VarType::Type_Name(parameter.dtype), " ", DimsText(parameter.dims),
                   "; want known extents that memory can hold"));
}

absl::StatusOr<Scope> MadeUpParameters(const Program& program, const Scope& given) {
  int64_t bytes = 0;
  Scope scope;
  for (const ParameterInfo& parameter : ParametersOf(program.Proto())) {
    if (const Scope::Value* const value = given.FindOrNull(parameter.name); value != nullptr) {
      ASSIGN_OR_RETURN(Scope::Value copy, Scope::CloneOf(*value));
      scope.Set(parameter.name, std::move(copy));
      continue;
    }
    ASSIGN_OR_RETURN(const int64_t more, BytesOfParameter(program, parameter));
    if (more > kMostMadeUpBytes - bytes) {
      return absl::FailedPreconditionError(
          absl::StrCat(program.name(), ": its parameters have more than ", kMostMadeUpBytes,
                       " bytes; lowering is tried with made-up ones of at most that"));
    }
    bytes += more;
    ASSIGN_OR_RETURN(Tensor tensor, MakeUp(parameter));
    scope.Set(parameter.name, std::move(tensor));
  }
  return scope;
}

}  // namespace fixpoint
