// How the result of an operation on two tensors, element by element, is split into blocks that stay
// in the first-level cache with what they are computed from.

#ifndef FIXPOINT_RUNTIME_KERNELS_INTEGER_ELEMENTWISE_BLOCKS_H_
#define FIXPOINT_RUNTIME_KERNELS_INTEGER_ELEMENTWISE_BLOCKS_H_

#include <algorithm>
#include <cstddef>
#include <cstdint>

#include "absl/container/inlined_vector.h"
#include "ops/dims.h"
#include "runtime/kernels/extents.h"

namespace fixpoint::kernels {

// The most elements of a block.
inline constexpr int64_t kBlock = 4096;

// A dimension of the result, and how far x and y advance along it.
struct Level {
  int64_t size = 1;
  int64_t x_stride = 1;
  int64_t y_stride = 1;
};
using Levels = absl::InlinedVector<Level, 4>;

// The dimensions of the result, innermost first; neighbours along which both tensors advance alike
// are one. keeps_last: the innermost is the last dimension, as the operands of channels need it.
// REQUIRES: one rank, with dimensions that are equal or 1.
inline Levels LevelsOf(const Dims& x, const Dims& y, bool keeps_last) {
  Levels levels;
  int64_t x_size = 1;
  int64_t y_size = 1;
  for (int i = static_cast<int>(x.size()) - 1; i >= 0; --i) {
    const int64_t size = std::max(x[i], y[i]);
    const bool is_last = keeps_last && levels.empty();
    if (size == 1 && !is_last) continue;
    const Level level = {size, x[i] == size ? x_size : 0, y[i] == size ? y_size : 0};
    const bool is_alike = !levels.empty() &&
                          (levels.back().x_stride != 0) == (level.x_stride != 0) &&
                          (levels.back().y_stride != 0) == (level.y_stride != 0);
    if (is_alike && !(keeps_last && levels.size() == 1)) {
      levels.back().size *= size;
    } else {
      levels.push_back(level);
    }
    x_size *= x[i];
    y_size *= y[i];
  }
  if (levels.empty()) levels.push_back({});
  return levels;
}

// Goes through the rows of the result: where in x and y a row begins.
class Walk {
 public:
  Walk(const Levels& levels, int64_t row) : outer_(levels.data() + 1), at_(levels.size() - 1) {
    for (size_t i = 0; i < at_.size(); ++i) {
      at_[i] = row % outer_[i].size;
      row /= outer_[i].size;
      x_ += at_[i] * outer_[i].x_stride;
      y_ += at_[i] * outer_[i].y_stride;
    }
  }

  int64_t x() const { return x_; }
  int64_t y() const { return y_; }
  void Next() {
    for (size_t i = 0; i < at_.size(); ++i) {
      x_ += outer_[i].x_stride;
      y_ += outer_[i].y_stride;
      if (++at_[i] < outer_[i].size) return;
      x_ -= outer_[i].size * outer_[i].x_stride;
      y_ -= outer_[i].size * outer_[i].y_stride;
      at_[i] = 0;
    }
  }

 private:
  const Level* outer_;
  absl::InlinedVector<int64_t, 4> at_;
  int64_t x_ = 0;
  int64_t y_ = 0;
};

// A part of the result that is computed at once: whole rows, or a part of one.
struct Block {
  int64_t row;
  int64_t rows;
  int64_t column;
  int64_t columns;

  int64_t size() const { return rows * columns; }
};

// All blocks. Where the rows of y repeat along the second level, as those of a gate do for all
// pixels of an image, that level is a stretch: no block goes beyond it, so that its row of y is
// read once for all of its blocks.
class Blocks {
 public:
  explicit Blocks(const Levels& levels)
      : row_size_(levels.front().size),
        rows_(RowsOf(levels)),
        repeats_y_(levels.size() > 1 && levels[1].y_stride == 0 &&
                   levels[1].size * row_size_ >= kShortStretch),
        stretch_(repeats_y_ ? levels[1].size : rows_),
        rows_of_block_(
            CeilDivide(stretch_, CeilDivide(stretch_, std::max<int64_t>(1, kBlock / row_size_)))),
        blocks_of_row_(CeilDivide(row_size_, kBlock)),
        blocks_of_stretch_(CeilDivide(stretch_, rows_of_block_) * blocks_of_row_) {}

  int64_t size() const { return rows_ / stretch_ * blocks_of_stretch_; }
  // Where an element of the result lies at which a block begins.
  int64_t BeginOf(const Block& block) const { return block.row * row_size_ + block.column; }
  bool repeats_y() const { return repeats_y_; }
  int64_t StretchOf(const Block& block) const { return block.row / stretch_; }
  Block operator[](int64_t i) const {
    const int64_t stretch = i / blocks_of_stretch_;
    const int64_t in_stretch = i % blocks_of_stretch_;
    const int64_t row = in_stretch / blocks_of_row_ * rows_of_block_;
    const int64_t column = in_stretch % blocks_of_row_ * kBlock;
    return {stretch * stretch_ + row, std::min(rows_of_block_, stretch_ - row), column,
            std::min(kBlock, row_size_ - column)};
  }

 private:
  // Of fewer elements, several stretches are one block.
  static constexpr int64_t kShortStretch = 256;

  static int64_t RowsOf(const Levels& levels) {
    int64_t rows = 1;
    for (size_t i = 1; i < levels.size(); ++i) rows *= levels[i].size;
    return rows;
  }

  const int64_t row_size_;
  const int64_t rows_;
  const bool repeats_y_;
  const int64_t stretch_;  // rows
  const int64_t rows_of_block_;
  const int64_t blocks_of_row_;
  const int64_t blocks_of_stretch_;
};

}  // namespace fixpoint::kernels

#endif  // FIXPOINT_RUNTIME_KERNELS_INTEGER_ELEMENTWISE_BLOCKS_H_
