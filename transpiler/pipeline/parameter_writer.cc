#include "transpiler/pipeline/parameter_writer.h"

#include <cstring>
#include <utility>

#include "absl/strings/str_cat.h"
#include "proto/base/status_macros.h"
#include "proto/program/op_builder.h"
#include "proto/program/program.h"

namespace fixpoint {

ParameterWriter::ParameterWriter(const Program& program, EditedParameters* parameters,
                                 Rewriter* rewriter)
    : program_(program), parameters_(*parameters), rewriter_(*rewriter) {}

absl::StatusOr<std::string> ParameterWriter::Add(absl::string_view base, Tensor tensor) {
  ASSIGN_OR_RETURN(const Variable* parameter,
                   rewriter_.AddTensor(program_.block(0), rewriter_.FreshName(base), tensor.dtype(),
                                       tensor.dims(), /*persistable=*/true));
  parameters_.added.Set(parameter->name(), std::move(tensor));
  return parameter->name();
}

absl::StatusOr<std::string> ParameterWriter::ZeroPointOf(const std::string& scale) {
  std::string& name = zero_points_[scale];
  if (!name.empty()) return name;
  const bool is_new = parameters_.added.FindOrNull(scale) != nullptr;
  const Scope& holder = is_new ? parameters_.added : parameters_.trained();
  ASSIGN_OR_RETURN(const Tensor* tensor, holder.Find(scale));
  ASSIGN_OR_RETURN(Tensor zeros, Tensor::Allocate(VarType::INT32, tensor->dims()));
  std::memset(zeros.mutable_bytes().data(), 0, zeros.bytes().size());
  ASSIGN_OR_RETURN(name, Add(absl::StrCat(scale, ".zero_point"), std::move(zeros)));
  return name;
}

}  // namespace fixpoint
