// Pooling over windows of any number of axes. Elements lie row major, or with their channels last.

#ifndef FIXPOINT_RUNTIME_KERNELS_VOLUME_POOLING_H_
#define FIXPOINT_RUNTIME_KERNELS_VOLUME_POOLING_H_

#include <cstdint>
#include <vector>

#include "absl/types/span.h"
#include "ops/pooled_spans.h"

namespace fixpoint::kernels {

class VolumePooling {
 public:
  // x is [volumes, channels, sizes...] or, channels last, [volumes, sizes..., channels]. `spans`
  // are those of each of the sizes.
  VolumePooling(int64_t volumes, int64_t channels, bool channels_last, const Dims& sizes,
                const std::vector<std::vector<PooledSpan>>& spans);

  int64_t x_size() const { return volumes_ * channels_ * x_places_; }
  int64_t y_size() const { return volumes_ * channels_ * static_cast<int64_t>(windows_.size()); }

  // The maximum of each window, the lowest float where there is none above it, and its place, -1
  // there: the first of equal ones. A NaN is never the maximum. `places` may be empty.
  void Maxima(absl::Span<const float> x, absl::Span<float> y, absl::Span<int32_t> places) const;
  // dx of maxima at those places, of which each is -1 or one of the volume's.
  void SpreadToPlaces(absl::Span<const float> dy, absl::Span<const int32_t> places,
                      absl::Span<float> dx) const;
  // dx of maxima y of x: to the first element that is equal to it, if there is one.
  void SpreadToMaxima(absl::Span<const float> x, absl::Span<const float> y,
                      absl::Span<const float> dy, absl::Span<float> dx) const;
  // Averages over the elements, or over the windows with their padding where `counts_padding`. That
  // of nothing is 0.
  void Averages(absl::Span<const float> x, bool counts_padding, absl::Span<float> y) const;
  void SpreadAverages(absl::Span<const float> dy, bool counts_padding, absl::Span<float> dx) const;

  int64_t places() const { return x_places_; }

 private:
  struct Window {
    std::vector<int64_t> places;  // row by row
    float padded;

    float CountOf(bool counts_padding) const {
      return counts_padding ? padded : static_cast<float>(places.size());
    }
  };
  // Calls f(window, y_i, at) for each window of each channel; at(place) is where x has it. Channels
  // are spread over threads.
  template <typename F>
  void ForEachWindow(F f) const;

  const int64_t volumes_;
  const int64_t channels_;
  const bool channels_last_;
  int64_t x_places_ = 1;
  std::vector<Window> windows_;
};

}  // namespace fixpoint::kernels

#endif  // FIXPOINT_RUNTIME_KERNELS_VOLUME_POOLING_H_
