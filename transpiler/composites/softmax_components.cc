// Softmax along an axis.

#include <string>

#include "absl/strings/str_cat.h"
#include "absl/strings/substitute.h"
#include "proto/program/program.h"
#include "transpiler/composites/component_text.h"
#include "transpiler/composites/components.h"

namespace fixpoint {

// The maximum is subtracted first, so that no exponential is infinite.
ComponentsOrReason SoftmaxComponents(const Op& op, const OpAttributes& attributes) {
  if (DimsOfFloats(op, "X").empty()) return NoComponents{"its input declares no dims of f32"};
  const int64_t axis = attributes.Int("axis");
  return Components{
      absl::StrCat(VarLine("x", DimsOfFloats(op, "X")),
                   absl::Substitute("  softmax(X=x) -> (Out=y) {axis=$0}\n", axis)),
      absl::Substitute("  reduce_max(X=x) -> (Out=max) {dim=[$0], keep_dim=true}\n"
                       "  elementwise_sub(X=x, Y=max) -> (Out=shifted) {axis=-1}\n"
                       "  exp(X=shifted) -> (Out=exponentials)\n"
                       "  reduce_sum(X=exponentials) -> (Out=sum) {dim=[$0], keep_dim=true}\n"
                       "  elementwise_div(X=exponentials, Y=sum) -> (Out=y) {axis=-1}\n",
                       axis)};
}

}  // namespace fixpoint
