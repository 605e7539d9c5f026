// Values whose channels can be scaled by parameters alone: divided by the parameters of the op that
// computes them, and multiplied again by the weights of all products that read them.

#ifndef FIXPOINT_TRANSPILER_PREPARE_SCALABLE_CHANNELS_H_
#define FIXPOINT_TRANSPILER_PREPARE_SCALABLE_CHANNELS_H_

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "proto/program/program_fwd.h"
#include "runtime/tensor.h"

namespace fixpoint {

// A parameter, the elements of which belong to channels: [outer, channels, inner], row major.
struct ChannelParameter {
  const Argument* read = nullptr;  // by the op that uses it; nothing else reads its variable
  int64_t inner = 1;
};

struct ScalableChannels {
  const Value* value = nullptr;  // what the products read
  int channel_axis = 0;          // of the value
  int64_t channels = 0;
  // Of a product: its weight, then its bias, if there is one; of a layer norm: scale and bias.
  bool is_of_product = false;
  std::vector<ChannelParameter> divided;
  std::vector<ChannelParameter> multiplied;  // weights
};

// The tensor that an input reads in every run; null where there is none, and for null.
using FindParameter = std::function<const Tensor*(const Argument* read)>;

// In the order of the program, block 0. The op that computes a value is a layer norm, or a product
// with its bias, after which may come functions with f(s x) = s f(x) for s > 0 and pooling, each of
// which is the only reader of what is before it. Values that a run keeps, and those that anything
// but the activation input of a product reads, are not among them; neither are channels of
// convolutions in groups, unless they are depthwise with one filter for each. Linear in the
// program.
std::vector<ScalableChannels> FindScalableChannels(const Program& program,
                                                   const FindParameter& find);

// Parameters while they are scaled, in double, so that each element is rounded once.
class ScaledParameters {
 public:
  explicit ScaledParameters(FindParameter find) : find_(std::move(find)) {}

  // The largest magnitude of each channel's elements as they are now.
  std::vector<double> LargestOfChannels(const ChannelParameter& parameter, int64_t channels);
  // Multiplies the elements of each channel by its factor.
  void Scale(const ChannelParameter& parameter, absl::Span<const double> factors);

  // What reads a parameter that was scaled, in the order in which each was scaled first.
  absl::Span<const Argument* const> scaled() const { return scaled_; }
  // Error (kFailedPrecondition): there is no memory. REQUIRES: it was scaled.
  absl::StatusOr<Tensor> Result(const Argument* read) const;

 private:
  std::vector<double>& ElementsOf(const Argument* read);

  const FindParameter find_;
  absl::flat_hash_map<const Argument*, std::vector<double>> elements_;
  std::vector<const Argument*> scaled_;
};

// The largest magnitude of each channel in a tensor [outer, channels, inner], and in what was found
// of others before; NaN where one is.
template <typename Number>
void TakeLargest(absl::Span<const Number> elements, int64_t inner, absl::Span<double> largest) {
  const auto channels = static_cast<int64_t>(largest.size());
  for (size_t i = 0; i < elements.size(); ++i) {
    double& known = largest[static_cast<int64_t>(i) / inner % channels];
    const double magnitude = std::abs(static_cast<double>(elements[i]));
    if (magnitude > known || std::isnan(magnitude)) known = magnitude;
  }
}

}  // namespace fixpoint

#endif  // FIXPOINT_TRANSPILER_PREPARE_SCALABLE_CHANNELS_H_
