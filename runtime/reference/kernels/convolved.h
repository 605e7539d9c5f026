// The products of a convolution of images or volumes, and of a transposed one. Both are one set: a
// transposed convolution is the convolution that computes its input from its output, run backwards.

#ifndef FIXPOINT_RUNTIME_REFERENCE_KERNELS_CONVOLVED_H_
#define FIXPOINT_RUNTIME_REFERENCE_KERNELS_CONVOLVED_H_

#include <cstdint>
#include <vector>

#include "absl/status/statusor.h"
#include "ops/dims.h"
#include "ops/window_axes.h"
#include "runtime/reference/op_run.h"

namespace fixpoint::reference {

// Images [N, C, H, W] or volumes [N, C, D, H, W], however they lie in memory.
struct Features {
  int64_t batch;
  int64_t channels;
  Dims sizes;  // H, W or D, H, W
  bool channels_last;

  int64_t places() const { return Volume(sizes); }
  // `place` is numbered row by row.
  int64_t At(int64_t n, int64_t c, int64_t place) const {
    return channels_last ? (n * places() + place) * channels + c
                         : (n * channels + c) * places() + place;
  }
  Dims dims() const;
  int channel_axis() const { return channels_last ? static_cast<int>(sizes.size()) + 1 : 1; }
};

// A convolution of `from` to `to`. Filter [to's channels, from's channels / groups, h, w] or
// [..., d, h, w].
struct Convolution {
  // A place of the filter's window.
  struct Tap {
    int64_t number;
    int64_t place;  // in `from`
  };

  Features from;
  Features to;
  int64_t groups;
  WindowAxes window;

  int64_t taps() const;
  // The taps of the window at a place of `to`, without padding.
  std::vector<Tap> TapsAt(int64_t place) const;
};

// Calls f(to_i, from_i, filter_i) with each product, and where it is added.
template <typename F>
void ForEachProduct(const Convolution& c, F f) {
  const int64_t from_group = c.from.channels / c.groups;
  const int64_t to_group = c.to.channels / c.groups;
  const int64_t taps_of_channel = c.taps();
  for (int64_t place = 0; place < c.to.places(); ++place) {
    const std::vector<Convolution::Tap> taps = c.TapsAt(place);
    for (int64_t n = 0; n < c.to.batch; ++n) {
      for (int64_t o = 0; o < c.to.channels; ++o) {
        const int64_t to = c.to.At(n, o, place);
        for (int64_t i = 0; i < from_group; ++i) {
          const int64_t filter = (o * from_group + i) * taps_of_channel;
          const int64_t channel = o / to_group * from_group + i;
          for (const Convolution::Tap& tap : taps) {
            f(to, c.from.At(n, channel, tap.place), filter + tap.number);
          }
        }
      }
    }
  }
}

// What an op of Input and Filter with so many spatial axes computes. Errors: shapes or attributes
// that do not fit.
absl::StatusOr<Convolution> ForwardConvolution(const OpRun& op, int axes);
// The convolution whose output is Input, and whose input is the transposed convolution's output.
absl::StatusOr<Convolution> TransposedConvolution(const OpRun& op, int axes);

}  // namespace fixpoint::reference

#endif  // FIXPOINT_RUNTIME_REFERENCE_KERNELS_CONVOLVED_H_
