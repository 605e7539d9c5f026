#include "runtime/boxes/matching.h"

#include <algorithm>
#include <cmath>
#include <cstddef>

namespace fixpoint::boxes {
namespace {

constexpr double kLeastDistance = 1e-6;

// Whether a distance counts when each row is matched with one column. The reference sorts all pairs
// of many rows, and takes whatever is above 0 then.
template <typename T>
bool CountsAmong(int64_t rows, T distance) {
  constexpr int64_t kManyRows = 130;
  return rows >= kManyRows ? distance > 0 : distance >= static_cast<T>(kLeastDistance);
}

template <typename T>
void MatchEachToOne(int64_t rows, int64_t columns, absl::Span<const T> distances,
                    absl::Span<int32_t> matched, absl::Span<T> distance) {
  std::vector<int64_t> pairs;  // column by column
  for (int64_t column = 0; column < columns; ++column) {
    for (int64_t row = 0; row < rows; ++row) {
      const int64_t pair = row * columns + column;
      if (CountsAmong(rows, distances[pair])) pairs.push_back(pair);
    }
  }
  std::stable_sort(pairs.begin(), pairs.end(),
                   [&](int64_t a, int64_t b) { return distances[a] > distances[b]; });
  std::vector<bool> is_taken(rows, false);
  for (const int64_t pair : pairs) {
    const int64_t row = pair / columns;
    const int64_t column = pair % columns;
    if (is_taken[row] || matched[column] >= 0) continue;
    is_taken[row] = true;
    matched[column] = static_cast<int32_t>(row);
    distance[column] = distances[pair];
  }
}

}  // namespace

template <typename T>
void Match(int64_t rows, int64_t columns, absl::Span<const T> distances, std::optional<T> threshold,
           absl::Span<int32_t> matched, absl::Span<T> distance) {
  std::fill(matched.begin(), matched.end(), -1);
  std::fill(distance.begin(), distance.end(), T(0));
  if (distances.empty()) return;  // there may be 2^40 rows without columns
  MatchEachToOne(rows, columns, distances, matched, distance);
  if (!threshold) return;
  for (int64_t column = 0; column < columns; ++column) {
    if (matched[column] >= 0) continue;
    T largest = -1;
    for (int64_t row = 0; row < rows; ++row) {
      const T value = distances[row * columns + column];
      const bool counts = value >= static_cast<T>(kLeastDistance) && value >= *threshold;
      if (!counts || !(value > largest)) continue;
      largest = value;
      matched[column] = static_cast<int32_t>(row);
      distance[column] = value;
    }
  }
}

template <typename T>
std::vector<int64_t> MineExamples(const Mining& mining, absl::Span<const T> losses,
                                  absl::Span<const T> distances, absl::Span<int32_t> matched) {
  std::vector<int64_t> places;
  int64_t positives = 0;
  for (size_t i = 0; i < matched.size(); ++i) {
    if (matched[i] != -1) ++positives;
    const bool may_count =
        mining.is_hard_example ||
        (matched[i] == -1 && distances[i] < static_cast<T>(mining.distance_threshold));
    if (may_count) places.push_back(static_cast<int64_t>(i));
  }
  const double wanted =
      mining.is_hard_example
          ? static_cast<double>(mining.sample_size)
          : static_cast<double>(static_cast<float>(positives) * static_cast<float>(mining.ratio));
  const double most = wanted > 0 ? wanted : 0;
  std::stable_sort(places.begin(), places.end(), [&](int64_t a, int64_t b) {
    if (std::isnan(losses[a])) return false;
    return std::isnan(losses[b]) || losses[a] > losses[b];
  });
  if (most < static_cast<double>(places.size())) places.resize(static_cast<size_t>(most));
  std::sort(places.begin(), places.end());
  if (!mining.is_hard_example) return places;
  std::vector<int64_t> unmatched;
  for (int64_t i = 0; i < static_cast<int64_t>(matched.size()); ++i) {
    const bool is_selected = std::binary_search(places.begin(), places.end(), i);
    if (matched[i] > -1) {
      if (!is_selected) matched[i] = -1;
    } else if (is_selected) {
      unmatched.push_back(i);
    }
  }
  return unmatched;
}

#define FIXPOINT_INSTANTIATE(T)                                                  \
  template void Match(int64_t, int64_t, absl::Span<const T>, std::optional<T>,   \
                      absl::Span<int32_t>, absl::Span<T>);                       \
  template std::vector<int64_t> MineExamples(const Mining&, absl::Span<const T>, \
                                             absl::Span<const T>, absl::Span<int32_t>);
FIXPOINT_INSTANTIATE(float)
FIXPOINT_INSTANTIATE(double)
#undef FIXPOINT_INSTANTIATE

}  // namespace fixpoint::boxes
