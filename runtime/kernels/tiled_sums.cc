#include "runtime/kernels/tiled_sums.h"

#include <glog/logging.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/types/span.h"
#include "runtime/kernels/convolution_shape.h"
#include "runtime/kernels/epilogue.h"
#include "runtime/kernels/folded_epilogue.h"
#include "runtime/kernels/machine.h"
#include "runtime/kernels/packed_form.h"
#include "runtime/kernels/product_shape.h"
#include "runtime/kernels/sum_begin.h"
#include "runtime/kernels/tile_loops.h"
#include "runtime/kernels/tile_panels.h"

namespace fixpoint::kernels {
namespace {

// The channels of a group of inputs, and of outputs, from which on steps and panels are not mostly
// empty.
constexpr int64_t kLeastOfGroup = 4;

// The pixels from which on sums do not wait for each other.
constexpr int64_t kLeastTiledPixels = 4;

bool IsDepthwise(const ConvolutionShape& shape) {
  return shape.groups > 1 && shape.groups == shape.channels && shape.filters == shape.channels &&
         shape.window[0].dilation == 1;
}

std::unique_ptr<TilePanels> PlanPanels(const SumsProblem& problem) {
  const ConvolutionShape* const shape = problem.convolution();
  return shape != nullptr && IsDepthwise(*shape) ? PlanDepthwiseTiles(problem)
                                                 : PlanSharedTiles(problem);
}

// The operands of the channels of a folded epilogue.
class FoldedOperands {
 public:
  FoldedOperands(const FoldedEpilogue& folded, int64_t channels)
      : folded_(folded),
        scales_(channels + kMostPanelFilters),
        bias_(channels + kMostPanelFilters, -0.0f),
        bias_factors_(channels + kMostPanelFilters, 1.0f),
        factors_(channels + kMostPanelFilters, 1.0f),
        addends_(channels + kMostPanelFilters, -0.0f) {}

  void Read(const SumOperands& operands) {
    std::copy(operands.scales.begin(), operands.scales.end(), scales_.begin());
    const auto copy = [&](std::optional<size_t> stage, std::vector<float>& to) {
      if (!stage) return;
      const absl::Span<const float> operand = operands.epilogue[*stage];
      std::copy(operand.begin(), operand.end(), to.begin());
    };
    copy(folded_.bias, bias_);
    copy(folded_.bias_factors, bias_factors_);
    copy(folded_.factors, factors_);
    copy(folded_.addends, addends_);
  }

  PanelEpilogue From(int64_t channel) const {
    return {&scales_[channel], &bias_[channel], &bias_factors_[channel], &factors_[channel],
            &addends_[channel]};
  }

 private:
  const FoldedEpilogue folded_;
  std::vector<float> scales_;
  std::vector<float> bias_;
  std::vector<float> bias_factors_;
  std::vector<float> factors_;
  std::vector<float> addends_;
};

class TiledSums final : public IntegerSums, public HasPackedForm {
 public:
  explicit TiledSums(const SumsProblem& problem)
      : panels_(PlanPanels(problem)),
        coding_(problem.coding),
        epilogue_(problem.epilogue),
        output_(problem.output),
        folded_(Fold(problem.epilogue, problem.output)),
        offsets_(panels_->sum_count() + kMostPanelFilters) {
    if (folded_) folded_operands_.emplace(*folded_, panels_->channels());
    for (const EpilogueStage& stage : epilogue_) {
      CHECK(stage.kind != EpilogueStage::Kind::kRequantize);
      CHECK(!stage.is_of_codes() || output_ != OutputType::kFloat);
    }
  }

  int64_t packed_bytes() const override { return panels_->packed_bytes(); }
  std::string packed_form() const override { return panels_->packed_form(); }
  void Pack(absl::Span<const int8_t> codes, absl::Span<uint8_t> packed) override {
    panels_->Pack(codes, packed);
  }

