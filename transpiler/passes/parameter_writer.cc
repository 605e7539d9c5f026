#include "transpiler/passes/parameter_writer.h"

#include <cstring>
#include <utility>

#include "absl/strings/str_cat.h"
#include "proto/op_builder.h"
#include "proto/status_macros.h"

namespace fixpoint {

ParameterWriter::ParameterWriter(const Program& program, Scope* scope, Rewriter* rewriter)
    : program_(program), scope_(*scope), rewriter_(*rewriter) {}

absl::StatusOr<std::string> ParameterWriter::Add(absl::string_view base, Tensor tensor) {
  VarDesc desc = MakeTensorVar(rewriter_.FreshName(base), tensor.dtype(), tensor.dims());
  desc.set_persistable(true);
  const std::string name = desc.name();
  RETURN_IF_ERROR(rewriter_.AddVariable(program_.block(0), std::move(desc)).status());
  scope_.Set(name, std::move(tensor));
  return name;
}

absl::StatusOr<std::string> ParameterWriter::ZeroPointOf(const std::string& scale) {
  std::string& name = zero_points_[scale];
  if (!name.empty()) return name;
  ASSIGN_OR_RETURN(const Tensor* tensor, std::as_const(scope_).Find(scale));
  ASSIGN_OR_RETURN(Tensor zeros, Tensor::Allocate(VarType::INT32, tensor->dims()));
  std::memset(zeros.mutable_bytes().data(), 0, zeros.bytes().size());
  ASSIGN_OR_RETURN(name, Add(absl::StrCat(scale, ".zero_point"), std::move(zeros)));
  return name;
}

}  // namespace fixpoint
