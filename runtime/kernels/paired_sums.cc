#include "runtime/kernels/paired_sums.h"

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
#include "runtime/kernels/packed_form.h"
#include "runtime/kernels/paired_loops.h"
#include "runtime/kernels/paired_panels.h"
#include "runtime/kernels/product_shape.h"
#include "runtime/kernels/sum_begin.h"

namespace fixpoint::kernels {
namespace {

// The channels of a group of inputs, and of outputs, from which on steps and panels are not mostly
// empty.
constexpr int64_t kLeastOfGroup = 4;

bool IsDepthwise(const ConvolutionShape& shape) {
  return shape.groups > 1 && shape.groups == shape.channels && shape.filters == shape.channels &&
         shape.window[0].dilation == 1;
}

std::unique_ptr<PairedPanels> PlanPanels(const SumsProblem& problem) {
  const ConvolutionShape* const shape = problem.convolution();
  return shape != nullptr && IsDepthwise(*shape) ? PlanPairedDepthwise(problem)
                                                 : PlanPairedTiles(problem);
}

class PairedSums final : public IntegerSums, public HasPackedForm {
 public:
  explicit PairedSums(const SumsProblem& problem)
      : panels_(PlanPanels(problem)),
        coding_(problem.coding),
        epilogue_(problem.epilogue),
        output_(problem.output),
        folded_(Fold(problem.epilogue, problem.output)),
        offsets_(panels_->sum_count() + kMostPanelFilters) {
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
    auto* const codes = static_cast<uint8_t*>(out.data());
    panels_->ForEachPanel(
        operands, [&](const PairedPanel& panel, const PairedPanels::Place& place) {
          PairedPanel with_offsets = panel;
          with_offsets.offsets = &offsets_[place.sum];
          if (!folded_) {
            const PanelStages stages = {operands.scales.data() + place.channel, epilogue_,
                                        operands.epilogue, place.channel, out};
            panels_->loops().through_stages(panels_->codes(), with_offsets, stages, place.element);
            return;
          }
          const PanelEpilogue of_panel = EpilogueAt(operands, place.channel, panel.filters);
          panels_->loops().to_codes(panels_->codes(), with_offsets, of_panel, *folded_,
                                    output_ == OutputType::kInt8, codes + place.element);
        });
  }

  std::string implementation() const override { return panels_->loops().name; }

 private:
  PanelEpilogue EpilogueAt(const SumOperands& operands, int64_t channel, int64_t filters) const {
    PanelEpilogue result;
    const auto copy = [&](std::optional<size_t> stage, float none, float* to) {
      std::fill_n(to, kMostPanelFilters, none);
      if (stage) std::copy_n(operands.epilogue[*stage].data() + channel, filters, to);
    };
    std::fill_n(result.scales, kMostPanelFilters, 0.0f);
    std::copy_n(operands.scales.data() + channel, filters, result.scales);
    copy(folded_->bias, -0.0f, result.bias);
    copy(folded_->bias_factors, 1, result.bias_factors);
    copy(folded_->factors, 1, result.factors);
    copy(folded_->addends, -0.0f, result.addends);
    return result;
  }

  const std::unique_ptr<PairedPanels> panels_;
  const SumCoding coding_;
  const Epilogue epilogue_;
  const OutputType output_;
  const std::optional<FoldedEpilogue> folded_;
  std::vector<int32_t> offsets_;
};

class PlainPairedSums final : public PlainSums, public HasPackedForm {
 public:
  explicit PlainPairedSums(const SumsProblem& problem)
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
    panels_->ForEachPanel(
        operands, [&](const PairedPanel& panel, const PairedPanels::Place& place) {
          PairedPanel from_nothing = panel;
          from_nothing.offsets = nothing_.data();
          panels_->loops().to_sums(panels_->codes(), from_nothing, &sums[place.element]);
        });
  }

  std::string implementation() const override { return panels_->loops().name; }

 private:
  const std::unique_ptr<PairedPanels> panels_;
  const std::vector<int32_t> nothing_;
};

}  // namespace

bool IsForPairs(const SumsProblem& problem) {
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

std::unique_ptr<IntegerSums> PlanPairedSums(const SumsProblem& problem) {
  return std::make_unique<PairedSums>(problem);
}

std::unique_ptr<PlainSums> PlanPlainPairedSums(const SumsProblem& problem) {
  return std::make_unique<PlainPairedSums>(problem);
}

}  // namespace fixpoint::kernels
