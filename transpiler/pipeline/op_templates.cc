#include "transpiler/pipeline/op_templates.h"

#include <cstddef>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "ops/infer.h"
#include "ops/infer_in_program.h"
#include "proto/base/status_macros.h"
#include "proto/program/program.h"

namespace fixpoint {

absl::StatusOr<OpBuilder> OpTemplates::Fill(OpDesc op) {
  for (OpDesc::Var& slot : *op.mutable_inputs()) {
    for (std::string& name : *slot.mutable_arguments()) {
      const auto known = names_.find(name);
      if (known == names_.end()) {
        return absl::InvalidArgumentError(
            absl::StrCat("the ", op.type(), " that quantizes \"", prefix_, "\" reads \"", name,
                         "\", which the quantizer does not write before"));
      }
      name = known->second;
    }
  }
  ASSIGN_OR_RETURN(const std::vector<InferredOutput> inferred,
                   InferOutputs(op, era_, program_, block_));
  size_t output = 0;
  for (OpDesc::Var& slot : *op.mutable_outputs()) {
    for (std::string& name : *slot.mutable_arguments()) {
      const Dims dims = inferred[output].dims.value_or(Dims{1});
      const DataType dtype = inferred[output].dtype.value_or(VarType::FP32);
      ++output;
      const auto [known, is_new] = names_.try_emplace(name);
      if (is_new) {
        ASSIGN_OR_RETURN(
            const Variable* variable,
            rewriter_.AddTensor(block_, rewriter_.FreshName(absl::StrCat(prefix_, ".", name)),
                                dtype, dims));
        known->second = variable->name();
      } else {
        RETURN_IF_ERROR(CheckWrites(op, inferred[output - 1], known->second));
      }
      name = known->second;
    }
  }
  OpBuilder builder = rewriter_.New(op.type());
  builder.op() = std::move(op);
  return builder;
}

absl::Status OpTemplates::CheckWrites(const OpDesc& op, const InferredOutput& inferred,
                                      const std::string& name) const {
  const Variable* const variable = program_.Find(block_, name);
  const TensorInfo declared = TensorInfoOf(variable == nullptr ? nullptr : variable->desc());
  if (!declared.has_dims() || !inferred.dims || MayBeEqual(declared.dims, *inferred.dims)) {
    return absl::OkStatus();
  }
  return absl::InvalidArgumentError(
      absl::StrCat("the ", op.type(), " that quantizes \"", prefix_, "\" writes \"", name,
                   "\", which is ", DimsText(declared.dims), ", as ", DimsText(*inferred.dims)));
}

}  // namespace fixpoint
