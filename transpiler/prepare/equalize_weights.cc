// equalize_weights: cross-layer equalization (Nagel et al., 2019, arXiv 1906.04721, section 4.1). A
// channel between two products is divided where it is computed, and multiplied where it is read, so
// that both weights have the same range for it:
//
//   conv2d(Filter=w, Input=x) -> (Output=y)
//   elementwise_add(X=y, Y=b) -> (Out=z) {axis=1}
//   relu(X=z) -> (Out=r)
//   conv2d(Filter=v, Input=r) -> (Output=u)
//
//   conv2d(Filter=w_1, Input=x) -> (Output=y)
//   elementwise_add(X=y, Y=b_1) -> (Out=z) {axis=1}
//   relu(X=z) -> (Out=r)
//   conv2d(Filter=v_1, Input=r) -> (Output=u)
//
// where, of each channel, w_1 = w / s, b_1 = b / s and v_1 = v s, with s = sqrt(max|w| / max|v|);
// s = 1 if either is 0. It is repeated over all pairs until none changes, since most weights are in
// two of them. What may stand between the products is in scalable_channels.h. It changes how floats
// are rounded. What gains are weights with one scale, and activations.

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "proto/base/status_macros.h"
#include "proto/program/program.h"
#include "proto/program/rewriter.h"
#include "transpiler/pipeline/parameter_writer.h"
#include "transpiler/prepare/constants.h"
#include "transpiler/prepare/prepare_context.h"
#include "transpiler/prepare/scalable_channels.h"

namespace fixpoint {
namespace {

// Factors closer to 1 than this change nothing that matters, and so end the repetition.
constexpr double kLeastChange = 1e-4;
// A channel with less than this share of the largest weight is as good as dead: its factor would
// make the bias of the channel the range of all of them.
constexpr double kLeastShare = 1e-6;
// Long chains take tens.
constexpr int kMostRepetitions = 200;

// Equalizes the weights around one value; returns how far the factor farthest from 1 is from it.
double Equalize(const ScalableChannels& between, ScaledParameters* parameters) {
  const std::vector<double> first =
      parameters->LargestOfChannels(between.divided.front(), between.channels);
  std::vector<double> second(between.channels);
  for (const ChannelParameter& weight : between.multiplied) {
    const std::vector<double> of_weight = parameters->LargestOfChannels(weight, between.channels);
    for (int64_t c = 0; c < between.channels; ++c) second[c] = std::max(second[c], of_weight[c]);
  }
  const double largest_of_first = *std::max_element(first.begin(), first.end());
  const double largest_of_second = *std::max_element(second.begin(), second.end());
  double farthest = 0;
  std::vector<double> factors(between.channels, 1);
  std::vector<double> inverses(between.channels, 1);
  for (int64_t c = 0; c < between.channels; ++c) {
    const bool is_dead = !(first[c] > kLeastShare * largest_of_first) ||
                         !(second[c] > kLeastShare * largest_of_second);
    const double factor = std::sqrt(first[c] / second[c]);
    if (is_dead || !std::isfinite(factor)) continue;
    factors[c] = factor;
    inverses[c] = 1 / factor;
    farthest = std::max({farthest, std::abs(factors[c] - 1), std::abs(inverses[c] - 1)});
  }
  if (farthest < kLeastChange) return farthest;
  for (const ChannelParameter& parameter : between.divided) parameters->Scale(parameter, inverses);
  for (const ChannelParameter& weight : between.multiplied) parameters->Scale(weight, factors);
  return farthest;
}

class EqualizeWeights final : public StagePass<PrepareContext> {
 public:
  absl::string_view name() const override { return "equalize_weights"; }
  absl::string_view doc() const override {
    return "Scales the channels between two products so that both weights have one range for each.";
  }
  std::vector<std::string> Requires() const override { return {"trained_parameters"}; }

  absl::Status RunIn(Program& program, PrepareContext& context) const override {
    const FindParameter find = [&context](const Argument* read) {
      return FindConstant(read, context.parameters);
    };
    std::vector<ScalableChannels> pairs = FindScalableChannels(program, find);
    pairs.erase(std::remove_if(pairs.begin(), pairs.end(),
                               [](const ScalableChannels& pair) { return !pair.is_of_product; }),
                pairs.end());
    ScaledParameters parameters(find);
    double farthest = 1;
    for (int i = 0; i < kMostRepetitions && farthest >= kLeastChange; ++i) {
      farthest = 0;
      for (const ScalableChannels& pair : pairs) {
        farthest = std::max(farthest, Equalize(pair, &parameters));
      }
    }
    Rewriter rewriter(&program, name());
    ParameterWriter writer(program, &context.parameters, &rewriter);
    for (const Argument* read : parameters.scaled()) {
      ASSIGN_OR_RETURN(Tensor scaled, parameters.Result(read));
      ASSIGN_OR_RETURN(const std::string parameter, writer.Add(read->name(), std::move(scaled)));
      RETURN_IF_ERROR(rewriter.RedirectReads({read}, *program.Find(program.block(0), parameter)));
    }
    return absl::OkStatus();
  }
};

}  // namespace

std::unique_ptr<Pass> MakeEqualizeWeights() { return std::make_unique<EqualizeWeights>(); }

}  // namespace fixpoint
