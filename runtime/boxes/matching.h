// Prior boxes and true ones: which belong together, and which of the others count in training.

#ifndef FIXPOINT_RUNTIME_BOXES_MATCHING_H_
#define FIXPOINT_RUNTIME_BOXES_MATCHING_H_

#include <cstdint>
#include <optional>
#include <vector>

#include "absl/types/span.h"

namespace fixpoint::boxes {

// The row that each column of distances [rows, columns] goes with, and their distance; -1 and 0
// where there is none. Repeatedly the largest distance of a row and a column that are both free;
// of equal ones that of the first column, and then row. One below 1e-6 counts as none (of 130 rows
// and more, one that is not above 0), and so does one that is not a number. With `threshold` each
// column that is then free takes the row of its largest distance, if that is as much.
template <typename T>
void Match(int64_t rows, int64_t columns, absl::Span<const T> distances, std::optional<T> threshold,
           absl::Span<int32_t> matched, absl::Span<T> distance);

struct Mining {
  bool is_hard_example = false;
  // For the largest losses among the unmatched places: so many for each that is matched.
  double ratio = 1;
  double distance_threshold = 0.5;
  // For hard examples, the largest losses of all.
  int64_t sample_size = 0;
};

// The unmatched places of an image that count, in ascending order. `matched` has its places that do
// not count unmatched afterwards. REQUIRES: all spans are of one size. Of losses one that is not a
// number is the smallest.
template <typename T>
std::vector<int64_t> MineExamples(const Mining& mining, absl::Span<const T> losses,
                                  absl::Span<const T> distances, absl::Span<int32_t> matched);

}  // namespace fixpoint::boxes

#endif  // FIXPOINT_RUNTIME_BOXES_MATCHING_H_
