#include "runtime/kernels/sums_epilogue.h"

#include <glog/logging.h>
#include <immintrin.h>

#include <algorithm>

#include "absl/container/inlined_vector.h"
#include "runtime/kernels/epilogue_lanes.h"
#include "runtime/kernels/folded_epilogue_lanes.h"
#include "runtime/kernels/instruction_set.h"
#include "runtime/kernels/machine.h"
#include "runtime/kernels/threads.h"
#include "runtime/kernels/vectorised.h"

// With AVX-512, vectors of sums pass through the whole epilogue in registers, as in kernels that
// compute the sums. Without it, the loops of the epilogue process one block of rows at a time,
// within the first-level cache.

namespace fixpoint::kernels {
namespace {

// Rows whose vectors of a channel are finished at once: a block of registers, 8 of the 32, which
// leaves room for the operands.
constexpr int kRows = 8;

// Any epilogue, stage by stage.
struct FinishStages {
  const EpilogueOfLanes& epilogue;

  template <int kVectors>
  FIXPOINT_AVX512 void operator()(const __m512i (&sums)[kVectors],
                                  const PlaceOfLanes& place) const {
    Finish(sums, place, epilogue);
  }
};

// Rows from `row` on, all of one matrix. A processor does not foresee in which order so many rows
// are read, so those after them are prefetched.
template <int kVectors, typename Finishing>
FIXPOINT_AVX512 void FinishVectors(const StoredSums& stored, const SumsShape& shape, int64_t row,
                                   const Finishing& finish) {
  const int32_t* const offsets = stored.offsets + row / shape.rows * shape.channels;
  for (int64_t c = 0; c < shape.channels; c += kLanes) {
    const PlaceOfLanes place = {c, row * shape.channels + c, shape.channels,
                                FirstLanes(shape.channels - c)};
    const __m512i offset = _mm512_maskz_loadu_epi32(place.mask, offsets + c);
    __m512i sums[kVectors];
    for (int v = 0; v < kVectors; ++v) {
      const int32_t* const at = stored.sums + place.element + v * place.distance;
      __builtin_prefetch(at + kVectors * place.distance);
      sums[v] = _mm512_add_epi32(_mm512_maskz_loadu_epi32(place.mask, at), offset);
    }
    if (stored.zero_points != nullptr) {
      const __m512i zeros = _mm512_maskz_loadu_epi32(place.mask, stored.zero_points + c);
      for (int v = 0; v < kVectors; ++v) {
        const __m512i inputs = _mm512_set1_epi32(stored.input_sums[row + v]);
        sums[v] = _mm512_sub_epi32(sums[v], _mm512_mullo_epi32(zeros, inputs));
      }
    }
    finish(sums, place);
  }
}

template <typename Finishing>
FIXPOINT_AVX512_TARGET void FinishRows(const StoredSums& sums, const SumsShape& shape,
                                       int64_t begin, int64_t end, const Finishing& finish) {
  int64_t row = begin;
  while (row < end) {
    const int64_t last = std::min(end, (row / shape.rows + 1) * shape.rows);
    for (; row + kRows <= last; row += kRows) FinishVectors<kRows>(sums, shape, row, finish);
    for (; row < last; ++row) FinishVectors<1>(sums, shape, row, finish);
  }
}

// Whole sums of a row as numbers, times their scales.
void ScaleRow(const StoredSums& stored, const SumsShape& shape, int64_t row, const float* scales,
              float* to) {
  const int64_t channels = shape.channels;
  const int32_t* const sums = stored.sums + row * channels;
  const int32_t* const offsets = stored.offsets + row / shape.rows * channels;
  const auto scale = [=](int64_t c, uint32_t taken_off) {
    const uint32_t sum = static_cast<uint32_t>(sums[c]) + static_cast<uint32_t>(offsets[c]);
    to[c] = static_cast<float>(static_cast<int32_t>(sum - taken_off)) * scales[c];
  };
  if (stored.zero_points == nullptr) {
    return Vectorised([=] {
      for (int64_t c = 0; c < channels; ++c) scale(c, 0);
    });
  }
  const int32_t* const zeros = stored.zero_points;
  const int32_t* const inputs = stored.input_sums + row * shape.groups;
  const int64_t of_group = channels / shape.groups;
  Vectorised([=] {
    for (int64_t group = 0; group * of_group < channels; ++group) {
      const auto factor = static_cast<uint32_t>(inputs[group]);
      for (int64_t c = group * of_group; c < (group + 1) * of_group; ++c) {
        scale(c, static_cast<uint32_t>(zeros[c]) * factor);
      }
    }
  });
}

}  // namespace

SumsEpilogue::SumsEpilogue(const SumsShape& shape, const Epilogue& epilogue, OutputType output)
    : shape_(shape),
      epilogue_(epilogue),
      output_(output),
      folded_(Fold(epilogue, output)),
      has_lanes_(BestInstructionSet() == InstructionSet::kAvx512),
      threads_(ThreadsFor(shape.size(), 2 * sizeof(int32_t))),
      block_rows_(std::clamp<int64_t>(
          ThisMachine().block_bytes() / (shape.channels * static_cast<int64_t>(sizeof(float))), 1,
          std::max<int64_t>(shape.matrices * shape.rows, 1))),
      elements_(threads_, std::vector<float>(block_rows_ * shape.channels)) {}

void SumsEpilogue::Run(const StoredSums& sums, absl::Span<const float> scales,
                       EpilogueOperands operands, Output out) {
  CHECK(out.type() == output_);
  if (has_lanes_ && (sums.zero_points == nullptr || shape_.groups == 1)) {
    RunLanes(sums, scales.data(), operands, out);
  } else {
    RunBlocks(sums, scales.data(), operands, out);
  }
}

void SumsEpilogue::RunLanes(const StoredSums& sums, const float* scales, EpilogueOperands operands,
                            Output out) const {
  const EpilogueOfLanes epilogue = {scales, epilogue_, operands, out};
  RunOnThreads(threads_, shape_.matrices * shape_.rows, [&](int, int64_t begin, int64_t end) {
    if (folded_) {
      WithFolded(*folded_, epilogue,
                 [&](const auto& finish) { FinishRows(sums, shape_, begin, end, finish); });
    } else {
      FinishRows(sums, shape_, begin, end, FinishStages{epilogue});
    }
  });
}

void SumsEpilogue::RunBlocks(const StoredSums& sums, const float* scales, EpilogueOperands operands,
                             Output out) {
  RunOnThreads(
      threads_, shape_.matrices * shape_.rows, [&](int thread, int64_t begin, int64_t end) {
        absl::InlinedVector<absl::Span<const float>, 8> of_block(operands.begin(), operands.end());
        for (int64_t row = begin; row < end; row += block_rows_) {
          const int64_t rows = std::min(block_rows_, end - row);
          const int64_t at = row * shape_.channels;
          const auto elements = absl::MakeSpan(elements_[thread]).first(rows * shape_.channels);
          for (int64_t i = 0; i < rows; ++i) {
            ScaleRow(sums, shape_, row + i, scales, &elements[i * shape_.channels]);
          }
          for (size_t i = 0; i < operands.size(); ++i) {
            if (epilogue_[i].kind == EpilogueStage::Kind::kAddElement) {
              of_block[i] = operands[i].subspan(at, elements.size());
            }
          }
          Store(epilogue_, of_block, elements, out.Part(at, elements.size()));
        }
      });
}

}  // namespace fixpoint::kernels
