// Inference rules that many ops share.

#ifndef FIXPOINT_OPS_INFER_RULES_H_
#define FIXPOINT_OPS_INFER_RULES_H_

#include <initializer_list>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "ops/dims.h"
#include "ops/infer.h"
#include "ops/op_schema.h"

namespace fixpoint {

// Each of `outputs` is like `input`.
OpSchema::InferFunction SameAs(absl::string_view input, std::initializer_list<const char*> outputs);
// The same, argument by argument, for a slot with many.
OpSchema::InferFunction EachSameAs(absl::string_view inputs, absl::string_view outputs);

// For a gradient op, gradient slot S@GRAD: like its input slot S; or, if it reads only XShape, like
// that without its first dimension.
absl::Status InferGradients(InferContext& context);

// Output slots <X>Out are like the input slots <X> (optimizers).
absl::Status InferInPlaceUpdate(InferContext& context);

// Elementwise X op Y with the reference's axis rule: Y, without its trailing 1s, is aligned with
// X's dimensions from `axis` on (-1: it ends where X ends); since 1.7 the longer of both decides
// and dimensions of 1 broadcast.
absl::StatusOr<Dims> BroadcastAtAxis(DimsView x, DimsView y, int64_t axis);
// Numpy's rule.
absl::StatusOr<Dims> Broadcast(DimsView x, DimsView y);

// Dtype and dims of a constant or random tensor from its attributes `shape` and `dtype`; unknown
// dims if one of the `shape_tensors` slots decides.
OpSchema::InferFunction ShapeFromAttr(std::vector<std::string> shape_tensors);

// A shape that an attribute gives. Error: a size below -1, or more elements than an int64 holds.
absl::StatusOr<Dims> ShapeAttr(InferContext& context, absl::string_view name);

// An attribute that must be 1 or more.
absl::StatusOr<int64_t> PositiveAttr(InferContext& context, absl::string_view name);

// An attribute `dtype`, as a data type of tensors. Error: it is not one.
absl::StatusOr<DataType> DataTypeAttr(InferContext& context, absl::string_view name);

}  // namespace fixpoint

#endif  // FIXPOINT_OPS_INFER_RULES_H_
