#include "runtime/kernels/cast.h"

#include <glog/logging.h>

#include <cstddef>

#include "runtime/kernels/vectorised.h"

namespace fixpoint::kernels {

template <typename From, typename To>
void Cast(absl::Span<const From> from, absl::Span<To> to) {
  CHECK_EQ(to.size(), from.size());
  Vectorised([from = from.data(), to = to.data(), size = from.size()] {
#pragma GCC ivdep
    for (size_t i = 0; i < size; ++i) to[i] = Converted<To>(from[i]);
  });
}

#define FIXPOINT_CAST(From, To) template void Cast(absl::Span<const From>, absl::Span<To>);
#define FIXPOINT_CASTS_OF(From) \
  FIXPOINT_CAST(From, float)    \
  FIXPOINT_CAST(From, double)   \
  FIXPOINT_CAST(From, int32_t)  \
  FIXPOINT_CAST(From, int64_t)  \
  FIXPOINT_CAST(From, int8_t)   \
  FIXPOINT_CAST(From, uint8_t)  \
  FIXPOINT_CAST(From, bool)
FIXPOINT_CASTS_OF(float)
FIXPOINT_CASTS_OF(double)
FIXPOINT_CASTS_OF(int32_t)
FIXPOINT_CASTS_OF(int64_t)
FIXPOINT_CASTS_OF(int8_t)
FIXPOINT_CASTS_OF(uint8_t)
FIXPOINT_CASTS_OF(bool)
#undef FIXPOINT_CASTS_OF
#undef FIXPOINT_CAST

}  // namespace fixpoint::kernels