  void Run(const SumOperands& operands, Output out) override {
    CheckRun(operands, out, coding_,
             {panels_->input_size(), packed_bytes(), panels_->channels(), panels_->output_size()},
             epilogue_, output_);
    FillOffsets(panels_->SumsOfWeights(operands.weights), panels_->ZeroOf(operands), operands.bias,
                absl::MakeSpan(offsets_).first(panels_->sum_count()));
    if (folded_) folded_operands_->Read(operands);
    auto* const codes = static_cast<uint8_t*>(out.data());
    panels_->ForEachPanel(operands, [&](const TilePanel& panel, const TilePanels::Place& place) {
      TilePanel with_offsets = panel;
      with_offsets.offsets = &offsets_[place.sum];
      if (!folded_) {
        const PanelStages stages = {operands.scales.data() + place.channel, epilogue_,
                                    operands.epilogue, place.channel, out};
        panels_->loops().through_stages(panels_->codes(), with_offsets, stages, place.element);
        return;
      }
      panels_->loops().to_codes(panels_->codes(), with_offsets,
                                folded_operands_->From(place.channel), *folded_,
                                output_ == OutputType::kInt8, codes + place.element);
    });
  }

  std::string implementation() const override { return panels_->loops().name; }

 private:
  const std::unique_ptr<TilePanels> panels_;
  const SumCoding coding_;
  const Epilogue epilogue_;
  const OutputType output_;
  const std::optional<FoldedEpilogue> folded_;
  std::optional<FoldedOperands> folded_operands_;
  std::vector<int32_t> offsets_;
};

class PlainTiledSums final : public PlainSums, public HasPackedForm {
 public:
  explicit PlainTiledSums(const SumsProblem& problem)
      : panels_(PlanPanels(problem)), nothing_(kMostPanelFilters, 0) {}

  int64_t packed_bytes() const override { return panels_->packed_bytes(); }
  std::string packed_form() const override { return panels_->packed_form(); }
  void Pack(absl::Span<const int8_t> codes, absl::Span<uint8_t> packed) override {
    panels_->Pack(codes, packed);
  }

  void Run(const SumOperands& operands, absl::Span<int32_t> sums,
           absl::Span<int32_t> offsets) override {
    CHECK_EQ(static_cast<int64_t>(sums.size()), panels_->output_size());
    FillOffsets(panels_->SumsOfWeights(operands.weights), panels_->ZeroOf(operands), operands.bias,
                offsets);
    panels_->ForEachPanel(operands, [&](const TilePanel& panel, const TilePanels::Place& place) {
      TilePanel from_nothing = panel;
      from_nothing.offsets = nothing_.data();
      panels_->loops().to_sums(panels_->codes(), from_nothing, &sums[place.element]);
    });
  }

  std::string implementation() const override { return panels_->loops().name; }

 private:
  const std::unique_ptr<TilePanels> panels_;
  const std::vector<int32_t> nothing_;
};

}  // namespace

bool IsForTiles(const SumsProblem& problem) {
  if (const ProductShape* const shape = problem.product()) {
    return !shape->transpose_x;
  }
  const ConvolutionShape& shape = *problem.convolution();
  const auto& [rows, columns] = shape.window;
  // Lines of words, with their padding, as far as a window reaches.
  const int64_t line = (columns.pad_before + shape.width + columns.pad_after) * shape.channels;
  const int64_t reach = (rows.kernel * rows.dilation + 1) * line * int64_t{sizeof(int32_t)};
  if (reach > std::numeric_limits<int32_t>::max()) return false;
  return shape.groups == 1 || IsDepthwise(shape) ||
         std::min(shape.channels, shape.filters) / shape.groups >= kLeastOfGroup;
}

bool IsForFastTiles(const SumsProblem& problem) {
  const ConvolutionShape* const shape = problem.convolution();
  return shape != nullptr && IsForTiles(problem) && !IsDepthwise(*shape) &&
         shape->taps() >= kLeastTiledTaps &&
         shape->output_size() >= kLeastTiledPixels * shape->filters;
}

std::unique_ptr<IntegerSums> PlanTiledSums(const SumsProblem& problem) {
  return std::make_unique<TiledSums>(problem);
}

std::unique_ptr<PlainSums> PlanPlainTiledSums(const SumsProblem& problem) {
  return std::make_unique<PlainTiledSums>(problem);
}

}  // namespace fixpoint::kernels
