#include "runtime/kernels/volume_pooling.h"

#include <algorithm>
#include <limits>
#include <utility>

#include "runtime/kernels/parallel_for.h"

namespace fixpoint::kernels {

VolumePooling::VolumePooling(int64_t volumes, int64_t channels, bool channels_last,
                             const Dims& sizes, const std::vector<std::vector<PooledSpan>>& spans)
    : volumes_(volumes), channels_(channels), channels_last_(channels_last) {
  windows_ = {{{0}, 1}};
  for (size_t axis = 0; axis < spans.size(); ++axis) {
    x_places_ *= sizes[axis];
    std::vector<Window> finer;
    for (const Window& window : windows_) {
      for (const PooledSpan& span : spans[axis]) {
        Window& made = finer.emplace_back();
        made.padded = window.padded * static_cast<float>(span.padded);
        for (const int64_t place : window.places) {
          for (int64_t i = span.begin; i < span.end; ++i) {
            made.places.push_back(place * sizes[axis] + i);
          }
        }
      }
    }
    windows_ = std::move(finer);
  }
}

template <typename F>
void VolumePooling::ForEachWindow(F f) const {
  const auto windows = static_cast<int64_t>(windows_.size());
  const int64_t step = channels_last_ ? channels_ : 1;
  ParallelFor(volumes_ * channels_, 4 * (x_places_ + windows), [=](int64_t begin, int64_t end) {
    for (int64_t line = begin; line < end; ++line) {
      const int64_t volume = line / channels_;
      const int64_t channel = line % channels_;
      const auto first = [=](int64_t places) {
        return channels_last_ ? volume * places * channels_ + channel : line * places;
      };
      const int64_t x = first(x_places_);
      const int64_t y = first(windows);
      for (int64_t i = 0; i < windows; ++i) {
        f(windows_[i], y + i * step, [=](int64_t place) { return x + place * step; });
      }
    }
  });
}

void VolumePooling::Maxima(absl::Span<const float> x, absl::Span<float> y,
                           absl::Span<int32_t> places) const {
  ForEachWindow([=](const Window& window, int64_t i, auto at) {
    float largest = std::numeric_limits<float>::lowest();
    int64_t where = -1;
    for (const int64_t place : window.places) {
      if (!(x[at(place)] > largest)) continue;
      largest = x[at(place)];
      where = place;
    }
    y[i] = largest;
    if (!places.empty()) places[i] = static_cast<int32_t>(where);
  });
}

void VolumePooling::SpreadToPlaces(absl::Span<const float> dy, absl::Span<const int32_t> places,
                                   absl::Span<float> dx) const {
  std::fill(dx.begin(), dx.end(), 0.0f);
  ForEachWindow([=](const Window& /*window*/, int64_t i, auto at) {
    if (places[i] >= 0) dx[at(places[i])] += dy[i];
  });
}

void VolumePooling::SpreadToMaxima(absl::Span<const float> x, absl::Span<const float> y,
                                   absl::Span<const float> dy, absl::Span<float> dx) const {
  std::fill(dx.begin(), dx.end(), 0.0f);
  ForEachWindow([=](const Window& window, int64_t i, auto at) {
    for (const int64_t place : window.places) {
      if (x[at(place)] != y[i]) continue;
      dx[at(place)] += dy[i];
      break;
    }
  });
}

void VolumePooling::Averages(absl::Span<const float> x, bool counts_padding,
                             absl::Span<float> y) const {
  ForEachWindow([=](const Window& window, int64_t i, auto at) {
    double sum = 0;
    for (const int64_t place : window.places) sum += double{x[at(place)]};
    const float count = window.CountOf(counts_padding);
    y[i] = count > 0 ? static_cast<float>(sum) / count : 0.0f;
  });
}

void VolumePooling::SpreadAverages(absl::Span<const float> dy, bool counts_padding,
                                   absl::Span<float> dx) const {
  std::fill(dx.begin(), dx.end(), 0.0f);
  ForEachWindow([=](const Window& window, int64_t i, auto at) {
    const float share = dy[i] / window.CountOf(counts_padding);
    for (const int64_t place : window.places) dx[at(place)] += share;
  });
}

}  // namespace fixpoint::kernels
