#include "runtime/kernels/plain_sums.h"

#include <glog/logging.h>

#include <algorithm>
#include <cstring>
#include <string>
#include <variant>
#include <vector>

#include "absl/strings/str_cat.h"
#include "oneapi/dnnl/dnnl.hpp"
#include "ops/window.h"
#include "runtime/kernels/convolution_shape.h"
#include "runtime/kernels/onednn.h"
#include "runtime/kernels/onednn_implementations.h"
#include "runtime/kernels/onednn_packed_form.h"
#include "runtime/kernels/onednn_sums.h"
#include "runtime/kernels/packed_form.h"
#include "runtime/kernels/padded_lines.h"
#include "runtime/kernels/parallel_for.h"
#include "runtime/kernels/product_shape.h"
#include "runtime/kernels/sum_begin.h"
#include "runtime/kernels/sum_parts.h"
#include "runtime/kernels/sums_descs.h"
#include "runtime/kernels/threads.h"

namespace fixpoint::kernels {
namespace {

using dnnl::memory;

// As oneDNN wants memory to be aligned.
constexpr int64_t kAlignment = 64;

// Inputs as they lie in memory, and the padding that they are copied with.
struct PaddedImages {
  int64_t count;
  int64_t height;
  int64_t top;
  int64_t bottom;
  PaddedLine line;

  int64_t padded_size() const { return count * (top + height + bottom) * line.padded_size(); }
};

// What a primitive of unsigned codes without a zero point is planned for.
template <typename Shape>
struct ReadInputs {
  Shape shape;
  PaddedImages images;
  bool is_copied;  // else `images` are not
};

ReadInputs<ConvolutionShape> InputsFor(const ConvolutionShape& shape, const InputCoding& images) {
  const auto& [rows, columns] = shape.window;
  const bool is_padded = rows.pad_before != 0 || rows.pad_after != 0 || columns.pad_before != 0 ||
                         columns.pad_after != 0;
  const PaddedImages padded = {shape.batch,
                               shape.height,
                               rows.pad_before,
                               rows.pad_after,
                               {columns.pad_before * shape.channels, shape.width * shape.channels,
                                columns.pad_after * shape.channels}};
  const bool is_copied = images.type == CodeType::kInt8 || (images.has_zero_point && is_padded);
  ConvolutionShape read = shape;
  if (is_copied) {
    read.height += rows.pad_before + rows.pad_after;
    read.width += columns.pad_before + columns.pad_after;
    for (WindowAxis& axis : read.window) axis.pad_before = axis.pad_after = 0;
  }
  return {read, padded, is_copied};
}

ReadInputs<ProductShape> InputsFor(const ProductShape& shape, const InputCoding& x) {
  const int64_t line = shape.transpose_x ? shape.rows : shape.inner;
  return {shape,
          {1, shape.x_size() / line, 0, 0, {0, line, 0}},
          /*is_copied=*/x.type == CodeType::kInt8};
}

class ByInstructions final : public PlainSums, public HasPackedForm {
 public:
  ByInstructions(const SumsPrimitive& planned, const WeightsOfSums& weights,
                 const InputCoding& inputs, const PaddedImages& images, bool is_copied)
      : implementation_(planned.implementation),
        shift_(ShiftToUnsigned(inputs.type)),
        weights_of_sums_(weights),
        images_(images),
        copy_(is_copied ? images.padded_size() : 0),
        header_bytes_((weights.count() * int64_t{sizeof(int32_t)} + kAlignment - 1) / kAlignment *
                      kAlignment),
        plain_weights_(Operand::Elsewhere(planned.plain_weights)),
        weights_(Operand::Elsewhere(planned.weights)),
        inputs_(Operand::Elsewhere(planned.inputs)),
        sums_(Operand::Elsewhere(planned.out)),
        pack_(Reordering(plain_weights_, weights_)),
        add_up_(planned.desc,
                {{DNNL_ARG_SRC, inputs_}, {DNNL_ARG_WEIGHTS, weights_}, {DNNL_ARG_DST, sums_}}) {}

  // The sums of weights, and the weights.
  int64_t packed_bytes() const override { return header_bytes_ + weights_.bytes(); }
  std::string packed_form() const override {
    const std::string form =
        FormOfReordering(plain_weights_.memory().get_desc(), weights_.memory().get_desc());
    return form.empty() ? "" : absl::StrCat("sums and ", form);
  }

