// Two lines of an image are interleaved, so that a lane holds two codes of a channel, one below the
// other, as words. One instruction then multiplies them by two rows of a column of the filters. A
// window may begin with the second line of two: the weights are stored for both cases.

#include <glog/logging.h>

#include <algorithm>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "absl/functional/function_ref.h"
#include "absl/strings/str_cat.h"
#include "absl/types/span.h"
#include "runtime/kernels/convolution_shape.h"
#include "runtime/kernels/extents.h"
#include "runtime/kernels/integer_sums.h"
#include "runtime/kernels/machine.h"
#include "runtime/kernels/sum_parts.h"
#include "runtime/kernels/sums_problem.h"
#include "runtime/kernels/threads.h"
#include "runtime/kernels/tile_loops.h"
#include "runtime/kernels/tile_panels.h"
#include "runtime/kernels/vectorised.h"

namespace fixpoint::kernels {
namespace {

constexpr int64_t kLines = 2;

class DepthwiseTiles final : public TilePanels {
 public:
  explicit DepthwiseTiles(const SumsProblem& problem)
      : TilePanels(CodesOf::kEachFilter, problem),
        shape_(*problem.convolution()),
        panel_channels_(shape_.channels > loops().lanes ? 2 * loops().lanes : loops().lanes),
        panels_(CeilDivide(shape_.channels, panel_channels_)),
        pairs_(rows().kernel / kLines + 1),
        steps_(pairs_ * columns().kernel),
        line_((columns().pad_before + shape_.width + columns().pad_after) * panel_channels_),
        chunk_rows_(ChunkRows()),
        chunks_(CeilDivide(shape_.out_height, chunk_rows_)),
        no_line_(shape_.width * shape_.channels),
        threads_(static_cast<int>(
            std::min<int64_t>(GrantedThreads(), shape_.batch * chunks_ * panels_))),
        lines_(threads_, std::vector<uint32_t>(PairsOf(chunk_rows_) * line_)) {}

  int64_t packed_bytes() const override {
    return (shape_.channels + kLines * panels_ * steps_ * panel_channels_) *
           static_cast<int64_t>(sizeof(int32_t));
  }
  std::string packed_form() const override {
    return absl::StrCat("own pairs of ", loops().lanes, ": ", shape_.channels, "x", rows().kernel,
                        "x", columns().kernel);
  }
  int64_t sum_count() const override { return shape_.channels; }

  // After the sums of weights: [whether a window begins with a second line, panel, step, channel,
  // line].
  void Pack(absl::Span<const int8_t> codes, absl::Span<uint8_t> packed) override {
    CHECK_EQ(static_cast<int64_t>(packed.size()), packed_bytes());
    std::fill(packed.begin(), packed.end(), 0);
    auto* const sums = reinterpret_cast<int32_t*>(packed.data());
    AddUpWeights(codes, WeightsOf(shape_), {sums, static_cast<size_t>(shape_.channels)});
    auto* const words = reinterpret_cast<int16_t*>(sums + shape_.channels);
    const int8_t* code = codes.data();
    for (int64_t c = 0; c < shape_.channels; ++c) {
      for (int64_t i = 0; i < rows().kernel; ++i) {
        for (int64_t j = 0; j < columns().kernel; ++j, ++code) {
          for (int64_t begin = 0; begin < kLines; ++begin) {
            const int64_t panel = c / panel_channels_;
            const int64_t step = (begin + i) / kLines * columns().kernel + j;
            const int64_t lane = (begin * panels_ + panel) * steps_ * panel_channels_ +
                                 step * LanesOf(panel) + c % panel_channels_;
            words[lane * kLines + (begin + i) % kLines] = *code;
          }
        }
      }
    }
  }

  void ForEachPanel(const SumOperands& operands,
                    absl::FunctionRef<void(const TilePanel&, const Place&)> multiply) override {
    std::fill(no_line_.begin(), no_line_.end(), static_cast<uint8_t>(operands.zero_point));
    const std::vector<int32_t> step_at = PlaceSteps();
    const auto all_steps = static_cast<int32_t>(steps_);
    const auto* const weights =
        reinterpret_cast<const uint8_t*>(SumsOfWeights(operands.weights).data() + shape_.channels);
    const int64_t panel_bytes = steps_ * panel_channels_ * static_cast<int64_t>(sizeof(int32_t));
    RunOnThreads(
        threads_, shape_.batch * chunks_ * panels_, [&](int thread, int64_t begin, int64_t end) {
          uint32_t* const lines = lines_[thread].data();
          for (int64_t i = begin; i < end; ++i) {
            const int64_t panel = i % panels_;
            const int64_t chunk = i / panels_ % chunks_;
            const int64_t image = i / panels_ / chunks_;
            const int64_t channel = panel * panel_channels_;
            const int64_t row = chunk * chunk_rows_;
            const int64_t last = std::min(row + chunk_rows_, shape_.out_height);
            Interleave(operands, image, row, last - row, channel, lines);
            // Rows whose windows begin with the same line of two are as many lines apart.
            const int64_t apart = rows().stride % kLines == 0 ? 1 : kLines;
            for (int64_t first = row; first < std::min(row + apart, last); ++first) {
              const int64_t line = (first - row) * rows().stride;
              TilePanel of_panel;
              of_panel.codes = reinterpret_cast<const uint8_t*>(lines + line / kLines * line_);
              of_panel.pixels = CeilDivide(last - first, apart) * shape_.out_width;
              of_panel.row_pixels = shape_.out_width;
              of_panel.pixel_step = columns().stride * panel_channels_ * int64_t{sizeof(uint32_t)};
              of_panel.row_step =
                  apart * rows().stride / kLines * line_ * int64_t{sizeof(uint32_t)};
              of_panel.weights = weights + (line % kLines * panels_ + panel) * panel_bytes;
              of_panel.step_at = step_at.data();
              of_panel.next_weights = nullptr;
              of_panel.steps = &all_steps;
              of_panel.filters = std::min(panel_channels_, shape_.channels - channel);
              of_panel.offsets = nullptr;
              of_panel.out_step = shape_.channels;
              of_panel.out_row_step = apart * shape_.out_width * shape_.channels;
              const int64_t pixel = (image * shape_.out_height + first) * shape_.out_width;
              multiply(of_panel, {pixel * shape_.channels + channel, channel, channel});
            }
          }
        });
  }

