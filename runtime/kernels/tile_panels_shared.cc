#include <glog/logging.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <numeric>
#include <string>
#include <variant>
#include <vector>

#include "absl/functional/function_ref.h"
#include "absl/strings/str_cat.h"
#include "absl/types/span.h"
#include "runtime/kernels/convolution_shape.h"
#include "runtime/kernels/extents.h"
#include "runtime/kernels/integer_sums.h"
#include "runtime/kernels/machine.h"
#include "runtime/kernels/padded_lines.h"
#include "runtime/kernels/product_shape.h"
#include "runtime/kernels/sum_parts.h"
#include "runtime/kernels/sums_problem.h"
#include "runtime/kernels/threads.h"
#include "runtime/kernels/tile_loops.h"
#include "runtime/kernels/tile_panels.h"

namespace fixpoint::kernels {
namespace {

bool IsPadded(const WindowAxis& axis) { return axis.pad_before != 0 || axis.pad_after != 0; }

// Where each window is one pixel, rows do not matter: each pixel of all images is a row.
ConvolutionShape OfLines(const ConvolutionShape& shape) {
  if (!shape.is_pointwise()) return shape;
  ConvolutionShape lines = shape;
  lines.height = lines.out_height = shape.batch * shape.out_height * shape.out_width;
  lines.batch = lines.width = lines.out_width = 1;
  return lines;
}
ConvolutionShape OfLines(const ProductShape& shape) {
  ConvolutionShape lines;
  lines.batch = shape.batch;
  lines.height = lines.out_height = shape.rows;
  lines.channels = shape.inner;
  lines.filters = shape.columns;
  return lines;
}

// Of a filter.
using FourTaps = std::array<int8_t, kStepTaps>;

// Whether 16 bits may not hold the products of two codes, up to 255, with these weights.
bool Saturates(int first, int second) { return std::abs(first + second) > 128; }

// How a step of these filters is multiplied exactly: kEvenWords stands for words.
StepWay WayWithoutVnni(absl::Span<const FourTaps> filters) {
  for (const StepWay way : {StepWay::kInOrder, StepWay::kCrossed, StepWay::kNested}) {
    const int(&tap)[kStepTaps] = kPairings[static_cast<int>(way)];
    if (std::none_of(filters.begin(), filters.end(), [&](const FourTaps& of_filter) {
          return Saturates(of_filter[tap[0]], of_filter[tap[1]]) ||
                 Saturates(of_filter[tap[2]], of_filter[tap[3]]);
        })) {
      return way;
    }
  }
  return StepWay::kEvenWords;
}

void PackStep(StepWay way, const FourTaps* filters, int64_t count, uint8_t* to) {
  if (way == StepWay::kEvenWords || way == StepWay::kOddWords) {
    auto* words = reinterpret_cast<int16_t*>(to);
    const int first = way == StepWay::kEvenWords ? 0 : 1;
    for (int64_t f = 0; f < count; ++f) {
      *words++ = filters[f][first];
      *words++ = filters[f][first + 2];
    }
    return;
  }
  const int(&tap)[kStepTaps] = kPairings[static_cast<int>(way)];
  for (int64_t f = 0; f < count; ++f) {
    for (const int t : tap) *to++ = static_cast<uint8_t>(filters[f][t]);
  }
}

class SharedTiles final : public TilePanels {
 public:
  explicit SharedTiles(const SumsProblem& problem);

  // Where filters fill panels, 1.1 bytes for each code with VNNI, 2.1 without, besides 4 for each
  // filter.
  int64_t packed_bytes() const override;
  // The same for all extents of images and rows.
  std::string packed_form() const override;
  void Pack(absl::Span<const int8_t> codes, absl::Span<uint8_t> packed) override;
  int64_t sum_count() const override { return weights_.count(); }
  void ForEachPanel(const SumOperands& operands,
                    absl::FunctionRef<void(const TilePanel&, const Place&)> multiply) override;

 private:
  const WindowAxis& rows() const { return shape_.window[0]; }
  const WindowAxis& columns() const { return shape_.window[1]; }
  int64_t panel_bytes() const { return most_steps_ * panel_filters_ * kStepTaps; }
  int64_t order_size() const { return kStepWays + most_steps_; }
  int64_t panels() const { return shape_.groups * group_panels_; }
  int64_t LinesOf(int64_t out_rows) const;
  int64_t WorthwhileThreads() const;
  int64_t ChunkRows() const;
  std::vector<int32_t> PlaceSteps() const;
  void PackPanel(const int8_t* codes, int64_t panel, int32_t* order, uint8_t* weights) const;
  const int32_t* PlaceOrdered(const int32_t* order, int32_t* step_at) const;
  void CopyLines(absl::Span<const uint8_t> inputs, int64_t image, int64_t row, int64_t rows,
                 uint8_t zero, uint8_t* lines) const;

