// Whether numbers are finite.

#include <vector>

#include "ops/infer.h"
#include "ops/op_schema_builder.h"

namespace fixpoint {
namespace {

// One answer for the whole tensor.
absl::Status InferOne(InferContext& op) {
  op.SetOutput("Out", VarType::BOOL, Dims{1});
  return absl::OkStatus();
}

absl::Status InferEach(InferContext& op) {
  TensorInfo x = op.Input("X");
  x.dtype = VarType::BOOL;
  op.SetOutputLike("Out", x);
  return absl::OkStatus();
}

}  // namespace

std::vector<OpSchema> FiniteOps() {
  OpList ops;
  ops.Define("isfinite(X) -> (Out)")
      .Doc("Whether all elements of X are finite: BOOL [1].")
      .Infer(InferOne)
      .TakeLod({});
  ops.Define("isinf(X) -> (Out)")
      .Doc("Whether an element of X is infinite: BOOL [1].")
      .Infer(InferOne)
      .TakeLod({});
  ops.Define("isnan(X) -> (Out)")
      .Doc("Whether an element of X is NaN: BOOL [1].")
      .Infer(InferOne)
      .TakeLod({});
  ops.Define("isfinite_v2(X) -> (Out)")
      .Doc("Whether each element of X is finite.")
      .Infer(InferEach)
      .IsOfSamples();
  ops.Define("isinf_v2(X) -> (Out)")
      .Doc("Whether each element of X is infinite.")
      .Infer(InferEach)
      .IsOfSamples();
  ops.Define("isnan_v2(X) -> (Out)")
      .Doc("Whether each element of X is NaN.")
      .Infer(InferEach)
      .IsOfSamples();
  return ops.Build();
}

}  // namespace fixpoint
