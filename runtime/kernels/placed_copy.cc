#include "runtime/kernels/placed_copy.h"

#include <glog/logging.h>

#include <algorithm>
#include <cstddef>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "proto/base/status_macros.h"
#include "runtime/kernels/extents.h"
#include "runtime/kernels/parallel_for.h"

namespace fixpoint::kernels {
namespace {

absl::Status CheckPlaces(const Places& places, int64_t size) {
  for (const int32_t place : places) {
    if (place == kNoPlace || (place >= 0 && place < size)) continue;
    return absl::InvalidArgumentError(
        absl::StrCat("a place is ", place, "; want 0 to ", size - 1, ", the end of its axis"));
  }
  return absl::OkStatus();
}

Dims StridesOf(DimsView dims) {
  Dims strides(dims.size(), 1);
  for (size_t i = dims.size(); i > 1; --i) strides[i - 2] = strides[i - 1] * dims[i - 1];
  return strides;
}

// Single elements in stretches that are shorter on the average are copied one by one.
constexpr int64_t kShortStretch = 4;

}  // namespace

absl::StatusOr<std::unique_ptr<PlacedCopy>> PlacedCopy::Plan(DimsView from,
                                                             const std::vector<Places>& places) {
  CHECK_EQ(from.size(), places.size());
  RETURN_IF_ERROR(CheckExtents("the tensor is", from));
  const Dims strides = StridesOf(from);
  Dims to;
  std::vector<Axis> axes;
  for (size_t i = 0; i < from.size(); ++i) {
    RETURN_IF_ERROR(CheckPlaces(places[i], from[i]));
    const bool is_own = places[i].empty();
    to.push_back(is_own ? from[i] : static_cast<int64_t>(places[i].size()));
    // Neighbouring axes on which each element stays at its own place are one.
    if (is_own && !axes.empty() && axes.back().places.empty()) {
      axes.back().size *= from[i];
      axes.back().stride = strides[i];
    } else {
      axes.push_back({places[i], to.back(), strides[i]});
    }
  }
  RETURN_IF_ERROR(CheckExtents("the result is", to));
  std::unique_ptr<PlacedCopy> copy(new PlacedCopy());
  for (const int64_t size : from) copy->from_size_ *= size;
  int64_t inner = 1;  // elements that move together
  if (!axes.empty() && axes.back().places.empty()) {
    inner = axes.back().size;
    axes.pop_back();
  }
  Places last = {0};
  if (!axes.empty()) {
    last = std::move(axes.back().places);
    axes.pop_back();
  }
  copy->SetRow(std::move(last), inner);
  copy->outer_ = std::move(axes);
  for (const Axis& axis : copy->outer_) copy->rows_ *= axis.size;
  return copy;
}

void PlacedCopy::SetRow(Places places, int64_t inner) {
  row_size_ = static_cast<int64_t>(places.size()) * inner;
  for (size_t i = 0; i < places.size(); ++i) {
    const int64_t source = places[i] == kNoPlace ? kNoPlace : places[i] * inner;
    const Stretch* const before = stretches_.empty() ? nullptr : &stretches_.back();
    const bool goes_on = before != nullptr && (before->from == kNoPlace || source == kNoPlace
                                                   ? before->from == source
                                                   : before->from + before->size == source);
    if (goes_on) {
      stretches_.back().size += inner;
    } else {
      stretches_.push_back({static_cast<int64_t>(i) * inner, source, inner});
    }
  }
  const auto count = static_cast<int64_t>(stretches_.size());
  if (inner == 1 && row_size_ < kShortStretch * count) gathered_ = std::move(places);
}

inline int64_t PlacedCopy::SourceOf(int64_t row) const {
  int64_t source = 0;
  for (auto axis = outer_.rbegin(); axis != outer_.rend(); ++axis) {
    const int64_t i = row % axis->size;
    row /= axis->size;
    const int64_t place = axis->places.empty() ? i : axis->places[i];
    if (place == kNoPlace) return kNoPlace;
    source += place * axis->stride;
  }
  return source;
}

template <typename T>
inline void PlacedCopy::CopyRow(const T* from, T filling, T* to) const {
  if (!gathered_.empty()) {
    const int32_t* const places = gathered_.data();
    for (int64_t i = 0; i < row_size_; ++i) {
      to[i] = places[i] == kNoPlace ? filling : from[places[i]];
    }
    return;
  }
  for (const Stretch& stretch : stretches_) {
    if (stretch.from == kNoPlace) {
      std::fill_n(to + stretch.to, stretch.size, filling);
    } else {
      std::copy_n(from + stretch.from, stretch.size, to + stretch.to);
    }
  }
}

template <typename T>
void PlacedCopy::Run(absl::Span<const T> from, T filling, absl::Span<T> to) const {
  CHECK_EQ(static_cast<int64_t>(from.size()), from_size_);
  CHECK_EQ(static_cast<int64_t>(to.size()), rows_ * row_size_);
  const auto bytes = static_cast<int64_t>(2 * sizeof(T)) * row_size_;
  ParallelFor(rows_, bytes, [=, from = from.data(), to = to.data()](int64_t begin, int64_t end) {
    int64_t before = kNoPlace;
    for (int64_t row = begin; row < end; ++row) {
      T* const line = to + row * row_size_;
      const int64_t source = SourceOf(row);
      if (source == kNoPlace) {
        std::fill_n(line, row_size_, filling);
      } else if (source == before) {
        std::copy_n(line - row_size_, row_size_, line);
      } else {
        CopyRow(from + source, filling, line);
      }
      before = source;
    }
  });
}

#define FIXPOINT_PLACED_COPY(T) \
  template void PlacedCopy::Run<T>(absl::Span<const T>, T, absl::Span<T>) const;
FIXPOINT_PLACED_COPY(uint8_t)
FIXPOINT_PLACED_COPY(int32_t)
FIXPOINT_PLACED_COPY(int64_t)
#undef FIXPOINT_PLACED_COPY

}  // namespace fixpoint::kernels
