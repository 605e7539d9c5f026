#include "transpiler/weights/learned_rounding.h"

#include <glog/logging.h>

#include <algorithm>
#include <cmath>

namespace fixpoint {
namespace {

// The stretched sigmoid of the paper: from -0.1 to 1.1.
constexpr float kStretch = 1.2f;
constexpr float kBelow = -0.1f;

// Of Adam.
constexpr double kMeanRate = 0.9;
constexpr double kVarianceRate = 0.999;
constexpr double kEpsilon = 1e-8;

float Sigmoid(float v) { return 1 / (1 + std::exp(-v)); }

float HeightOf(float v) { return std::clamp(kStretch * Sigmoid(v) + kBelow, 0.0f, 1.0f); }

// The v whose height is `height`, from 0 to 1.
float VOfHeight(float height) { return -std::log(kStretch / (height - kBelow) - 1); }

int32_t CodeOf(const Tensor& codes, int64_t i) {
  return codes.dtype() == VarType::INT16 ? codes.data<int16_t>()[i] : codes.data<int8_t>()[i];
}

}  // namespace

LearnedRounding::LearnedRounding(const Tensor& weight, const WeightCodes& nearest,
                                 const WeightCodesOptions& options)
    // A code below -largest would stand for more than the range.
    : smallest_(static_cast<float>(std::max(options.codes.smallest, -options.codes.largest))),
      largest_(static_cast<float>(options.codes.largest)) {
  CHECK(!nearest.zero_points);
  const absl::Span<const float> values = weight.data<float>();
  const absl::Span<const float> ranges = nearest.scales.data<float>();
  int64_t inner = 1;
  for (size_t i = options.axis + 1; i < weight.dims().size(); ++i) inner *= weight.dims()[i];
  elements_.reserve(values.size());
  for (size_t i = 0; i < values.size(); ++i) {
    const float range = ranges[ranges.size() == 1 ? 0 : i / inner % ranges.size()];
    const double place = static_cast<double>(values[i]) * largest_ / range;
    Element element;
    element.range = range;
    element.below = static_cast<float>(std::floor(place));
    element.is_fixed = std::abs(values[i]) >= range || place == element.below;
    nearest_codes_.push_back(CodeOf(nearest.codes, i));
    if (element.is_fixed) element.below = static_cast<float>(nearest_codes_.back());
    element.v = VOfHeight(element.is_fixed ? 0 : static_cast<float>(place) - element.below);
    elements_.push_back(element);
  }
}

float LearnedRounding::Clipped(float code) const { return std::clamp(code, smallest_, largest_); }

void LearnedRounding::Write(absl::Span<float> weights) const {
  for (size_t i = 0; i < elements_.size(); ++i) {
    const Element& element = elements_[i];
    const float height = element.is_fixed ? 0 : HeightOf(element.v);
    weights[i] = Clipped(element.below + height) * element.range / largest_;
  }
}

std::vector<int32_t> LearnedRounding::RoundedCodes() const {
  std::vector<int32_t> codes;
  codes.reserve(elements_.size());
  for (const Element& element : elements_) {
    const bool is_up = !element.is_fixed && HeightOf(element.v) >= 0.5f;
    codes.push_back(static_cast<int32_t>(Clipped(element.below + static_cast<float>(is_up))));
  }
  return codes;
}

void LearnedRounding::WriteCodes(absl::Span<const int32_t> codes, absl::Span<float> weights) const {
  for (size_t i = 0; i < elements_.size(); ++i) {
    // In double, so that the largest code stands for the range itself.
    weights[i] = static_cast<float>(static_cast<double>(codes[i]) * elements_[i].range / largest_);
  }
}

double LearnedRounding::BetaOf(int64_t step, const RoundOptions& options) {
  const double done = static_cast<double>(step) / static_cast<double>(options.steps);
  if (done < options.steps_without) return 0;
  const double part = (done - options.steps_without) / (1 - options.steps_without);
  return options.last_beta +
         (options.first_beta - options.last_beta) * (1 + std::cos(M_PI * part)) / 2;
}

void LearnedRounding::Step(int64_t step, absl::Span<const float> gradient,
                           const RoundOptions& options) {
  const auto beta = static_cast<float>(BetaOf(step, options));
  const auto lambda = static_cast<float>(options.lambda);
  const auto count = static_cast<double>(step + 1);
  const auto rate =
      static_cast<float>(options.learning_rate * std::sqrt(1 - std::pow(kVarianceRate, count)) /
                         (1 - std::pow(kMeanRate, count)));
  for (size_t i = 0; i < elements_.size(); ++i) {
    Element& element = elements_[i];
    if (element.is_fixed) continue;
    const float sigmoid = Sigmoid(element.v);
    const float unclipped = kStretch * sigmoid + kBelow;
    const bool is_between = unclipped > 0 && unclipped < 1;
    const float code = element.below + unclipped;
    float of_height =
        code > smallest_ && code < largest_ ? gradient[i] * element.range / largest_ : 0;
    if (beta > 0) {
      const float middle = 2 * unclipped - 1;
      of_height -= std::copysign(2 * lambda * beta * std::pow(std::abs(middle), beta - 1), middle);
    }
    const float of_v = is_between ? of_height * kStretch * sigmoid * (1 - sigmoid) : 0;
    element.mean += static_cast<float>(1 - kMeanRate) * (of_v - element.mean);
    element.variance += static_cast<float>(1 - kVarianceRate) * (of_v * of_v - element.variance);
    element.v -= rate * element.mean / (std::sqrt(element.variance) + static_cast<float>(kEpsilon));
  }
}

}  // namespace fixpoint
