// Comparisons and logic; metrics.

#include "absl/strings/str_cat.h"
#include "ops/infer.h"
#include "ops/infer_rules.h"
#include "ops/op_schema_builder.h"
#include "proto/base/status_macros.h"

namespace fixpoint {
namespace {

absl::Status InferCompare(InferContext& op) {
  const TensorInfo x = op.Input("X");
  const TensorInfo y = op.Input("Y");
  op.SetOutput("Out", VarType::BOOL, std::nullopt);
  if (!x.has_dims() || !y.has_dims()) return absl::OkStatus();
  ASSIGN_OR_RETURN(const Dims out, BroadcastAtAxis(x.dims, y.dims, op.Int("axis")));
  op.SetOutput("Out", VarType::BOOL, out);
  return absl::OkStatus();
}

absl::Status InferLogical(InferContext& op) {
  const TensorInfo x = op.Input("X");
  const TensorInfo y = op.Input("Y");
  op.SetOutput("Out", VarType::BOOL, std::nullopt);
  if (!x.has_dims() || !y.has_dims()) return absl::OkStatus();
  ASSIGN_OR_RETURN(const Dims out, BroadcastAtAxis(x.dims, y.dims, -1));
  op.SetOutput("Out", VarType::BOOL, out);
  return absl::OkStatus();
}

absl::Status InferNot(InferContext& op) {
  TensorInfo x = op.Input("X");
  x.dtype = VarType::BOOL;
  op.SetOutputLike("Out", x);
  return absl::OkStatus();
}

absl::Status InferAccuracy(InferContext& op) {
  op.SetOutput("Accuracy", VarType::FP32, Dims{1});
  // INT32, whatever 2.x declares.
  op.SetOutput("Correct", std::nullopt, Dims{1});
  op.SetOutput("Total", std::nullopt, Dims{1});
  return absl::OkStatus();
}

absl::Status InferFlag(InferContext& op) {
  op.SetOutput("Out", VarType::BOOL, Dims{1});
  return absl::OkStatus();
}

}  // namespace

std::vector<OpSchema> ComparisonOps() {
  OpList ops;
  for (const auto& [type, sign] :
       std::initializer_list<std::pair<const char*, const char*>>{{"equal", "=="},
                                                                  {"not_equal", "!="},
                                                                  {"less_than", "<"},
                                                                  {"less_equal", "<="},
                                                                  {"greater_than", ">"},
                                                                  {"greater_equal", ">="}}) {
    ops.Define(absl::StrCat(type, "(X, Y) -> (Out)"))
        .Doc(absl::StrCat("X ", sign, " Y, element by element."))
        .Attr("axis", Int(-1))
        .Hints("force_cpu")
        .Infer(InferCompare)
        .IsOfSamples()
        .QuantizableOutputs({"Out"});
  }
  for (const char* name : {"and", "or", "xor"}) {
    OpSchemaBuilder& op = ops.Define(absl::StrCat("logical_", name, "(X, Y) -> (Out)"))
                              .Doc(absl::StrCat("X ", name, " Y, element by element."))
                              .Infer(InferLogical)
                              .IsOfSamples();
    if (absl::string_view(name) == "and") op.QuantizableOutputs({"Out"});
  }
  ops.Define("logical_not(X) -> (Out)")
      .Doc("Not X, element by element.")
      .Infer(InferNot)
      .IsOfSamples()
      .QuantizableOutputs({"Out"});
  ops.Define("is_empty(X) -> (Out)")
      .Doc("Whether X has no elements: BOOL [1].")
      .Infer(InferFlag)
      .TakeLod({});
  ops.Define("accuracy(Out, Indices, Label) -> (Accuracy, Correct, Total)")
      .Doc("Share of rows one of whose Indices [N,k] is their Label [N,1].")
      .Infer(InferAccuracy)
      .TakeLod({});
  return ops.Build();
}

}  // namespace fixpoint
