#include "runtime/kernels/ranking.h"

#include <glog/logging.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <numeric>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "proto/base/status_macros.h"
#include "runtime/kernels/extents.h"

namespace fixpoint::kernels {
namespace {

bool IsLess(float a, float b) { return std::isnan(b) ? !std::isnan(a) : a < b; }

// Calls f(line, start) with each line and where its first element is, if it has `length` elements.
template <typename F>
void ForEachLine(const Lines& lines, int64_t length, F f) {
  int64_t line = 0;
  for (int64_t o = 0; o < lines.outer; ++o) {
    for (int64_t k = 0; k < lines.inner; ++k, ++line) f(line, o * length * lines.inner + k);
  }
}

}  // namespace

TopK::TopK(const Lines& lines, int64_t k, Order order)
    : lines_(lines), k_(k), order_(order), places_(lines.length) {}

absl::StatusOr<std::unique_ptr<TopK>> TopK::Plan(const Lines& lines, int64_t k, Order order) {
  RETURN_IF_ERROR(CheckExtents("lines", {lines.outer, lines.length, lines.inner}));
  if (k < 1 || k > lines.length) {
    return absl::InvalidArgumentError(
        absl::StrCat("k is ", k, "; want 1 to ", lines.length, ", the size of the axis"));
  }
  return std::unique_ptr<TopK>(new TopK(lines, k, order));
}

void TopK::Run(absl::Span<const float> x, absl::Span<float> values, absl::Span<int64_t> indices) {
  CHECK_EQ(static_cast<int64_t>(x.size()), lines_.size());
  CHECK_EQ(static_cast<int64_t>(values.size()), lines_.count() * k_);
  CHECK_EQ(indices.size(), values.size());
  ForEachLine(lines_, lines_.length, [&](int64_t line, int64_t start) {
    const auto element = [&](int64_t place) { return x[start + place * lines_.inner]; };
    std::iota(places_.begin(), places_.end(), 0);
    std::partial_sort(places_.begin(), places_.begin() + k_, places_.end(),
                      [&](int64_t a, int64_t b) {
                        const bool is_less = IsLess(element(a), element(b));
                        const bool is_more = IsLess(element(b), element(a));
                        if (!is_less && !is_more) return a < b;
                        return order_ == Order::kAscending ? is_less : is_more;
                      });
    const int64_t to = line / lines_.inner * k_ * lines_.inner + line % lines_.inner;
    for (int64_t j = 0; j < k_; ++j) {
      values[to + j * lines_.inner] = element(places_[j]);
      indices[to + j * lines_.inner] = places_[j];
    }
  });
}

void TopK::Backward(absl::Span<const int64_t> indices, absl::Span<const float> dvalues,
                    absl::Span<float> dx) const {
  CHECK_EQ(static_cast<int64_t>(dx.size()), lines_.size());
  CHECK_EQ(static_cast<int64_t>(dvalues.size()), lines_.count() * k_);
  CHECK_EQ(indices.size(), dvalues.size());
  std::fill(dx.begin(), dx.end(), 0.0f);
  ForEachLine(lines_, k_, [&](int64_t line, int64_t from) {
    const int64_t start = line / lines_.inner * lines_.length * lines_.inner + line % lines_.inner;
    for (int64_t j = 0; j < k_; ++j) {
      const int64_t place = indices[from + j * lines_.inner];
      CHECK(place >= 0 && place < lines_.length) << place;
      dx[start + place * lines_.inner] += dvalues[from + j * lines_.inner];
    }
  });
}

namespace {

// The place of the first element of each line that none is ahead of.
template <typename IsAhead, typename T>
void FirstOfLines(const Lines& lines, absl::Span<const float> x, IsAhead is_ahead,
                  absl::Span<T> places) {
  CHECK_EQ(static_cast<int64_t>(x.size()), lines.size());
  CHECK_EQ(static_cast<int64_t>(places.size()), lines.count());
  ForEachLine(lines, lines.length, [&](int64_t line, int64_t start) {
    int64_t first = 0;
    for (int64_t i = 1; i < lines.length; ++i) {
      if (is_ahead(x[start + i * lines.inner], x[start + first * lines.inner])) first = i;
    }
    places[line] = static_cast<T>(first);
  });
}

}  // namespace

template <typename T>
void ArgMax(const Lines& lines, absl::Span<const float> x, absl::Span<T> places) {
  FirstOfLines(lines, x, std::greater<float>(), places);
}

template <typename T>
void ArgMin(const Lines& lines, absl::Span<const float> x, absl::Span<T> places) {
  FirstOfLines(lines, x, std::less<float>(), places);
}

template void ArgMax(const Lines& lines, absl::Span<const float> x, absl::Span<int32_t> places);
template void ArgMax(const Lines& lines, absl::Span<const float> x, absl::Span<int64_t> places);
template void ArgMin(const Lines& lines, absl::Span<const float> x, absl::Span<int32_t> places);
template void ArgMin(const Lines& lines, absl::Span<const float> x, absl::Span<int64_t> places);

int64_t CountCorrect(absl::Span<const int64_t> indices, int64_t k,
                     absl::Span<const int64_t> labels) {
  CHECK_EQ(indices.size(), labels.size() * k);
  int64_t correct = 0;
  for (size_t row = 0; row < labels.size(); ++row) {
    const auto of_row = indices.subspan(row * k, k);
    correct += std::find(of_row.begin(), of_row.end(), labels[row]) != of_row.end();
  }
  return correct;
}

}  // namespace fixpoint::kernels
