// Sums of products of codes in tiles that stay in registers, some pixels by one or two vectors of
// filters: what is the same for each instruction set.

#ifndef FIXPOINT_RUNTIME_KERNELS_TILE_LOOPS_H_
#define FIXPOINT_RUNTIME_KERNELS_TILE_LOOPS_H_

#include <cstdint>

#include "absl/types/span.h"
#include "runtime/kernels/epilogue.h"
#include "runtime/kernels/folded_epilogue.h"

// With VNNI one instruction adds four products of u8 and s8 in 32 bits. Without, products are
// multiplied as bytes: one instruction adds them in pairs, in 16 bits, and another one pairs of
// those in 32. A pair leaves 16 bits only where both weights have one sign and more than 128
// together. Where four taps have such a pair, in any filter of a panel, they are paired otherwise,
// which costs an instruction for each pixel. Where no pairs fit they are multiplied as words, two
// by two, which takes half as long again. So all sums are exact.

namespace fixpoint::kernels {

// The taps of a step.
inline constexpr int64_t kStepTaps = 4;

// The filters of a panel, at most.
inline constexpr int64_t kMostPanelFilters = 32;

// How the codes of a step, four bytes, are multiplied by its weights.
enum class StepWay {
  kInOrder,    // with VNNI all of them; else tap 0 is paired with 1, and 2 with 3
  kCrossed,    // 0 with 2, and 1 with 3
  kNested,     // 0 with 3, and 2 with 1
  kEvenWords,  // taps 0 and 2, as words
  kOddWords,   // taps 1 and 3
};
inline constexpr int kStepWays = 5;

// The tap at each place of four bytes, for the ways that pair them.
inline constexpr int kPairings[][kStepTaps] = {{0, 1, 2, 3}, {0, 2, 1, 3}, {0, 3, 2, 1}};

// The filters of a panel and the pixels of a chunk.
struct TilePanel {
  const uint8_t* codes;  // of the first pixel's first tap
  int64_t pixels;
  int64_t row_pixels;  // after which the next pixel is row_step from the first of its row
  int64_t pixel_step;
  int64_t row_step;
  // Steps, those of the first way first: how many there are of each, their weights, [step, filter,
  // tap] in bytes or [step, filter, word], and where their codes are, from a pixel's first tap on.
  const int32_t* steps;
  const uint8_t* weights;
  const int32_t* step_at;
  const uint8_t* next_weights;  // which are prefetched meanwhile, or null
  int64_t filters;              // those that there are
  const int32_t* offsets;       // of each filter's sums
  // Elements of the output, from pixel to pixel of a row, and from row to row.
  int64_t out_step;
  int64_t out_row_step;
};

// The operands of the channels of a panel, from its first one on, and 1, or -0 where it is added,
// where there are none. REQUIRES: vectors can be read, also those that are filled in part.
struct PanelEpilogue {
  const float* scales;
  const float* bias;
  const float* bias_factors;
  const float* factors;
  const float* addends;
};

// Between which codes are, as floats.
struct CodeBounds {
  float lowest;
  float highest;
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
  // Each its own, two taps in a step: codes are words, [filter, tap], and so are all weights. All
  // steps are of the first way.
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

struct TileLoops {
  const char* name;  // in the form of oneDNN's names: "loops:avx2"
  int64_t lanes;     // the filters of a vector, of which a panel has two or one
  bool has_vnni;     // so that all steps may be in order
  // Stores two words for each channel of each pixel: the code of the upper line, and below it that
  // of the lower one.
  void (*interleave)(const LinePair& lines, uint32_t* out);
  // Stores the sums.
  void (*to_sums)(CodesOf codes, const TilePanel& panel, int32_t* out);
  // Stores codes, with a sign or without.
  void (*to_codes)(CodesOf codes, const TilePanel& panel, const PanelEpilogue& operands,
                   const FoldedEpilogue& folded, bool is_signed, uint8_t* out);
  // Stores what the stages give, from that element of the output on.
  void (*through_stages)(CodesOf codes, const TilePanel& panel, const PanelStages& stages,
                         int64_t element);
};

extern const TileLoops kTileLoopsAvx2;
extern const TileLoops kTileLoopsAvxVnni;
extern const TileLoops kTileLoopsAvx512;
extern const TileLoops kTileLoopsAvx512Vnni;
// The loops of AVX-VNNI by the instructions of AVX-512 for such vectors.
extern const TileLoops kTileLoopsAvx512VlVnni;

}  // namespace fixpoint::kernels

#endif  // FIXPOINT_RUNTIME_KERNELS_TILE_LOOPS_H_
