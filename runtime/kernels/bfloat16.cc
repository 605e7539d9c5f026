#include "runtime/kernels/bfloat16.h"

#include <glog/logging.h>

#include "oneapi/dnnl/dnnl.hpp"
#include "runtime/kernels/parallel_for.h"

namespace fixpoint::kernels {

bool HasBfloat16Products() {
  const int wanted = static_cast<int>(dnnl::cpu_isa::avx512_core_bf16);
  return (static_cast<int>(dnnl::get_effective_cpu_isa()) & wanted) == wanted;
}

absl::Status CheckBfloat16Products() {
  if (HasBfloat16Products()) return absl::OkStatus();
  return absl::FailedPreconditionError(
      "products in bf16 need AVX512_BF16, which this processor lacks or ONEDNN_MAX_CPU_ISA leaves "
      "out; want f32");
}

void RoundToBfloat16(absl::Span<const float> x, absl::Span<Bfloat16> rounded) {
  CHECK_EQ(rounded.size(), x.size());
  ParallelFor(x.size(), sizeof(float) + sizeof(Bfloat16),
              [x = x.data(), rounded = rounded.data()](int64_t begin, int64_t end) {
#pragma GCC ivdep
                for (int64_t i = begin; i < end; ++i) rounded[i] = ToBfloat16(x[i]);
              });
}

void RoundToBfloat16(absl::Span<const float> x, absl::Span<const float> factors,
                     absl::Span<Bfloat16> rounded) {
  CHECK_EQ(rounded.size(), x.size());
  const auto length = static_cast<int64_t>(factors.size());
  CHECK_EQ(x.size() % factors.size(), 0u);
  ParallelFor(static_cast<int64_t>(x.size()) / length,
              length * static_cast<int64_t>(sizeof(float) + sizeof(Bfloat16)),
              [=, x = x.data(), factors = factors.data(), rounded = rounded.data()](int64_t begin,
                                                                                    int64_t end) {
                for (int64_t line = begin; line < end; ++line) {
                  const float* const from = x + line * length;
                  Bfloat16* const to = rounded + line * length;
#pragma GCC ivdep
                  for (int64_t i = 0; i < length; ++i) to[i] = ToBfloat16(from[i] * factors[i]);
                }
              });
}

template <typename Code>
void CodesToBfloat16(absl::Span<const Code> codes, int32_t zero_point,
                     absl::Span<Bfloat16> numbers) {
  CHECK_EQ(numbers.size(), codes.size());
  ParallelFor(codes.size(), sizeof(Code) + sizeof(Bfloat16),
              [=, codes = codes.data(), numbers = numbers.data()](int64_t begin, int64_t end) {
#pragma GCC ivdep
                for (int64_t i = begin; i < end; ++i) {
                  numbers[i] =
                      ToBfloat16(static_cast<float>(static_cast<int32_t>(codes[i]) - zero_point));
                }
              });
}
template void CodesToBfloat16(absl::Span<const int8_t>, int32_t, absl::Span<Bfloat16>);
template void CodesToBfloat16(absl::Span<const uint8_t>, int32_t, absl::Span<Bfloat16>);

}  // namespace fixpoint::kernels
