#include "transpiler/weights/correct_biases.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <utility>
#include <variant>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "proto/base/status_macros.h"
#include "proto/program/op.h"
#include "transpiler/weights/sample_runs.h"
#include "transpiler/weights/weight_layers.h"

namespace fixpoint {
namespace {

// The mean of each channel over everything else.
class ChannelMeans {
 public:
  explicit ChannelMeans(int axis) : axis_(axis) {}

  void Add(const Tensor& tensor) {
    const int64_t channels = tensor.dims()[axis_];
    int64_t inner = 1;
    for (size_t i = axis_ + 1; i < tensor.dims().size(); ++i) inner *= tensor.dims()[i];
    sums_.resize(channels);
    const absl::Span<const float> elements = tensor.data<float>();
    for (size_t i = 0; i < elements.size(); ++i) {
      sums_[static_cast<int64_t>(i) / inner % channels] += elements[i];
    }
    if (channels > 0) count_ += tensor.size() / channels;
  }

  std::vector<double> Get() const {
    std::vector<double> means = sums_;
    for (double& mean : means) mean /= static_cast<double>(count_);
    return means;
  }

 private:
  const int axis_;
  std::vector<double> sums_;
  int64_t count_ = 0;  // of the elements of a channel
};

// The means of the sums of layers with their biases, for each of `layers`.
absl::StatusOr<std::vector<std::vector<double>>> MeansOf(const Program& program, Scope* parameters,
                                                         const MethodRun& run,
                                                         absl::Span<const WeightLayer> layers) {
  std::vector<std::string> fetches;
  std::vector<ChannelMeans> means;
  for (const WeightLayer& layer : layers) {
    fetches.emplace_back(layer.biased->name());
    means.emplace_back(layer.channel_axis);
  }
  RETURN_IF_ERROR(
      RunOnSamples(program, parameters, run, fetches, [&means](const std::vector<Tensor>& fetched) {
        for (size_t i = 0; i < fetched.size(); ++i) {
          means[i].Add(fetched[i]);
        }
        return absl::OkStatus();
      }));
  std::vector<std::vector<double>> results;
  for (size_t i = 0; i < means.size(); ++i) {
    results.push_back(means[i].Get());
    for (const double mean : results.back()) {
      if (std::isfinite(mean)) continue;
      return absl::InvalidArgumentError(
          absl::StrCat("the mean of a channel of \"", fetches[i], "\" is ", mean,
                       "; want samples and parameters that give numbers"));
    }
  }
  return results;
}

// Adds the shifts, and returns the largest of them.
absl::StatusOr<double> Shift(const std::string& bias, const std::vector<double>& by,
                             Scope* parameters) {
  ASSIGN_OR_RETURN(const Tensor* held, parameters->Find(bias));
  ASSIGN_OR_RETURN(Tensor shifted, held->Clone());
  const absl::Span<float> values = shifted.mutable_data<float>();
  double largest = 0;
  for (size_t c = 0; c < values.size(); ++c) {
    values[c] = static_cast<float>(values[c] + by[c]);
    largest = std::max(largest, std::abs(by[c]));
  }
  parameters->Set(bias, std::move(shifted));
  return largest;
}

}  // namespace

absl::StatusOr<std::vector<CorrectedBias>> CorrectBiases(const NetworkPair& networks,
                                                         const MethodRun& run) {
  const QuantizerTable built_in;
  const QuantizerTable& quantizers = run.quantizers != nullptr ? *run.quantizers : built_in;
  ASSIGN_OR_RETURN(std::vector<WeightLayer> layers, FindWeightLayers(networks, quantizers));
  layers.erase(std::remove_if(layers.begin(), layers.end(),
                              [](const WeightLayer& layer) { return layer.bias == nullptr; }),
               layers.end());
  if (layers.empty()) return std::vector<CorrectedBias>();
  ASSIGN_OR_RETURN(const auto wanted, MeansOf(networks.network, networks.parameters, run, layers));
  std::vector<CorrectedBias> corrected;
  for (size_t i = 0; i < layers.size(); ++i) {
    const WeightLayer& layer = layers[i];
    if (run.progress != nullptr) {
      run.progress(static_cast<int64_t>(i), static_cast<int64_t>(layers.size()));
    }
    ASSIGN_OR_RETURN(const auto simulated,
                     MeansOf(networks.simulated, networks.simulated_parameters, run, {layer}));
    std::vector<double> shifts = wanted[i];
    for (size_t c = 0; c < shifts.size(); ++c) shifts[c] -= simulated.front()[c];
    CorrectedBias result;
    result.output = std::string(layer.biased->name());
    result.bias = std::string(layer.bias->name());
    ASSIGN_OR_RETURN(result.largest_shift,
                     Shift(result.bias, shifts, networks.simulated_parameters));
    corrected.push_back(std::move(result));
  }
  return corrected;
}

}  // namespace fixpoint
