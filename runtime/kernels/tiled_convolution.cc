#include "runtime/kernels/tiled_convolution.h"

#include <glog/logging.h>
#include <immintrin.h>

#include <algorithm>
#include <cstring>
#include <string>
#include <vector>

#include "absl/types/span.h"
#include "runtime/kernels/convolution_shape.h"
#include "runtime/kernels/epilogue.h"
#include "runtime/kernels/epilogue_lanes.h"
#include "runtime/kernels/extents.h"
#include "runtime/kernels/folded_epilogue.h"
#include "runtime/kernels/folded_epilogue_lanes.h"
#include "runtime/kernels/machine.h"
#include "runtime/kernels/padded_lines.h"
#include "runtime/kernels/sum_begin.h"
#include "runtime/kernels/threads.h"

// The sums of a tile, some pixels by one or two vectors of filters, stay in registers while all
// taps are added: for every four taps, the vectors of weights are multiplied by four codes of each
// pixel, repeated in all lanes. A tile's pixels form stretches, each within one row, so that they
// are a fixed distance apart. The weights of a tile's filters, a panel, are used for all pixels of
// a chunk, which stay in the second-level cache, while the next panel is prefetched.

namespace fixpoint::kernels {
namespace {

bool IsPadded(const WindowAxis& axis) { return axis.pad_before != 0 || axis.pad_after != 0; }

// For windows of one pixel, rows do not matter: the pixels of all images form one image with rows
// of `pixels`.
ConvolutionShape InStretches(ConvolutionShape shape, int pixels) {
  if (!shape.is_pointwise()) return shape;
  shape.height = shape.out_height =
      CeilDivide(shape.batch * shape.out_height * shape.out_width, pixels);
  shape.width = shape.out_width = pixels;
  shape.batch = 1;
  return shape;
}

// The tiles that there are, the ones with most sums for each vector of weights first.
enum class Tile { kNone, kTwoSevensByTwo, kEightByTwo, kTwoEightsByOne, kTwoEightsByPart };

// Whether pixels of rows fill the stretches, of which there are two at least.
bool FillStretches(const ConvolutionShape& shape, int pixels) {
  return InStretches(shape, pixels).out_width % pixels == 0 &&
         shape.output_size() >= 2 * pixels * shape.filters;
}

Tile TileFor(const ConvolutionShape& shape) {
  const bool are_pairs = shape.filters % (2 * kLanes) == 0;
  if (are_pairs && FillStretches(shape, 7)) return Tile::kTwoSevensByTwo;
  if (!FillStretches(shape, 8)) return Tile::kNone;
  if (are_pairs) return Tile::kEightByTwo;
  return shape.filters % kLanes == 0 ? Tile::kTwoEightsByOne : Tile::kTwoEightsByPart;
}

bool MayBeTiled(const SumsProblem& problem) {
  const ConvolutionShape* const shape = problem.convolution();
  return shape != nullptr && shape->groups == 1 && shape->taps() >= kLeastTiledTaps &&
         TileFor(*shape) != Tile::kNone;
}

// Tiles are kStretches stretches of kPixels pixels by kVectors vectors of filters. The last panel's
// vectors may be filled in part.
template <int kPixels, int kStretches, int kVectors, bool kHasPartVectors = false>
class TiledConvolution final : public IntegerSums {
  static_assert(kStretches <= 2, "ChunkRows makes whole tiles of one or two stretches");

 public:
  TiledConvolution(const ConvolutionShape& shape, const SumsProblem& problem)
      : input_size_(shape.input_size()),
        out_pixels_(shape.output_size() / shape.filters),
        shape_(InStretches(shape, kPixels)),
        shift_(ShiftToUnsigned(problem.coding.inputs.type)),
        coding_(problem.coding),
        epilogue_(problem.epilogue),
        output_(problem.output),
        folded_(*Fold(problem.epilogue, problem.output)),
        is_row_a_run_(columns().dilation == 1),
        run_((is_row_a_run_ ? columns().kernel : 1) * shape_.channels),
        run_steps_(CeilDivide(run_, kTaps)),
        runs_(is_row_a_run_ ? 1 : columns().kernel),
        is_copied_(shift_ != 0 || run_ % kTaps != 0 || IsPadded(rows()) || IsPadded(columns())),
        line_((columns().pad_before + shape_.width + columns().pad_after) * shape_.channels),
        stretches_(shape_.out_width / kPixels),
        steps_(rows().kernel * runs_ * run_steps_),
        panels_(CeilDivide(shape_.filters, kPanelFilters)),
        chunk_rows_(ChunkRows()),
        chunks_(CeilDivide(shape_.out_height, chunk_rows_)),
        offsets_(panels_ * kPanelFilters),
        threads_(static_cast<int>(
            std::min<int64_t>(WorthwhileThreads(), shape_.batch * chunks_ * panels_))),
        lines_(threads_,
               std::vector<uint8_t>(is_copied_ ? LinesOf(chunk_rows_) * line_ + kTaps : 0)) {}

