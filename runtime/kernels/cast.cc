#include "runtime/kernels/cast.h"

#include <glog/logging.h>

#include <cstdint>

#include "runtime/kernels/parallel_for.h"

namespace fixpoint::kernels {

template <typename From, typename To>
void Cast(absl::Span<const From> from, absl::Span<To> to) {
  CHECK_EQ(to.size(), from.size());
  ParallelFor(to.size(), sizeof(From) + sizeof(To),
              [from = from.data(), to = to.data()](int64_t begin, int64_t end) {
#pragma GCC ivdep
                for (int64_t i = begin; i < end; ++i) to[i] = Converted<To>(from[i]);
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
FIXPOINT_CAST(int16_t, float)
#undef FIXPOINT_CASTS_OF
#undef FIXPOINT_CAST

}  // namespace fixpoint::kernels
