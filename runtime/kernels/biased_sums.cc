#include "runtime/kernels/biased_sums.h"

#include <glog/logging.h>

#include <algorithm>
#include <cstring>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "ops/bias_codes.h"
#include "proto/status_macros.h"
#include "runtime/kernels/biased_sums_plan.h"

namespace fixpoint::kernels {
namespace {

class SumsInParts final : public BiasedSums {
 public:
  // `whole` has the bias and the scale in front of its epilogue; `part` has none, and is null where
  // there is only one.
  SumsInParts(std::unique_ptr<IntegerSums> whole, std::unique_ptr<IntegerSums> part,
              const WeightsOfSums& weights, const InputCoding& inputs, int64_t channels,
              int64_t out_size, const Epilogue& epilogue)
      : whole_(std::move(whole)),
        part_(std::move(part)),
        parts_(weights, inputs),
        weight_count_(weights.groups * weights.sums * weights.products()),
        out_size_(out_size),
        epilogue_(epilogue),
        ones_(channels, 1.0f),
        bias_(channels) {}

  // After the number of parts: of one the packed weights, of more the plain ones.
  int64_t packed_bytes() const override {
    return kHeaderBytes + std::max(whole_->packed_bytes(), part_ == nullptr ? 0 : weight_count_);
  }

  void Pack(absl::Span<const int8_t> codes, absl::Span<uint8_t> packed) override {
    CHECK_EQ(static_cast<int64_t>(codes.size()), weight_count_);
    CHECK_EQ(static_cast<int64_t>(packed.size()), packed_bytes());
    const int64_t part_count = part_ == nullptr ? 1 : ShareOut(codes);
    std::fill(packed.begin(), packed.end(), 0);
    std::memcpy(packed.data(), &part_count, sizeof(part_count));
    if (part_count == 1) {
      whole_->Pack(codes, packed.subspan(kHeaderBytes, whole_->packed_bytes()));
    } else {
      std::memcpy(packed.data() + kHeaderBytes, codes.data(), codes.size());
    }
  }

  void Run(absl::Span<const uint8_t> inputs, int32_t zero_point, absl::Span<const uint8_t> weights,
           absl::Span<const int32_t> bias, absl::Span<const float> scales,
           EpilogueOperands operands, Output out) override {
    CHECK_EQ(bias.size(), bias_.size());
    CHECK_EQ(scales.size(), bias_.size());
    int64_t part_count = 0;
    std::memcpy(&part_count, weights.data(), sizeof(part_count));
    weights.remove_prefix(kHeaderBytes);
    if (part_count > 1) {
      RunParts(inputs, zero_point, weights, part_count, bias, scales, operands, out);
      return;
    }
    std::copy(bias.begin(), bias.end(), bias_.begin());
    operands_ = {bias_, scales};
    operands_.insert(operands_.end(), operands.begin(), operands.end());
    whole_->Run(inputs, zero_point, weights.first(whole_->packed_bytes()), ones_, operands_, out);
  }

  std::string implementation() const override { return whole_->implementation(); }

 private:
  static constexpr int64_t kHeaderBytes = 64;

  int64_t ShareOut(absl::Span<const int8_t> codes) {
    part_of_weight_.resize(codes.size());
    return parts_.ShareOut(codes, absl::MakeSpan(part_of_weight_));
  }

  // Memory is taken by the first such run: few weights are so large.
  void RunParts(absl::Span<const uint8_t> inputs, int32_t zero_point,
                absl::Span<const uint8_t> weights, int64_t part_count,
                absl::Span<const int32_t> bias, absl::Span<const float> scales,
                EpilogueOperands operands, Output out) {
    const absl::Span<const int8_t> codes(reinterpret_cast<const int8_t*>(weights.data()),
                                         weight_count_);
    CHECK_EQ(ShareOut(codes), part_count);
    codes_of_part_.resize(codes.size());
    packed_part_.resize(part_->packed_bytes());
    elements_.resize(out_size_);
    sums_.resize(out_size_);
    const int64_t channels = static_cast<int64_t>(bias.size());
    for (int64_t i = 0; i < out_size_; ++i) sums_[i] = bias[i % channels];
    for (int64_t part = 0; part < part_count; ++part) {
      for (size_t i = 0; i < codes.size(); ++i) {
        codes_of_part_[i] = part_of_weight_[i] == part ? codes[i] : int8_t{0};
      }
      part_->Pack(codes_of_part_, absl::MakeSpan(packed_part_));
      part_->Run(inputs, zero_point, packed_part_, ones_, {}, absl::MakeSpan(elements_));
      for (int64_t i = 0; i < out_size_; ++i) sums_[i] += static_cast<int32_t>(elements_[i]);
    }
    for (int64_t i = 0; i < out_size_; ++i) {
      elements_[i] = static_cast<float>(sums_[i]) * scales[i % channels];
    }
    Store(epilogue_, operands, absl::MakeSpan(elements_), out);
  }

  const std::unique_ptr<IntegerSums> whole_;
  const std::unique_ptr<IntegerSums> part_;
  const SumParts parts_;
  const int64_t weight_count_;
  const int64_t out_size_;
  const Epilogue epilogue_;
  const std::vector<float> ones_;
  std::vector<float> bias_;
  std::vector<absl::Span<const float>> operands_;
  std::vector<int> part_of_weight_;
  std::vector<int8_t> codes_of_part_;
  std::vector<uint8_t> packed_part_;
  std::vector<float> elements_;
  std::vector<int32_t> sums_;
};

}  // namespace

bool BiasedSumsFit(int64_t products, const InputCoding& inputs) {
  return SumsWithBiasFit(products, 128 * LargestMagnitude(inputs));
}

absl::Status CheckBias(absl::Span<const int32_t> bias) {
  for (const int32_t code : bias) RETURN_IF_ERROR(CheckBiasCode(code, "a bias is"));
  return absl::OkStatus();
}

absl::StatusOr<std::unique_ptr<BiasedSums>> PlanBiasedSums(
    absl::string_view what,
    const std::function<absl::StatusOr<std::unique_ptr<IntegerSums>>(const Epilogue&, OutputType)>&
        plan,
    const WeightsOfSums& weights, const InputCoding& inputs, int64_t channels, int64_t out_size,
    const Epilogue& epilogue, OutputType output) {
  if (!BiasedSumsFit(weights.products(), inputs)) {
    return absl::InvalidArgumentError(absl::StrCat(
        std::string(what), " with ", weights.products(),
        " products in a sum; want fewer, so that a sum of products of codes fits in 32 bits with "
        "its bias"));
  }
  Epilogue stages = {{EpilogueStage::Kind::kAddChannel}, {EpilogueStage::Kind::kMultiplyChannel}};
  stages.insert(stages.end(), epilogue.begin(), epilogue.end());
  ASSIGN_OR_RETURN(std::unique_ptr<IntegerSums> whole, plan(stages, output));
  std::unique_ptr<IntegerSums> part;
  if (SumParts(weights, inputs).most() > 1) {
    ASSIGN_OR_RETURN(part, plan({}, OutputType::kFloat));
  }
  return std::make_unique<SumsInParts>(std::move(whole), std::move(part), weights, inputs, channels,
                                       out_size, epilogue);
}

}  // namespace fixpoint::kernels
