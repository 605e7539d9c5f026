#include "runtime/kernels/small_product.h"

#include <glog/logging.h>
#include <immintrin.h>

#include <algorithm>
#include <cstring>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/types/span.h"
#include "runtime/kernels/epilogue.h"
#include "runtime/kernels/epilogue_lanes.h"
#include "runtime/kernels/extents.h"
#include "runtime/kernels/machine.h"
#include "runtime/kernels/packed_form.h"
#include "runtime/kernels/product_shape.h"
#include "runtime/kernels/sum_begin.h"

// A panel is a vector of columns. Four codes of a row at a time are repeated in all lanes and
// multiplied by those of the panel's columns. Several rows, or panels, are summed at the same time,
// so that instructions do not wait for each other.

namespace fixpoint::kernels {
namespace {

constexpr int64_t kStepBytes = kLanes * kTaps;

// The sums of a block stay in registers, at most 8 of the 32, and each instruction adds to another
// sum than the one before it.
constexpr int kRows = 8;
constexpr int kPanels = 4;  // of a row alone

class SmallProduct final : public IntegerSums, public HasPackedForm {
 public:
  SmallProduct(const ProductShape& shape, const SumsProblem& problem)
      : shape_(shape),
        shift_(ShiftToUnsigned(problem.coding.inputs.type)),
        coding_(problem.coding),
        epilogue_(problem.epilogue),
        output_(problem.output),
        steps_(CeilDivide(shape.inner, kTaps)),
        panels_(CeilDivide(shape.columns, kLanes)),
        offsets_(panels_ * kLanes) {}

  int64_t packed_bytes() const override {
    return panels_ * (kLanes * static_cast<int64_t>(sizeof(int32_t)) + steps_ * kStepBytes);
  }

  std::string packed_form() const override {
    return absl::StrCat("panels of ", shape_.inner, " x ", shape_.columns,
                        shape_.transpose_y ? " transposed" : "");
  }

  // The sums of columns, and the weights, [panel, step, column, tap].
  void Pack(absl::Span<const int8_t> codes, absl::Span<uint8_t> packed) override {
    CHECK_EQ(static_cast<int64_t>(codes.size()), shape_.y_size());
    CHECK_EQ(static_cast<int64_t>(packed.size()), packed_bytes());
    std::fill(packed.begin(), packed.end(), 0);
    auto* const sums = reinterpret_cast<int32_t*>(packed.data());
    auto* const weights = reinterpret_cast<int8_t*>(sums + offsets_.size());
    for (int64_t c = 0; c < shape_.columns; ++c) {
      int8_t* const column = weights + c / kLanes * steps_ * kStepBytes + c % kLanes * kTaps;
      for (int64_t k = 0; k < shape_.inner; ++k) {
        const int8_t code =
            codes[shape_.transpose_y ? c * shape_.inner + k : k * shape_.columns + c];
        column[k / kTaps * kStepBytes + k % kTaps] = code;
        sums[c] += code;
      }
    }
  }

  void Run(const SumOperands& operands, Output out) override {
    CheckRun(operands, out, coding_,
             {shape_.x_size(), packed_bytes(), shape_.columns, shape_.out_size()}, epilogue_,
             output_);
    const auto* const sums = reinterpret_cast<const int32_t*>(operands.weights.data());
    // The code of 0, shifted as codes of both signs are to be unsigned.
    const auto zero = static_cast<uint8_t>(shift_ + operands.zero_point);
    FillOffsets({sums, offsets_.size()}, zero, operands.bias, absl::MakeSpan(offsets_));
    Multiply(operands.inputs.data(), reinterpret_cast<const int8_t*>(sums + offsets_.size()),
             {operands.scales.data(), epilogue_, operands.epilogue, out});
  }

  std::string implementation() const override { return "loops:avx512_vnni"; }

