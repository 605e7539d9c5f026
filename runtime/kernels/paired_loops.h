// Sums of products of codes in tiles, for processors without VNNI: what is the same for each
// instruction set.

#ifndef FIXPOINT_RUNTIME_KERNELS_PAIRED_LOOPS_H_
#define FIXPOINT_RUNTIME_KERNELS_PAIRED_LOOPS_H_

#include <cstdint>

#include "absl/types/span.h"
#include "runtime/kernels/epilogue.h"
#include "runtime/kernels/folded_epilogue.h"

// Products of u8 and s8 are multiplied as bytes: one instruction adds them in pairs, in 16 bits,
// and another one pairs of those in 32. A pair leaves 16 bits only where both weights have one
// sign and more than 128 together; four taps with such a pair, of any filter of a panel, are
// multiplied as words, two by two, which costs nearly twice as much. So all sums are exact.

namespace fixpoint::kernels {

// The taps of a step.
inline constexpr int64_t kPairedTaps = 4;

// The filters of a panel, at most.
inline constexpr int64_t kMostPanelFilters = 32;

// The filters of a panel and the pixels of a chunk.
struct PairedPanel {
  const uint8_t* codes;  // of the first pixel's first tap
  int64_t pixels;
  int64_t row_pixels;  // after which the next pixel is row_step from the first of its row
  int64_t pixel_step;
  int64_t row_step;
  // The weights of steps of bytes, [step, filter, tap], then those of steps of words, of each step
  // and vector the taps 0 and 2, [filter, tap] in 16 bits, then 1 and 3.
  const uint8_t* weights;
  const int32_t* step_at;  // where the codes of a step are, from a pixel's first tap on
  int64_t byte_steps;
  int64_t steps;
  int64_t filters;         // those that there are
  const int32_t* offsets;  // of each filter's sums
  // Elements of the output, from pixel to pixel of a row, and from row to row.
  int64_t out_step;
  int64_t out_row_step;
};

// The operands of the channels of a panel, and 1, or -0 where it is added, where there are none.
struct PanelEpilogue {
  alignas(64) float scales[kMostPanelFilters];
  alignas(64) float bias[kMostPanelFilters];
  alignas(64) float bias_factors[kMostPanelFilters];
  alignas(64) float factors[kMostPanelFilters];
  alignas(64) float addends[kMostPanelFilters];
};

// The stages of an epilogue that is not folded, none of which requantizes, and what they read.
struct PanelStages {
  const float* scales;  // of the panel's channels, of which the first is `channel`
  absl::Span<const EpilogueStage> stages;
  EpilogueOperands operands;
  int64_t channel;
  Output out;
};

// Which codes the filters of a panel read.
enum class CodesOf {
  kAllFilters,  // the same, four taps in a step
  // Each its own, two taps in a step: codes are words, [filter, tap], and so are all weights,
  // [step, filter, tap].
  kEachFilter,
};

// Two lines of an image. REQUIRES: the channels fill one vector or two.
struct LinePair {
  const uint8_t* upper;
  const uint8_t* lower;
  int64_t pixels;
  int64_t pixel_step;
  int64_t channels;
  uint32_t flipped;  // bits of each lane that are inverted
};

struct PairedLoops {
  const char* name;  // in the form of oneDNN's names: "loops:avx2"
  int64_t lanes;     // the filters of a vector, of which a panel has two or one
  // Stores two words for each channel of each pixel: the code of the upper line, and below it that
  // of the lower one.
  void (*interleave)(const LinePair& lines, uint32_t* out);
  // Stores the sums.
  void (*to_sums)(CodesOf codes, const PairedPanel& panel, int32_t* out);
  // Stores codes, with a sign or without.
  void (*to_codes)(CodesOf codes, const PairedPanel& panel, const PanelEpilogue& operands,
                   const FoldedEpilogue& folded, bool is_signed, uint8_t* out);
  // Stores what the stages give, from that element of the output on.
  void (*through_stages)(CodesOf codes, const PairedPanel& panel, const PanelStages& stages,
                         int64_t element);
};

// For machines with AVX2, and with AVX-512 (instruction_set.h).
extern const PairedLoops kPairedLoopsAvx2;
extern const PairedLoops kPairedLoopsAvx512;

}  // namespace fixpoint::kernels

#endif  // FIXPOINT_RUNTIME_KERNELS_PAIRED_LOOPS_H_
