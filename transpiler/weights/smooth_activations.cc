#include "transpiler/weights/smooth_activations.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <numeric>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "proto/base/status_macros.h"
#include "proto/program/op.h"
#include "transpiler/pipeline/edited_parameters.h"
#include "transpiler/prepare/constants.h"
#include "transpiler/prepare/scalable_channels.h"
#include "transpiler/weights/sample_runs.h"

namespace fixpoint {
namespace {

// The largest magnitudes of each value's channels, in all samples.
absl::StatusOr<std::vector<std::vector<double>>> LargestOfValues(
    const Program& network, Scope* parameters, const MethodRun& run,
    const std::vector<ScalableChannels>& values) {
  std::vector<std::string> fetches;
  std::vector<std::vector<double>> largest;
  for (const ScalableChannels& value : values) {
    fetches.push_back(value.value->variable().name());
    largest.emplace_back(value.channels);
  }
  RETURN_IF_ERROR(
      RunOnSamples(network, parameters, run, fetches, [&](const std::vector<Tensor>& fetched) {
        for (size_t i = 0; i < fetched.size(); ++i) {
          const auto& dims = fetched[i].dims();
          const int64_t inner = std::accumulate(dims.begin() + values[i].channel_axis + 1,
                                                dims.end(), int64_t{1}, std::multiplies<>());
          TakeLargest(fetched[i].data<float>(), inner, absl::MakeSpan(largest[i]));
        }
        return absl::OkStatus();
      }));
  for (size_t i = 0; i < largest.size(); ++i) {
    for (const double magnitude : largest[i]) {
      if (std::isfinite(magnitude)) continue;
      return absl::InvalidArgumentError(
          absl::StrCat("\"", fetches[i],
                       "\" has a value that is not finite; want samples and parameters that give "
                       "numbers"));
    }
  }
  return largest;
}

// The largest of all channels beside their mean.
double SpreadOf(const std::vector<double>& largest) {
  const double sum = std::accumulate(largest.begin(), largest.end(), 0.0);
  if (sum == 0) return 1;
  return *std::max_element(largest.begin(), largest.end()) * static_cast<double>(largest.size()) /
         sum;
}

SmoothedValue Smooth(const ScalableChannels& value, std::vector<double> largest, double alpha,
                     ScaledParameters* scaled) {
  std::vector<double> of_weights(value.channels);
  for (const ChannelParameter& weight : value.multiplied) {
    const std::vector<double> of_weight = scaled->LargestOfChannels(weight, value.channels);
    for (int64_t c = 0; c < value.channels; ++c) {
      of_weights[c] = std::max(of_weights[c], of_weight[c]);
    }
  }
  SmoothedValue result;
  result.variable = value.value->variable().name();
  result.products = static_cast<int>(value.multiplied.size());
  result.spread_before = SpreadOf(largest);
  std::vector<double> factors(value.channels, 1);
  std::vector<double> inverses(value.channels, 1);
  for (int64_t c = 0; c < value.channels; ++c) {
    if (!(largest[c] > 0 && of_weights[c] > 0)) continue;
    factors[c] = std::pow(largest[c], alpha) / std::pow(of_weights[c], 1 - alpha);
    inverses[c] = 1 / factors[c];
    largest[c] *= inverses[c];
  }
  result.spread_after = SpreadOf(largest);
  for (const ChannelParameter& parameter : value.divided) scaled->Scale(parameter, inverses);
  for (const ChannelParameter& weight : value.multiplied) scaled->Scale(weight, factors);
  return result;
}

}  // namespace

absl::StatusOr<std::vector<SmoothedValue>> SmoothActivations(const Program& network,
                                                             Scope* parameters,
                                                             const SmoothOptions& options,
                                                             const MethodRun& run) {
  if (!(options.alpha >= 0 && options.alpha <= 1)) {
    return absl::InvalidArgumentError(
        absl::StrCat("alpha is ", options.alpha, "; want a number from 0 to 1"));
  }
  const EditedParameters held(parameters);
  const FindParameter find = [&held](const Argument* read) { return FindConstant(read, held); };
  const std::vector<ScalableChannels> values = FindScalableChannels(network, find);
  std::vector<SmoothedValue> smoothed;
  if (values.empty()) return smoothed;
  ASSIGN_OR_RETURN(const auto largest, LargestOfValues(network, parameters, run, values));
  ScaledParameters scaled(find);
  for (size_t i = 0; i < values.size(); ++i) {
    smoothed.push_back(Smooth(values[i], largest[i], options.alpha, &scaled));
  }
  std::vector<Tensor> results;
  for (const Argument* read : scaled.scaled()) {
    ASSIGN_OR_RETURN(Tensor result, scaled.Result(read));
    results.push_back(std::move(result));
  }
  for (size_t i = 0; i < results.size(); ++i) {
    parameters->Set(scaled.scaled()[i]->name(), std::move(results[i]));
  }
  return smoothed;
}

}  // namespace fixpoint