 private:
  const WindowAxis& rows() const { return shape_.window[0]; }
  const WindowAxis& columns() const { return shape_.window[1]; }

  // The lanes of a panel's vectors, without a second vector that would have no channel.
  int64_t LanesOf(int64_t panel) const {
    const int64_t left = shape_.channels - panel * panel_channels_;
    return left > loops().lanes ? panel_channels_ : loops().lanes;
  }

  // The pairs of lines that `out_rows` rows of the output read.
  int64_t PairsOf(int64_t out_rows) const {
    return (out_rows - 1) * rows().stride / kLines + pairs_;
  }

  // As many rows as fit, split evenly.
  int64_t ChunkRows() const {
    const int64_t row_bytes = CeilDivide(rows().stride, kLines) * line_ * int64_t{sizeof(uint32_t)};
    const int64_t most = std::max<int64_t>(ThisMachine().chunk_bytes() / row_bytes, 1);
    return CeilDivide(shape_.out_height, CeilDivide(shape_.out_height, most));
  }

  std::vector<int32_t> PlaceSteps() const {
    std::vector<int32_t> places;
    for (int64_t pair = 0; pair < pairs_; ++pair) {
      for (int64_t j = 0; j < columns().kernel; ++j) {
        const int64_t lane = pair * line_ + j * columns().dilation * panel_channels_;
        places.push_back(static_cast<int32_t>(lane * int64_t{sizeof(uint32_t)}));
      }
    }
    return places;
  }

  // The lines that rows of the output read, of a panel's channels, shifted and with their padding.
  void Interleave(const SumOperands& operands, int64_t image, int64_t row, int64_t out_rows,
                  int64_t channel, uint32_t* lines) const {
    const int64_t image_line = shape_.width * shape_.channels;
    const auto line_at = [&](int64_t y) {
      return y >= 0 && y < shape_.height
                 ? operands.inputs.data() + (image * shape_.height + y) * image_line
                 : no_line_.data();
    };
    const uint32_t zero = ZeroOf(operands) * 0x00010001u;
    const int64_t count = std::min(panel_channels_, shape_.channels - channel);
    int64_t y = row * rows().stride - rows().pad_before;
    for (int64_t pair = 0; pair < PairsOf(out_rows); ++pair, y += kLines, lines += line_) {
      uint32_t* const left = lines + columns().pad_before * panel_channels_;
      std::fill(lines, left, zero);
      InterleaveLines(line_at(y) + channel, line_at(y + 1) + channel, count, left);
      std::fill(left + shape_.width * panel_channels_, lines + line_, zero);
    }
  }

  void InterleaveLines(const uint8_t* upper, const uint8_t* lower, int64_t count,
                       uint32_t* to) const {
    const uint32_t shift = this->shift() * 0x00010001u;
    if (count == panel_channels_) {
      loops().interleave({upper, lower, shape_.width, shape_.channels, count, shift}, to);
      return;
    }
    Vectorised([=, width = shape_.width, channels = shape_.channels, panel = panel_channels_] {
      for (int64_t x = 0; x < width; ++x) {
#pragma GCC ivdep
        for (int64_t c = 0; c < count; ++c) {
          const uint32_t first = upper[x * channels + c];
          const uint32_t second = lower[x * channels + c];
          to[x * panel + c] = (first | second << 16) ^ shift;
        }
      }
    });
  }

  const ConvolutionShape shape_;
  const int64_t panel_channels_;
  const int64_t panels_;
  const int64_t pairs_;  // of lines, that a window reads
  const int64_t steps_;
  const int64_t line_;  // of two lines of a panel, with their padding, in lanes
  const int64_t chunk_rows_;
  const int64_t chunks_;          // of an image
  std::vector<uint8_t> no_line_;  // a line that is padding
  const int threads_;
  std::vector<std::vector<uint32_t>> lines_;  // of each thread
};

}  // namespace

std::unique_ptr<TilePanels> PlanDepthwiseTiles(const SumsProblem& problem) {
  return std::make_unique<DepthwiseTiles>(problem);
}

}  // namespace fixpoint::kernels
