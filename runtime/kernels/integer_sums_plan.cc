#include "runtime/kernels/integer_sums_plan.h"

#include <glog/logging.h>

#include <algorithm>
#include <cstring>
#include <iterator>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "proto/status_macros.h"
#include "runtime/kernels/instruction_set.h"
#include "runtime/kernels/onednn.h"

namespace fixpoint::kernels {
namespace {

using dnnl::memory;

class WithInstructions final : public IntegerSums {
 public:
  WithInstructions(const SumsPrimitive& planned, const InputCoding& inputs,
                   const EpiloguePostOps& epilogue)
      : implementation_(planned.implementation),
        epilogue_(epilogue),
        plain_weights_(Operand::Elsewhere(planned.plain_weights)),
        weights_(Operand::Elsewhere(planned.weights)),
        inputs_(Operand::Elsewhere(planned.inputs)),
        has_zero_point_(inputs.has_zero_point),
        zero_point_(Operand::Own(RowMajor({1}, memory::data_type::s32))),
        scales_(Operand::Elsewhere(RowMajor({planned.channels}, memory::data_type::f32))),
        out_(Operand::Elsewhere(planned.out)),
        pack_(Reordering(plain_weights_, weights_)),
        add_up_(planned.desc, epilogue_.With(Arguments())) {}

  int64_t packed_bytes() const override { return weights_.bytes(); }

  void Pack(absl::Span<const int8_t> codes, absl::Span<uint8_t> packed) override {
    plain_weights_.PointTo(codes);
    weights_.PointTo(packed);
    pack_.Run();
  }

  void Run(absl::Span<const uint8_t> inputs, int32_t zero_point, absl::Span<const uint8_t> weights,
           absl::Span<const float> scales, EpilogueOperands operands, Output out) override {
    CHECK(has_zero_point_ || zero_point == 0);
    *zero_point_.data<int32_t>() = zero_point;
    inputs_.PointTo(inputs);
    weights_.PointTo(weights);
    scales_.PointTo(scales);
    epilogue_.PointTo(operands);
    if (out.type() == OutputType::kFloat) {
      out_.PointTo(out.As<float>());
    } else {
      out_.PointTo(out.As<uint8_t>());
    }
    add_up_.Run();
  }

  std::string implementation() const override { return implementation_; }

 private:
  std::vector<Execution::Argument> Arguments() const {
    std::vector<Execution::Argument> arguments = {
        {DNNL_ARG_SRC, inputs_},
        {DNNL_ARG_WEIGHTS, weights_},
        {DNNL_ARG_ATTR_SCALES | DNNL_ARG_WEIGHTS, scales_},
        {DNNL_ARG_DST, out_}};
    if (has_zero_point_) {
      arguments.push_back({DNNL_ARG_ATTR_ZERO_POINTS | DNNL_ARG_SRC, zero_point_});
    }
    return arguments;
  }

  std::string implementation_;
  EpiloguePostOps epilogue_;
  Operand plain_weights_;
  Operand weights_;
  Operand inputs_;
  const bool has_zero_point_;
  Operand zero_point_;
  Operand scales_;
  Operand out_;
  Execution pack_;
  Execution add_up_;
};

class InFloats final : public IntegerSums {
 public:
  InFloats(const SumsPrimitive& planned, const InputCoding& inputs, const WeightsOfSums& sums)
      : planned_(planned),
        coding_(inputs),
        parts_(sums, inputs),
        plain_weights_(Operand::Own(planned.plain_weights)),
        weights_(Operand::Elsewhere(planned.weights)),
        inputs_(Operand::Own(planned.inputs)),
        out_(Operand::Elsewhere(planned.out)),
        pack_(Reordering(plain_weights_, weights_)),
        add_up_(planned.desc,
                {{DNNL_ARG_SRC, inputs_}, {DNNL_ARG_WEIGHTS, weights_}, {DNNL_ARG_DST, out_}}),
        parts_of_weights_(plain_weights_.size<float>(), 0),
        sums_(parts_.most() > 1 ? out_.size<float>() : 0) {}

  // As many parts as there can be; the others are zeros, so that equal weights are equal bytes.
  int64_t packed_bytes() const override { return kHeaderBytes + parts_.most() * weights_.bytes(); }

  void Pack(absl::Span<const int8_t> codes, absl::Span<uint8_t> packed) override {
    CHECK_EQ(codes.size(), parts_of_weights_.size());
    CHECK_EQ(static_cast<int64_t>(packed.size()), packed_bytes());
    const int64_t part_count = parts_.ShareOut(codes, absl::MakeSpan(parts_of_weights_));
    std::fill(packed.begin(), packed.end(), 0);
    std::memcpy(packed.data(), &part_count, sizeof(part_count));
    float* const plain = plain_weights_.data<float>();
    for (int64_t part = 0; part < part_count; ++part) {
      for (size_t i = 0; i < codes.size(); ++i) {
        plain[i] = parts_of_weights_[i] == part ? codes[i] : 0;
      }
      weights_.PointTo(packed.subspan(kHeaderBytes + part * weights_.bytes(), weights_.bytes()));
      pack_.Run();
    }
  }

