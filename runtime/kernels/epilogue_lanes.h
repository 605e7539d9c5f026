// The epilogue of vectors of sums, for kernels of our own with AVX-512.

#ifndef FIXPOINT_RUNTIME_KERNELS_EPILOGUE_LANES_H_
#define FIXPOINT_RUNTIME_KERNELS_EPILOGUE_LANES_H_

#include <immintrin.h>

#include <cstdint>

#include "absl/types/span.h"
#include "runtime/kernels/epilogue.h"

// For functions that are inlined into those of a kernel.
#define FIXPOINT_VNNI __attribute__((target("avx512f,avx512bw,avx512vnni"), always_inline)) inline

namespace fixpoint::kernels {

// Sums or elements of a vector.
constexpr int64_t kLanes = 16;

// For intrinsics that are only then free of warnings in GCC 12.
constexpr __mmask16 kAllLanes = 0xffff;

// The first `count` lanes, or all where there are fewer.
inline __mmask16 FirstLanes(int64_t count) {
  return count < kLanes ? static_cast<__mmask16>((1u << count) - 1) : kAllLanes;
}

// Of each stage its operand, as in EpilogueOperands.
struct EpilogueOfLanes {
  const float* scales;  // of the channels
  absl::Span<const EpilogueStage> stages;
  absl::Span<const absl::Span<const float>> operands;
};

// Vectors of elements that are a fixed distance apart and whose first lanes have one channel.
struct PlaceOfLanes {
  int64_t channel;
  int64_t element;
  int64_t distance;
  __mmask16 mask;  // of the lanes that are elements; of others no operand is read
};

// What becomes of vectors of sums.
template <int kVectors>
FIXPOINT_VNNI void Finish(const __m512i (&sums)[kVectors], const PlaceOfLanes& place,
                          const EpilogueOfLanes& epilogue, __m512 (&out)[kVectors]) {
  using Kind = EpilogueStage::Kind;
  const __m512 scales = _mm512_maskz_loadu_ps(place.mask, epilogue.scales + place.channel);
  for (int v = 0; v < kVectors; ++v) {
    out[v] = _mm512_mul_ps(_mm512_maskz_cvtepi32_ps(kAllLanes, sums[v]), scales);
  }
  for (size_t i = 0; i < epilogue.stages.size(); ++i) {
    const EpilogueStage& stage = epilogue.stages[i];
    const float* const operand = epilogue.operands[i].data();
    switch (stage.kind) {
      case Kind::kAddChannel: {
        const __m512 added = _mm512_maskz_loadu_ps(place.mask, operand + place.channel);
        for (int v = 0; v < kVectors; ++v) out[v] = _mm512_add_ps(out[v], added);
        break;
      }
      case Kind::kMultiplyChannel: {
        const __m512 factors = _mm512_maskz_loadu_ps(place.mask, operand + place.channel);
        for (int v = 0; v < kVectors; ++v) out[v] = _mm512_mul_ps(out[v], factors);
        break;
      }
      case Kind::kAddElement:
        for (int v = 0; v < kVectors; ++v) {
          const float* const elements = operand + place.element + v * place.distance;
          out[v] = _mm512_add_ps(out[v], _mm512_maskz_loadu_ps(place.mask, elements));
        }
        break;
      case Kind::kRelu:
        for (int v = 0; v < kVectors; ++v) {
          out[v] = _mm512_maskz_max_ps(kAllLanes, out[v], _mm512_setzero_ps());
        }
        break;
      case Kind::kClip:
        for (int v = 0; v < kVectors; ++v) {
          out[v] = _mm512_maskz_max_ps(kAllLanes, out[v], _mm512_set1_ps(stage.a));
          out[v] = _mm512_maskz_min_ps(kAllLanes, out[v], _mm512_set1_ps(stage.b));
        }
        break;
    }
  }
}

}  // namespace fixpoint::kernels

#endif  // FIXPOINT_RUNTIME_KERNELS_EPILOGUE_LANES_H_
