// Elements of one type from those of another.

#ifndef FIXPOINT_RUNTIME_KERNELS_CAST_H_
#define FIXPOINT_RUNTIME_KERNELS_CAST_H_

#include "absl/types/span.h"

namespace fixpoint::kernels {

// As C++ converts: floats to integers towards zero, anything but 0 to true. What an integer does
// not hold, and a NaN, becomes any number. Types: float, double, int32_t, int64_t, int8_t, uint8_t,
// bool. REQUIRES: the spans have one size.
template <typename From, typename To>
void Cast(absl::Span<const From> from, absl::Span<To> to);

}  // namespace fixpoint::kernels

#endif  // FIXPOINT_RUNTIME_KERNELS_CAST_H_