  void Run(absl::Span<const uint8_t> inputs, int32_t zero_point, absl::Span<const uint8_t> weights,
           absl::Span<const float> scales, EpilogueOperands operands, Output output) override {
    CHECK(coding_.has_zero_point || zero_point == 0);
    CHECK_EQ(static_cast<int64_t>(scales.size()), planned_.channels);
    CHECK_EQ(inputs.size(), inputs_.size<float>());
    CHECK(operands.empty());
    CHECK(output.type() == OutputType::kFloat);
    const absl::Span<float> out = output.As<float>();
    const bool is_unsigned = coding_.type == CodeType::kUint8;
    std::transform(inputs.begin(), inputs.end(), inputs_.data<float>(), [=](uint8_t code) {
      return static_cast<float>((is_unsigned ? code : static_cast<int8_t>(code)) - zero_point);
    });
    out_.PointTo(out);
    int64_t part_count = 0;
    std::memcpy(&part_count, weights.data(), sizeof(part_count));
    for (int64_t part = 0; part < part_count; ++part) {
      weights_.PointTo(weights.subspan(kHeaderBytes + part * weights_.bytes(), weights_.bytes()));
      add_up_.Run();
      if (part_count == 1) break;
      for (size_t i = 0; i < sums_.size(); ++i) {
        sums_[i] = (part == 0 ? 0 : sums_[i]) + static_cast<int32_t>(out[i]);
      }
    }
    if (part_count > 1) std::copy(sums_.begin(), sums_.end(), out.begin());
    for (size_t row = 0; row < out.size(); row += scales.size()) {
      for (size_t c = 0; c < scales.size(); ++c) out[row + c] *= scales[c];
    }
  }

  std::string implementation() const override { return planned_.implementation; }

 private:
  // The number of parts.
  static constexpr int64_t kHeaderBytes = 64;

  SumsPrimitive planned_;
  InputCoding coding_;
  SumParts parts_;
  Operand plain_weights_;
  Operand weights_;
  Operand inputs_;
  Operand out_;
  Execution pack_;
  Execution add_up_;
  std::vector<int> parts_of_weights_;
  std::vector<int32_t> sums_;
};

class LoopsAfter final : public IntegerSums {
 public:
  LoopsAfter(std::unique_ptr<IntegerSums> sums, int64_t out_size, const Epilogue& epilogue)
      : sums_(std::move(sums)), epilogue_(epilogue), elements_(out_size) {}

  int64_t packed_bytes() const override { return sums_->packed_bytes(); }
  void Pack(absl::Span<const int8_t> codes, absl::Span<uint8_t> packed) override {
    sums_->Pack(codes, packed);
  }

  void Run(absl::Span<const uint8_t> inputs, int32_t zero_point, absl::Span<const uint8_t> weights,
           absl::Span<const float> scales, EpilogueOperands operands, Output out) override {
    const absl::Span<float> elements = absl::MakeSpan(elements_);
    sums_->Run(inputs, zero_point, weights, scales, {}, elements);
    Store(epilogue_, operands, elements, out);
  }

  std::string implementation() const override {
    return absl::StrCat(sums_->implementation(), "+loops");
  }

 private:
  std::unique_ptr<IntegerSums> sums_;
  Epilogue epilogue_;
  std::vector<float> elements_;
};

}  // namespace

bool AddsCodesExactly(absl::string_view implementation) {
  const size_t at = implementation.rfind(':');
  if (at == absl::string_view::npos) return false;
  implementation.remove_prefix(at + 1);
  constexpr absl::string_view kInstructionSets[] = {"avx2_vnni",        "avx512_core_vnni",
                                                    "avx512_core_bf16", "avx512_core_fp16",
                                                    "avx512_core_amx",  "avx10_"};
  return std::any_of(std::begin(kInstructionSets), std::end(kInstructionSets),
                     [&](absl::string_view set) { return absl::StartsWith(implementation, set); });
}

std::unique_ptr<IntegerSums> ExactInstructions(const SumsPrimitive& primitive,
                                               const InputCoding& inputs,
                                               const EpiloguePostOps& epilogue) {
  return std::make_unique<WithInstructions>(primitive, inputs, epilogue);
}

std::unique_ptr<IntegerSums> ExactFloats(const SumsPrimitive& primitive, const InputCoding& inputs,
                                         const WeightsOfSums& sums) {
  return std::make_unique<InFloats>(primitive, inputs, sums);
}

absl::StatusOr<std::unique_ptr<IntegerSums>> PlanSums(
    absl::string_view what,
    const std::function<std::unique_ptr<IntegerSums>(const Epilogue&, OutputType)>& instructions,
    const std::function<std::unique_ptr<IntegerSums>()>& floats, int64_t out_size,
    const Epilogue& epilogue, OutputType output) {
  const auto exact = [&](const Epilogue& stages,
                         OutputType type) -> absl::StatusOr<std::unique_ptr<IntegerSums>> {
    if (!HasExactIntegerProducts()) return nullptr;
    auto sums = Planned(what, [&] { return instructions(stages, type); });
    if (absl::IsUnimplemented(sums.status())) return nullptr;
    return sums;
  };
  ASSIGN_OR_RETURN(std::unique_ptr<IntegerSums> sums, exact(epilogue, output));
  if (sums != nullptr) return sums;
  if (!epilogue.empty() || output != OutputType::kFloat) {
    ASSIGN_OR_RETURN(sums, exact({}, OutputType::kFloat));
  }
  return Planned(what, [&] {
    if (sums == nullptr) sums = floats();
    return WithLoopsAfter(std::move(sums), out_size, epilogue, output);
  });
}

std::unique_ptr<IntegerSums> WithLoopsAfter(std::unique_ptr<IntegerSums> sums, int64_t out_size,
                                            const Epilogue& epilogue, OutputType output) {
  if (epilogue.empty() && output == OutputType::kFloat) return sums;
  return std::make_unique<LoopsAfter>(std::move(sums), out_size, epilogue);
}

}  // namespace fixpoint::kernels
