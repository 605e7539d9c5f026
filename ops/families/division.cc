// Quotients that are integers, and what they leave.

#include <vector>

#include "absl/strings/str_cat.h"
#include "ops/infer.h"
#include "ops/infer_rules.h"
#include "ops/op_schema_builder.h"
#include "proto/base/status_macros.h"

namespace fixpoint {
namespace {

absl::Status InferDivision(InferContext& op) {
  const TensorInfo x = op.Input("X");
  const TensorInfo y = op.Input("Y");
  op.SetOutput("Out", x.dtype, std::nullopt);
  if (!x.has_dims() || !y.has_dims()) return absl::OkStatus();
  ASSIGN_OR_RETURN(const Dims out, BroadcastAtAxis(x.dims, y.dims, op.Int("axis")));
  op.SetOutput("Out", x.dtype, out);
  return absl::OkStatus();
}

void Define(OpList& ops, absl::string_view type, absl::string_view doc) {
  ops.Define(absl::StrCat(type, "(X, Y) -> (Out)"))
      .Doc(absl::StrCat(doc, " Y stands at X's dimensions from `axis` on; -1: where X ends."))
      .Attr("axis", Int(-1))
      .Hints("use_mkldnn@1, x_data_format@1, y_data_format@1")
      .Infer(InferDivision)
      .IsOfSamples();
}

}  // namespace

std::vector<OpSchema> DivisionOps() {
  OpList ops;
  Define(ops, "elementwise_mod", "What X / Y leaves, with the sign of Y.");
  Define(ops, "elementwise_floordiv", "X / Y, rounded down; before 2.0 towards zero.");
  return ops.Build();
}

}  // namespace fixpoint