  int64_t packed_bytes() const override {
    return panels_ * kPanelFilters * static_cast<int64_t>(sizeof(int32_t)) +
           panels_ * steps_ * kStepBytes;
  }

  // Signed codes are shifted to make them unsigned. The shifted code of 0 contributes its
  // value times the sum of the filter's weights to each sum.
  void Pack(absl::Span<const int8_t> codes, absl::Span<uint8_t> packed) override {
    CHECK_EQ(static_cast<int64_t>(codes.size()), shape_.filter_size());
    CHECK_EQ(static_cast<int64_t>(packed.size()), packed_bytes());
    std::fill(packed.begin(), packed.end(), 0);
    auto* const sums = reinterpret_cast<int32_t*>(packed.data());
    auto* const weights = reinterpret_cast<int8_t*>(sums + panels_ * kPanelFilters);
    const int8_t* code = codes.data();
    for (int64_t f = 0; f < shape_.filters; ++f) {
      int8_t* const filter =
          weights + f / kPanelFilters * steps_ * kStepBytes + f % kPanelFilters * kTaps;
      int32_t sum = 0;
      for (int64_t c = 0; c < shape_.channels; ++c) {
        for (int64_t i = 0; i < rows().kernel; ++i) {
          for (int64_t j = 0; j < columns().kernel; ++j, ++code) {
            const int64_t run = is_row_a_run_ ? i : i * runs_ + j;
            const int64_t tap = (is_row_a_run_ ? j * shape_.channels : 0) + c;
            filter[(run * run_steps_ + tap / kTaps) * kStepBytes + tap % kTaps] = *code;
            sum += *code;
          }
        }
      }
      sums[f] = sum;
    }
  }

  void Run(const SumOperands& operands, Output out) override {
    CheckRun(operands, out, coding_,
             {input_size_, packed_bytes(), shape_.filters, out_pixels_ * shape_.filters}, epilogue_,
             output_);
    const absl::Span<const uint8_t> inputs = operands.inputs;
    const auto zero = static_cast<uint8_t>(shift_ + operands.zero_point);
    const auto* const sums = reinterpret_cast<const int32_t*>(operands.weights.data());
    FillOffsets({sums, offsets_.size()}, zero, operands.bias, absl::MakeSpan(offsets_));
    const auto* const weights = reinterpret_cast<const int8_t*>(sums + offsets_.size());
    const EpilogueOfLanes epilogue = {operands.scales.data(), epilogue_, operands.epilogue, out};
    RunOnThreads(
        threads_, shape_.batch * chunks_ * panels_, [&](int thread, int64_t begin, int64_t end) {
          Chunk chunk;
          for (int64_t i = begin; i < end; ++i) {
            if (i == begin || i % panels_ == 0) {
              chunk = ChunkAt(i / panels_, inputs.data());
              if (is_copied_) CopyLines(zero, inputs, lines_[thread].data(), &chunk);
            }
            const int64_t panel = i % panels_;
            const int64_t next = panel + 1 < panels_ ? panel + 1 : 0;
            const Panel of_panel = {weights + panel * steps_ * kStepBytes,
                                    weights + next * steps_ * kStepBytes, panel * kPanelFilters};
            WithFolded(folded_, epilogue,
                       [&](const auto& finish) { MultiplyChunk(chunk, of_panel, finish); });
          }
        });
  }

  std::string implementation() const override { return "loops:avx512_vnni"; }

 private:
  static constexpr int64_t kPanelFilters = kVectors * kLanes;
  static constexpr int64_t kStepBytes = kPanelFilters * kTaps;

  // Rows of the output of one image.
  struct Chunk {
    const uint8_t* codes;  // of the first window's first tap
    int64_t image;
    int64_t row;
    int64_t rows;
  };

  struct Panel {
    const int8_t* weights;
    const int8_t* next_weights;
    int64_t filter;
    int64_t ahead = 0;
  };

  // Walks over a chunk's stretches, by the first tap of the first window of each.
  class Stretches {
   public:
    Stretches(const Chunk& chunk, const TiledConvolution& convolution)
        : row_(chunk.codes),
          next_(chunk.codes),
          step_(kPixels * convolution.columns().stride * convolution.shape_.channels),
          row_step_(convolution.rows().stride * convolution.line_),
          stretches_(convolution.stretches_),
          left_(stretches_) {}

    const uint8_t* Take() {
      const uint8_t* const taken = next_;
      if (--left_ == 0) {
        left_ = stretches_;
        next_ = row_ += row_step_;
      } else {
        next_ += step_;
      }
      return taken;
    }