  const WeightsOfSums weights_;
  // With products as convolutions of windows of one pixel, of one image for each matrix.
  const ConvolutionShape shape_;
  const int64_t matrices_;  // of weights: 1, or one for each image
  const int64_t group_channels_;
  const int64_t group_filters_;
  const int64_t panel_filters_;
  const int64_t group_panels_;
  // Taps are adjacent in runs: a run is a row of a window, or one of its pixels.
  const bool is_row_a_run_;
  const int64_t run_;
  const int64_t run_steps_;
  const int64_t runs_;  // of a row of a window
  const int64_t steps_;
  const int64_t most_steps_;  // twice as many where all of them are of words
  const bool is_prefetched_;  // weights, from beyond the second cache
  const bool is_copied_;      // shifted, with padding, or with what the last step of a run reads
  const int64_t line_;        // of an image, with its padding
  const int64_t chunk_rows_;
  const int64_t chunks_;                // of an image
  const std::vector<int32_t> step_at_;  // from a pixel's first tap on
  const int threads_;
  struct Scratch {
    std::vector<uint8_t> lines;
    std::vector<int32_t> step_at;
  };
  std::vector<Scratch> scratch_;  // of each thread
};

SharedTiles::SharedTiles(const SumsProblem& problem)
    : TilePanels(CodesOf::kAllFilters, problem),
      weights_(std::visit([](const auto& shape) { return WeightsOf(shape); }, problem.shape)),
      shape_(std::visit([](const auto& shape) { return OfLines(shape); }, problem.shape)),
      matrices_(weights_.groups),
      group_channels_(shape_.channels / shape_.groups),
      group_filters_(shape_.filters / shape_.groups),
      panel_filters_(group_filters_ > loops().lanes ? 2 * loops().lanes : loops().lanes),
      group_panels_(CeilDivide(group_filters_, panel_filters_)),
      is_row_a_run_(columns().dilation == 1 && shape_.groups == 1),
      run_((is_row_a_run_ ? columns().kernel : 1) * group_channels_),
      run_steps_(CeilDivide(run_, kStepTaps)),
      runs_(is_row_a_run_ ? 1 : columns().kernel),
      steps_(rows().kernel * runs_ * run_steps_),
      most_steps_(loops().has_vnni ? steps_ : 2 * steps_),
      is_prefetched_(panels() * panel_bytes() > ThisMachine().near_bytes()),
      is_copied_(shift() != 0 || run_ % kStepTaps != 0 || IsPadded(rows()) || IsPadded(columns())),
      line_((columns().pad_before + shape_.width + columns().pad_after) * shape_.channels),
      chunk_rows_(ChunkRows()),
      chunks_(CeilDivide(shape_.out_height, chunk_rows_)),
      step_at_(PlaceSteps()),
      threads_(static_cast<int>(
          std::min<int64_t>(WorthwhileThreads(), shape_.batch * chunks_ * panels()))),
      scratch_(threads_) {
  for (Scratch& scratch : scratch_) {
    if (is_copied_) scratch.lines.resize(LinesOf(chunk_rows_) * line_ + kStepTaps);
    scratch.step_at.resize(most_steps_);
  }
}

int64_t SharedTiles::LinesOf(int64_t out_rows) const {
  return (out_rows - 1) * rows().stride + (rows().kernel - 1) * rows().dilation + 1;
}

// As many as have enough to do.
int64_t SharedTiles::WorthwhileThreads() const {
  const int64_t products = output_size() * run_ * runs_ * rows().kernel;
  return std::clamp<int64_t>(products / kProductsOfThread, 1, GrantedThreads());
}

// As many rows as fit and leave a chunk for each thread, split evenly.
int64_t SharedTiles::ChunkRows() const {
  const int64_t row_bytes = rows().stride * line_ + shape_.out_width * shape_.filters;
  const int64_t chunks = CeilDivide(WorthwhileThreads(), std::max<int64_t>(shape_.batch, 1));
  const int64_t most = std::clamp<int64_t>(ThisMachine().chunk_bytes() / row_bytes, 1,
                                           CeilDivide(shape_.out_height, chunks));
  return CeilDivide(shape_.out_height, CeilDivide(shape_.out_height, most));
}

std::vector<int32_t> SharedTiles::PlaceSteps() const {
  std::vector<int32_t> places;
  for (int64_t i = 0; i < rows().kernel; ++i) {
    for (int64_t j = 0; j < runs_; ++j) {
      const int64_t run = i * rows().dilation * line_ + j * columns().dilation * shape_.channels;
      for (int64_t step = 0; step < run_steps_; ++step) {
        places.push_back(static_cast<int32_t>(run + step * kStepTaps));
      }
    }
  }
  return places;
}

// The packed form: sums of weights, [matrix, filter]; of each panel its numbers of steps of each
// way and the order of its steps; of each panel the weights; with room for words in all steps.
int64_t SharedTiles::packed_bytes() const {
  const int64_t integers = weights_.count() + matrices_ * panels() * order_size();
  return integers * static_cast<int64_t>(sizeof(int32_t)) + matrices_ * panels() * panel_bytes();
}

std::string SharedTiles::packed_form() const {
  return absl::StrCat(loops().name, " ", matrices_, "x", shape_.groups, "x", group_filters_, "x",
                      group_channels_, "x", rows().kernel, "x", columns().kernel,
                      is_row_a_run_ ? " rows, " : " pixels, ", weights_.sum_stride, " and ",
                      weights_.stride);
}

void SharedTiles::Pack(absl::Span<const int8_t> codes, absl::Span<uint8_t> packed) {
  CHECK_EQ(static_cast<int64_t>(packed.size()), packed_bytes());
  auto* const sums = reinterpret_cast<int32_t*>(packed.data());
  AddUpWeights(codes, weights_, {sums, static_cast<size_t>(weights_.count())});
  const int64_t all_panels = matrices_ * panels();
  int32_t* orders = sums + weights_.count();
  auto* weights = reinterpret_cast<uint8_t*>(orders + all_panels * order_size());
  std::fill(weights, packed.data() + packed.size(), 0);
  for (int64_t m = 0; m < matrices_; ++m) {
    const int8_t* const matrix = codes.data() + m * weights_.sums * weights_.products;
    for (int64_t panel = 0; panel < panels(); ++panel) {
      PackPanel(matrix, panel, orders, weights);
      orders += order_size();
      weights += panel_bytes();
    }
  }
}

void SharedTiles::PackPanel(const int8_t* codes, int64_t panel, int32_t* order,
                            uint8_t* weights) const {
  const int64_t first = panel % group_panels_ * panel_filters_;
  const int64_t filters = std::min(group_filters_ - first, panel_filters_);
  const int8_t* const of_panel =
      codes + (panel / group_panels_ * group_filters_ + first) * weights_.sum_stride;
  const int64_t lanes = (filters > loops().lanes ? 2 : 1) * loops().lanes;
  std::vector<FourTaps> taps(steps_ * lanes);  // [step, filter]
  for (int64_t step = 0; step < steps_; ++step) {
    const int64_t run = step / run_steps_;
    const int64_t place = run / runs_ * columns().kernel + run % runs_;
    for (int64_t k = 0; k < kStepTaps; ++k) {
      const int64_t tap = step % run_steps_ * kStepTaps + k;
      if (tap >= run_) break;
      const int64_t channel = tap % group_channels_;
      const int64_t product = channel * rows().kernel * columns().kernel + place +
                              (is_row_a_run_ ? tap / group_channels_ : 0);
      const int8_t* const code = of_panel + product * weights_.stride;
      FourTaps* const to = &taps[step * lanes];
      for (int64_t f = 0; f < filters; ++f) to[f][k] = code[f * weights_.sum_stride];
    }
  }
  std::vector<StepWay> ways(steps_, StepWay::kInOrder);
  if (!loops().has_vnni) {
    for (int64_t step = 0; step < steps_; ++step) {
      ways[step] = WayWithoutVnni(absl::MakeSpan(taps).subspan(step * lanes, lanes));
    }
  }
  int32_t* next = order + kStepWays;
  for (int i = 0; i < kStepWays; ++i) {
    const auto way = static_cast<StepWay>(i);
    const int32_t* const begin = next;
    for (int64_t step = 0; step < steps_; ++step) {
      if (way != ways[step] && !(way == StepWay::kOddWords && ways[step] == StepWay::kEvenWords)) {
        continue;
      }
      *next++ = static_cast<int32_t>(step);
      PackStep(way, &taps[step * lanes], lanes, weights);
      weights += lanes * kStepTaps;
    }
    order[i] = static_cast<int32_t>(next - begin);
  }
}

// Where the steps of a panel are, in its order.
const int32_t* SharedTiles::PlaceOrdered(const int32_t* order, int32_t* step_at) const {
  if (loops().has_vnni) return step_at_.data();
  const int64_t steps = std::accumulate(order, order + kStepWays, int64_t{0});
  for (int64_t i = 0; i < steps; ++i) step_at[i] = step_at_[order[kStepWays + i]];
  return step_at;
}

// The lines that `rows` rows of the output read, shifted and with their padding.
void SharedTiles::CopyLines(absl::Span<const uint8_t> inputs, int64_t image, int64_t row,
                            int64_t rows, uint8_t zero, uint8_t* lines) const {
  const int64_t size = shape_.width * shape_.channels;
  const PaddedLine padded = {columns().pad_before * shape_.channels, size,
                             columns().pad_after * shape_.channels};
  int64_t y = row * this->rows().stride - this->rows().pad_before;
  for (int64_t i = 0; i < LinesOf(rows); ++i, ++y, lines += line_) {
    if (y < 0 || y >= shape_.height) {
      padded.Fill(zero, lines);
    } else {
      padded.Copy(inputs.data() + (image * shape_.height + y) * size, size, shift(), zero, lines);
    }
  }
}

void SharedTiles::ForEachPanel(const SumOperands& operands,
                               absl::FunctionRef<void(const TilePanel&, const Place&)> multiply) {
  const int32_t* const orders = SumsOfWeights(operands.weights).end();
  const auto* const weights =
      reinterpret_cast<const uint8_t*>(orders + matrices_ * panels() * order_size());
  const int64_t image_size = shape_.height * shape_.width * shape_.channels;
  RunOnThreads(
      threads_, shape_.batch * chunks_ * panels(), [&](int thread, int64_t begin, int64_t end) {
        Scratch& scratch = scratch_[thread];
        for (int64_t i = begin; i < end; ++i) {
          const int64_t panel = i % panels();
          const int64_t chunk = i / panels();
          const int64_t image = chunk / chunks_;
          const int64_t row = chunk % chunks_ * chunk_rows_;
          const int64_t chunk_rows = std::min(chunk_rows_, shape_.out_height - row);
          if (is_copied_ && (i == begin || panel == 0)) {
            CopyLines(operands.inputs, image, row, chunk_rows, ZeroOf(operands),
                      scratch.lines.data());
          }
          const uint8_t* const lines = is_copied_ ? scratch.lines.data()
                                                  : operands.inputs.data() + image * image_size +
                                                        row * rows().stride * line_;
          const int64_t group = panel / group_panels_;
          const int64_t in_group = panel % group_panels_ * panel_filters_;
          const int64_t channel = group * group_filters_ + in_group;
          const int64_t matrix = matrices_ > 1 ? image : 0;
          const int64_t packed_panel = matrix * panels() + panel;
          const int32_t* const order = orders + packed_panel * order_size();
          TilePanel of_panel;
          of_panel.codes = lines + group * group_channels_;
          of_panel.pixels = chunk_rows * shape_.out_width;
          of_panel.row_pixels = shape_.out_width;
          of_panel.pixel_step = columns().stride * shape_.channels;
          of_panel.row_step = rows().stride * line_;
          of_panel.weights = weights + packed_panel * panel_bytes();
          of_panel.steps = order;
          of_panel.step_at = PlaceOrdered(order, scratch.step_at.data());
          const int64_t next = matrix * panels() + (panel + 1) % panels();
          of_panel.next_weights = is_prefetched_ ? weights + next * panel_bytes() : nullptr;
          of_panel.filters = std::min(panel_filters_, group_filters_ - in_group);
          of_panel.offsets = nullptr;
          of_panel.out_step = shape_.filters;
          of_panel.out_row_step = shape_.out_width * shape_.filters;
          const int64_t pixel = (image * shape_.out_height + row) * shape_.out_width;
          multiply(of_panel,
                   {pixel * shape_.filters + channel, channel, matrix * shape_.filters + channel});
        }
      });
}

}  // namespace

std::unique_ptr<TilePanels> PlanSharedTiles(const SumsProblem& problem) {
  return std::make_unique<SharedTiles>(problem);
}

}  // namespace fixpoint::kernels