 private:
  FIXPOINT_VNNI_TARGET void Multiply(const uint8_t* x, const int8_t* weights,
                                     const EpilogueOfLanes& epilogue) const {
    int64_t row = 0;
    for (; row + kRows <= shape_.rows; row += kRows) {
      for (int64_t panel = 0; panel < panels_; ++panel) {
        MultiplyTile<kRows, 1>(x, weights, row, panel, epilogue);
      }
    }
    for (; row < shape_.rows; ++row) {
      int64_t panel = 0;
      for (; panel + kPanels <= panels_; panel += kPanels) {
        MultiplyTile<1, kPanels>(x, weights, row, panel, epilogue);
      }
      for (; panel < panels_; ++panel) MultiplyTile<1, 1>(x, weights, row, panel, epilogue);
    }
  }

  // The sums of kTileRows rows from `row` on, and of kTilePanels panels from `panel` on.
  template <int kTileRows, int kTilePanels>
  FIXPOINT_VNNI void MultiplyTile(const uint8_t* x, const int8_t* weights, int64_t row,
                                  int64_t panel, const EpilogueOfLanes& epilogue) const {
    __m512i sums[kTilePanels][kTileRows];
    for (int v = 0; v < kTilePanels; ++v) {
      const __m512i offsets = _mm512_loadu_si512(&offsets_[(panel + v) * kLanes]);
      for (__m512i& sum : sums[v]) sum = offsets;
    }
    x += row * shape_.inner;
    weights += panel * steps_ * kStepBytes;
    const int64_t whole_steps = shape_.inner / kTaps;
    for (int64_t step = 0; step < whole_steps; ++step) {
      AddStep(x, kTaps, weights, sums);
      x += kTaps;
      weights += kStepBytes;
    }
    if (whole_steps < steps_) AddStep(x, shape_.inner % kTaps, weights, sums);
    for (int v = 0; v < kTilePanels; ++v) {
      const int64_t column = (panel + v) * kLanes;
      Finish(sums[v],
             PlaceOfLanes{column, row * shape_.columns + column, shape_.columns,
                          FirstLanes(shape_.columns - column)},
             epilogue);
    }
  }

  // Adds the products of one step's first `taps` taps; the weights of the others are 0.
  template <int kTileRows, int kTilePanels>
  FIXPOINT_VNNI void AddStep(const uint8_t* x, int64_t taps, const int8_t* weights,
                             __m512i (&sums)[kTilePanels][kTileRows]) const {
    const __m512i shift = _mm512_set1_epi8(static_cast<char>(shift_));
    for (int r = 0; r < kTileRows; ++r) {
      int32_t four = 0;
      std::memcpy(&four, x + r * shape_.inner, taps);
      const __m512i repeated = _mm512_xor_si512(_mm512_set1_epi32(four), shift);
      for (int v = 0; v < kTilePanels; ++v) {
        const __m512i of_taps = _mm512_loadu_si512(weights + v * steps_ * kStepBytes);
        sums[v][r] = _mm512_dpbusd_epi32(sums[v][r], repeated, of_taps);
      }
    }
  }

  const ProductShape shape_;
  const uint8_t shift_;
  const SumCoding coding_;
  const Epilogue epilogue_;
  const OutputType output_;
  const int64_t steps_;  // of four products
  const int64_t panels_;
  std::vector<int32_t> offsets_;  // what sums begin with
};

}  // namespace

bool IsForSmallProduct(const SumsProblem& problem) {
  const ProductShape* const shape = problem.product();
  if (shape == nullptr || shape->batch != 1 || shape->transpose_x) return false;
  // Rows that make no tile wait for their sums, unless there is only one.
  const bool fits_rows =
      shape->rows == 1 || (shape->rows >= kRows && shape->rows <= kMostSmallRows);
  const int64_t lanes = CeilDivide(shape->columns, kLanes) * kLanes;
  return fits_rows && shape->inner >= kLeastSmallInner &&
         shape->rows * shape->inner * lanes <= kMostSmallProducts;
}

std::unique_ptr<IntegerSums> PlanSmallProduct(const SumsProblem& problem) {
  return std::make_unique<SmallProduct>(*problem.product(), problem);
}

}  // namespace fixpoint::kernels
