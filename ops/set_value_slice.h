// Which elements set_value replaces, and by which.

#ifndef FIXPOINT_OPS_SET_VALUE_SLICE_H_
#define FIXPOINT_OPS_SET_VALUE_SLICE_H_

#include <cstdint>
#include <vector>

#include "absl/status/statusor.h"
#include "ops/dims.h"
#include "proto/wire/program.pb.h"

namespace fixpoint {

// The lists of one op; each but `axes`, `decrease_axes` and `none_axes` may come from tensors.
struct SetValueLists {
  std::vector<int64_t> axes;
  std::vector<int64_t> starts;
  std::vector<int64_t> ends;
  std::vector<int64_t> steps;
  std::vector<int64_t> decrease_axes;  // that the value does not have
  std::vector<int64_t> none_axes;      // of 1, which the value has before these of the input's
};

// Element (i, j, ...) of a slice of those sizes is at starts[0] + i * steps[0] along the input's
// axis 0, and so on, and at i * value_strides[0] + j * value_strides[1] + ... of the value.
struct SetValueSlice {
  Dims starts;
  Dims steps;
  Dims sizes;
  Dims value_strides;
};

// The slice of a tensor, as Python slices, with a value that is broadcast to it. Errors
// (kInvalidArgument): the lists do not fit the tensor or each other; a step is 0; the value cannot
// be broadcast.
absl::StatusOr<SetValueSlice> SetValueSliceOf(DimsView input, DimsView value,
                                              const SetValueLists& lists);

// The numbers in the attributes of an op without ValueTensor: those of `values`, or of the list of
// the element type that releases before 2.5 have in its place. Error (kInvalidArgument): there are
// none, or they are no real numbers.
absl::StatusOr<std::vector<double>> SetValueNumbers(const OpDesc& op);

}  // namespace fixpoint

#endif  // FIXPOINT_OPS_SET_VALUE_SLICE_H_