  void Pack(absl::Span<const int8_t> codes, absl::Span<uint8_t> packed) override {
    CHECK_EQ(static_cast<int64_t>(packed.size()), packed_bytes());
    std::fill_n(packed.begin(), header_bytes_, 0);
    AddUpWeights(
        codes, weights_of_sums_,
        absl::MakeSpan(reinterpret_cast<int32_t*>(packed.data()), weights_of_sums_.count()));
    plain_weights_.PointTo(codes);
    weights_.PointTo(packed.subspan(header_bytes_));
    pack_.Run();
  }

  void Run(const SumOperands& operands, absl::Span<int32_t> sums,
           absl::Span<int32_t> offsets) override {
    CHECK_EQ(static_cast<int64_t>(offsets.size()), weights_of_sums_.count());
    const auto zero = static_cast<uint8_t>(shift_ + operands.zero_point);
    const auto* const weight_sums = reinterpret_cast<const int32_t*>(operands.weights.data());
    FillOffsets({weight_sums, offsets.size()}, zero, operands.bias, offsets);
    if (copy_.empty()) {
      inputs_.PointTo(operands.inputs);
    } else {
      Copy(operands.inputs, zero);
      inputs_.PointTo(absl::MakeSpan(copy_));
    }
    weights_.PointTo(operands.weights.subspan(header_bytes_));
    sums_.PointTo(sums);
    add_up_.Run();
  }

  std::string implementation() const override { return implementation_; }

 private:
  void Copy(absl::Span<const uint8_t> inputs, uint8_t zero) {
    const auto& [count, height, top, bottom, line] = images_;
    const int64_t padded_height = top + height + bottom;
    RunOnThreads(GrantedThreads(), count * padded_height, [&](int, int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; ++i) {
        const int64_t y = i % padded_height - images_.top;
        uint8_t* const to = &copy_[i * images_.line.padded_size()];
        if (y < 0 || y >= images_.height) {
          images_.line.Fill(zero, to);
        } else {
          const int64_t from = (i / padded_height * images_.height + y) * images_.line.size;
          images_.line.Copy(&inputs[from], images_.line.size, shift_, zero, to);
        }
      }
    });
  }

  const std::string implementation_;
  const uint8_t shift_;
  const WeightsOfSums weights_of_sums_;
  const PaddedImages images_;
  std::vector<uint8_t> copy_;  // empty: the inputs are read as they are
  const int64_t header_bytes_;
  Operand plain_weights_;
  Operand weights_;
  Operand inputs_;
  Operand sums_;
  Execution pack_;
  Execution add_up_;
};

class InFloats final : public PlainSums {
 public:
  InFloats(const SumsPrimitive& planned, const WeightsOfSums& weights, const InputCoding& inputs)
      : implementation_(planned.implementation),
        is_unsigned_(inputs.type == CodeType::kUint8),
        parts_(weights, inputs),
        plain_weights_(Operand::Own(planned.plain_weights)),
        weights_(Operand::Elsewhere(planned.weights)),
        inputs_(Operand::Own(planned.inputs)),
        out_(Operand::Own(planned.out)),
        pack_(Reordering(plain_weights_, weights_)),
        add_up_(planned.desc,
                {{DNNL_ARG_SRC, inputs_}, {DNNL_ARG_WEIGHTS, weights_}, {DNNL_ARG_DST, out_}}),
        part_of_weight_(plain_weights_.size<float>(), 0) {}

  // The number of parts, then room for the most parts that there can be. Unused parts are zeros, so
  // that equal weights pack to equal bytes.
  int64_t packed_bytes() const override { return kAlignment + parts_.most() * weights_.bytes(); }

  void Pack(absl::Span<const int8_t> codes, absl::Span<uint8_t> packed) override {
    CHECK_EQ(codes.size(), part_of_weight_.size());
    CHECK_EQ(static_cast<int64_t>(packed.size()), packed_bytes());
    const int64_t part_count = parts_.ShareOut(codes, absl::MakeSpan(part_of_weight_));
    std::fill(packed.begin(), packed.end(), 0);
    std::memcpy(packed.data(), &part_count, sizeof(part_count));
    float* const plain = plain_weights_.data<float>();
    for (int64_t part = 0; part < part_count; ++part) {
      for (size_t i = 0; i < codes.size(); ++i) {
        plain[i] = part_of_weight_[i] == part ? codes[i] : 0;
      }
      weights_.PointTo(packed.subspan(kAlignment + part * weights_.bytes(), weights_.bytes()));
      pack_.Run();
    }
  }