   private:
    const uint8_t* row_;
    const uint8_t* next_;
    const int64_t step_;
    const int64_t row_step_;
    const int64_t stretches_;
    int64_t left_;  // of the row
  };

  const WindowAxis& rows() const { return shape_.window[0]; }
  const WindowAxis& columns() const { return shape_.window[1]; }

  // The number of image lines that `out_rows` rows of the output read.
  int64_t LinesOf(int64_t out_rows) const {
    return (out_rows - 1) * rows().stride + (rows().kernel - 1) * rows().dilation + 1;
  }

  // As many as have enough to do.
  int64_t WorthwhileThreads() const {
    const int64_t products = out_pixels_ * shape_.filters * shape_.taps();
    return std::clamp<int64_t>(products / kProductsOfThread, 1, GrantedThreads());
  }

  // As many rows as fit and leave a chunk for each thread, split evenly and into whole tiles.
  int64_t ChunkRows() const {
    const int64_t row_bytes = rows().stride * line_ + shape_.out_width * shape_.filters;
    const int64_t chunks = CeilDivide(WorthwhileThreads(), std::max<int64_t>(shape_.batch, 1));
    const int64_t most = std::clamp<int64_t>(ThisMachine().chunk_bytes() / row_bytes, 1,
                                             CeilDivide(shape_.out_height, chunks));
    const int64_t count = CeilDivide(shape_.out_height, CeilDivide(shape_.out_height, most));
    return std::min(count + count * stretches_ % kStretches, shape_.out_height);
  }

  // A chunk that is read from the images themselves.
  Chunk ChunkAt(int64_t index, const uint8_t* inputs) const {
    Chunk chunk;
    chunk.image = index / chunks_;
    chunk.row = index % chunks_ * chunk_rows_;
    chunk.rows = std::min(chunk_rows_, shape_.out_height - chunk.row);
    const int64_t line = chunk.image * shape_.height + chunk.row * rows().stride;
    chunk.codes = inputs + line * shape_.width * shape_.channels;
    return chunk;
  }

  // Copies the chunk to `lines`, shifted and with its padding.
  void CopyLines(uint8_t zero, absl::Span<const uint8_t> inputs, uint8_t* lines,
                 Chunk* chunk) const {
    const int64_t size = shape_.width * shape_.channels;
    const PaddedLine padded = {columns().pad_before * shape_.channels, size,
                               columns().pad_after * shape_.channels};
    int64_t y = chunk->row * rows().stride - rows().pad_before;
    int64_t at = (chunk->image * shape_.height + y) * size;
    chunk->codes = lines;
    for (int64_t i = 0; i < LinesOf(chunk->rows); ++i, ++y, at += size, lines += line_) {
      if (y < 0 || y >= shape_.height) {
        padded.Fill(zero, lines);
        continue;
      }
      // The last line of a stretch may be incomplete.
      const absl::Span<const uint8_t> line = inputs.subspan(at, size);
      padded.Copy(line.data(), static_cast<int64_t>(line.size()), shift_, zero, lines);
    }
  }

  // `finish` is applied to the sums of a tile.
  template <typename Finishing>
  FIXPOINT_VNNI_TARGET void MultiplyChunk(const Chunk& chunk, Panel panel,
                                          const Finishing& finish) const {
    const int64_t count = chunk.rows * stretches_;
    const int64_t first = (chunk.image * shape_.out_height + chunk.row) * stretches_;
    // What each step prefetches of the next panel.
    panel.ahead = steps_ * kStepBytes * panels_ > ThisMachine().near_bytes()
                      ? kStepBytes / std::max<int64_t>(count / kStretches, 1)
                      : 0;
    const int64_t whole = std::min(count, out_pixels_ / kPixels - first);
    Stretches next(chunk, *this);
    int64_t pixel = first * kPixels;
    int64_t stretch = 0;
    for (; stretch + kStretches <= whole; stretch += kStretches, pixel += kStretches * kPixels) {
      const uint8_t* codes[kStretches];
      for (const uint8_t*& of_stretch : codes) of_stretch = next.Take();
      MultiplyTile<kStretches, kPixels>(codes, &panel, pixel, finish);
    }
    for (; stretch < whole; ++stretch, pixel += kPixels) {
      const uint8_t* const codes[] = {next.Take()};
      MultiplyTile<1, kPixels>(codes, &panel, pixel, finish);
    }
    if (whole == count) return;
    for (const uint8_t* at = next.Take(); pixel < out_pixels_; ++pixel, at += shape_.channels) {
      const uint8_t* const codes[] = {at};
      MultiplyTile<1, 1>(codes, &panel, pixel, finish);
    }
  }