  void Run(const SumOperands& operands, absl::Span<int32_t> sums,
           absl::Span<int32_t> offsets) override {
    std::fill(offsets.begin(), offsets.end(), 0);
    FillOffsets(offsets, /*zero=*/0, operands.bias, offsets);
    if (is_unsigned_) {
      Convert(operands.inputs.data(), operands.zero_point);
    } else {
      Convert(reinterpret_cast<const int8_t*>(operands.inputs.data()), operands.zero_point);
    }
    CHECK_EQ(sums.size(), out_.size<float>());
    int64_t part_count = 0;
    std::memcpy(&part_count, operands.weights.data(), sizeof(part_count));
    for (int64_t part = 0; part < part_count; ++part) {
      weights_.PointTo(
          operands.weights.subspan(kAlignment + part * weights_.bytes(), weights_.bytes()));
      add_up_.Run();
      TakeUp(/*is_first=*/part == 0, sums);
    }
  }

  std::string implementation() const override { return implementation_; }

 private:
  // Inputs less their zero point.
  template <typename Code>
  void Convert(const Code* codes, int32_t zero_point) {
    ParallelFor(static_cast<int64_t>(inputs_.size<float>()), sizeof(Code) + sizeof(float),
                [=, inputs = inputs_.data<float>()](int64_t begin, int64_t end) {
                  for (int64_t i = begin; i < end; ++i) {
                    inputs[i] = static_cast<float>(codes[i] - zero_point);
                  }
                });
  }

  // The sums of one part's weights.
  void TakeUp(bool is_first, absl::Span<int32_t> all) {
    ParallelFor(static_cast<int64_t>(all.size()), 2 * sizeof(int32_t),
                [=, out = out_.data<float>(), sums = all.data()](int64_t begin, int64_t end) {
                  for (int64_t i = begin; i < end; ++i) {
                    sums[i] = (is_first ? 0 : sums[i]) + static_cast<int32_t>(out[i]);
                  }
                });
  }

  const std::string implementation_;
  const bool is_unsigned_;
  const SumParts parts_;
  Operand plain_weights_;
  Operand weights_;
  Operand inputs_;
  Operand out_;
  Execution pack_;
  Execution add_up_;
  std::vector<int> part_of_weight_;
};

template <typename Shape>
std::unique_ptr<PlainSums> PlanStored(const Shape& shape, const InputCoding& inputs) {
  constexpr auto kWeights = memory::data_type::s8;
  const ReadInputs<Shape> read = InputsFor(shape, inputs);
  const WeightsOfSums weights = WeightsOf(shape);
  auto desc = SumsDesc(read.shape, {memory::data_type::u8, kWeights, memory::data_type::s32});
  const bool are_small = FloatsHoldSums(weights.products, CodeType::kUint8);
  if (!Choose(are_small ? OnednnUse::kSumsOfCodes : OnednnUse::kStoredSumsOfCodes, &desc)) {
    return nullptr;
  }
  return std::make_unique<ByInstructions>(SumsPrimitiveOf(desc, shape, kWeights), weights, inputs,
                                          read.images, read.is_copied);
}

template <typename Shape>
std::unique_ptr<PlainSums> PlanInFloats(const Shape& shape, const InputCoding& inputs) {
  constexpr auto kFloat = memory::data_type::f32;
  const auto desc = SumsDesc(shape, {kFloat, kFloat, kFloat});
  return std::make_unique<InFloats>(SumsPrimitiveOf(desc, shape, kFloat), WeightsOf(shape), inputs);
}

}  // namespace

std::unique_ptr<PlainSums> PlanStoredSums(const SumsProblem& problem) {
  return std::visit([&](const auto& shape) { return PlanStored(shape, problem.coding.inputs); },
                    problem.shape);
}

std::unique_ptr<PlainSums> PlanSumsInFloats(const SumsProblem& problem) {
  return std::visit([&](const auto& shape) { return PlanInFloats(shape, problem.coding.inputs); },
                    problem.shape);
}

}  // namespace fixpoint::kernels