  // Computes the sums of kTileStretches times kLength pixels from `pixel` of the output on, whose
  // codes begin at `codes`.
  template <int kTileStretches, int kLength, typename Finishing>
  FIXPOINT_VNNI void MultiplyTile(const uint8_t* const (&codes)[kTileStretches], Panel* panel,
                                  int64_t pixel, const Finishing& finish) const {
    constexpr int kCount = kTileStretches * kLength;
    __m512i sums[kVectors][kCount];
    for (int v = 0; v < kVectors; ++v) {
      const __m512i offsets = _mm512_loadu_si512(&offsets_[panel->filter + v * kLanes]);
      for (__m512i& sum : sums[v]) sum = offsets;
    }
    const int64_t distance = columns().stride * shape_.channels;
    const int8_t* weights = panel->weights;
    const int8_t* next = panel->next_weights;
    const int64_t ahead = panel->ahead;
    for (int64_t i = 0; i < rows().kernel; ++i) {
      for (int64_t j = 0; j < runs_; ++j) {
        const int64_t tap = i * rows().dilation * line_ + j * columns().dilation * shape_.channels;
        const uint8_t* at[kTileStretches];
        for (int g = 0; g < kTileStretches; ++g) at[g] = codes[g] + tap;
        for (int64_t step = 0; step < run_steps_; ++step) {
          __m512i of_taps[kVectors];
          for (int v = 0; v < kVectors; ++v) {
            of_taps[v] = _mm512_loadu_si512(weights + v * kLanes * kTaps);
          }
          weights += kStepBytes;
          __builtin_prefetch(next);
          next += ahead;
          for (int g = 0; g < kTileStretches; ++g) {
#pragma GCC unroll 8
            for (int p = 0; p < kLength; ++p) {
              int32_t four;
              std::memcpy(&four, at[g] + p * distance, sizeof(four));
              const __m512i repeated = _mm512_set1_epi32(four);
              const int s = g * kLength + p;
              for (int v = 0; v < kVectors; ++v) {
                sums[v][s] = _mm512_dpbusd_epi32(sums[v][s], repeated, of_taps[v]);
              }
            }
            at[g] += kTaps;
          }
        }
      }
    }
    panel->next_weights = next;
#pragma GCC unroll 2
    for (int v = 0; v < kVectors; ++v) {
      const int64_t filter = panel->filter + v * kLanes;
      const __mmask16 mask = kHasPartVectors ? FirstLanes(shape_.filters - filter) : kAllLanes;
      finish(sums[v], PlaceOfLanes{filter, pixel * shape_.filters + filter, shape_.filters, mask});
    }
  }

  const int64_t input_size_;
  const int64_t out_pixels_;
  const ConvolutionShape shape_;
  const uint8_t shift_;
  const SumCoding coding_;
  const Epilogue epilogue_;
  const OutputType output_;
  const FoldedEpilogue folded_;
  // Taps are adjacent in runs: a run is a row of a window or, with dilation, one of its pixels.
  const bool is_row_a_run_;
  const int64_t run_;
  const int64_t run_steps_;  // of four taps
  const int64_t runs_;       // of a row of a window
  const bool is_copied_;     // shifted, or with padding
  const int64_t line_;       // of an image, with its padding
  const int64_t stretches_;  // of a row of the output
  const int64_t steps_;      // of a filter
  const int64_t panels_;
  const int64_t chunk_rows_;
  const int64_t chunks_;          // of an image
  std::vector<int32_t> offsets_;  // the starting values of the sums
  const int threads_;
  std::vector<std::vector<uint8_t>> lines_;  // of each thread, where they are copied
};

}  // namespace

bool IsForTiles(const SumsProblem& problem) {
  return MayBeTiled(problem) && TileFor(*problem.convolution()) != Tile::kTwoEightsByPart;
}

bool IsForTilesOfParts(const SumsProblem& problem) {
  return MayBeTiled(problem) && TileFor(*problem.convolution()) == Tile::kTwoEightsByPart;
}

std::unique_ptr<IntegerSums> PlanTiledConvolution(const SumsProblem& problem) {
  const ConvolutionShape& shape = *problem.convolution();
  switch (TileFor(shape)) {
    case Tile::kTwoSevensByTwo:
      return std::make_unique<TiledConvolution<7, 2, 2>>(shape, problem);
    case Tile::kEightByTwo:
      return std::make_unique<TiledConvolution<8, 1, 2>>(shape, problem);
    case Tile::kTwoEightsByOne:
      return std::make_unique<TiledConvolution<8, 2, 1>>(shape, problem);
    case Tile::kTwoEightsByPart:
      return std::make_unique<TiledConvolution<8, 2, 1, true>>(shape, problem);
    case Tile::kNone:
      break;
  }
  LOG(FATAL) << "no tile fits";
}

}  // namespace fixpoint::kernels
