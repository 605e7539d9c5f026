#include "runtime/kernels/integer_elementwise.h"

#include <glog/logging.h>

#include <algorithm>
#include <utility>

#include "absl/container/inlined_vector.h"
#include "ops/placed_dims.h"
#include "proto/base/status_macros.h"
#include "runtime/kernels/broadcast_loops.h"
#include "runtime/kernels/extents.h"
#include "runtime/kernels/machine.h"
#include "runtime/kernels/threads.h"
#include "runtime/kernels/vectorised.h"

namespace fixpoint::kernels {
namespace {

// The number of elements that go through an epilogue at once.
constexpr int64_t kBlock = 4096;

// A dimension of the result, and how far x and y advance along it.
struct Level {
  int64_t size = 1;
  int64_t x_stride = 1;
  int64_t y_stride = 1;
};
using Levels = absl::InlinedVector<Level, 4>;

// The dimensions of the result, innermost first; neighbours along which both tensors advance alike
// are one. keeps_last: the innermost is the last dimension, as the operands of channels need it.
Levels LevelsOf(const Dims& x, const Dims& y, bool keeps_last) {
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

// A part of the result that goes through the epilogue at once: whole rows, or a part of one.
struct Block {
  int64_t row;
  int64_t rows;
  int64_t column;
  int64_t columns;

  int64_t size() const { return rows * columns; }
};

class PlannedMultiplication final : public IntegerMultiplication {
 public:
  PlannedMultiplication(Broadcast broadcast, Levels levels, CodeType x, CodeType y,
                        const Epilogue& epilogue, OutputType output)
      : out_dims_(std::move(broadcast.out_dims)),
        x_size_(broadcast.loops.x_size()),
        y_size_(broadcast.loops.y_size()),
        out_size_(broadcast.loops.out_size()),
        levels_(std::move(levels)),
        rows_(out_size_ / levels_.front().size),
        x_type_(x),
        y_type_(y),
        epilogue_(epilogue),
        output_(output) {}

  const Dims& out_dims() const override { return out_dims_; }

  void Run(ElementwiseCodes x, ElementwiseCodes y, float scale, EpilogueOperands operands,
           Output out) override {
    CHECK_EQ(static_cast<int64_t>(x.codes.size()), x_size_);
    CHECK_EQ(static_cast<int64_t>(y.codes.size()), y_size_);
    CHECK_EQ(static_cast<int64_t>(out.size()), out_size_);
    CHECK_EQ(operands.size(), epilogue_.size());
    CHECK(out.type() == output_);
    const int64_t most_threads = std::min<int64_t>(
        GrantedThreads(), out_size_ * static_cast<int64_t>(sizeof(float)) / kBytesOfThread);
    const int threads = static_cast<int>(std::max<int64_t>(1, most_threads));
    RunOnThreads(threads, blocks(), [&](int, int64_t begin, int64_t end) {
      for (int64_t block = begin; block < end; ++block) {
        RunBlock(BlockAt(block), x, y, scale, operands, out);
      }
    });
  }

  std::string implementation() const override { return LoopsName(); }

 private:
  int64_t row_size() const { return levels_.front().size; }
  int64_t rows_of_block() const { return std::max<int64_t>(1, kBlock / row_size()); }
  int64_t blocks_of_row() const { return CeilDivide(row_size(), kBlock); }
  int64_t blocks() const { return CeilDivide(rows_, rows_of_block()) * blocks_of_row(); }

  Block BlockAt(int64_t block) const {
    const int64_t row = block / blocks_of_row() * rows_of_block();
    const int64_t column = block % blocks_of_row() * kBlock;
    return {row, std::min(rows_of_block(), rows_ - row), column,
            std::min(kBlock, row_size() - column)};
  }

  void RunBlock(const Block& block, ElementwiseCodes x, ElementwiseCodes y, float scale,
                EpilogueOperands operands, Output out) const {
    const int64_t at = block.row * row_size() + block.column;
    const Output stored = out.Part(at, block.size());
    absl::InlinedVector<absl::Span<const float>, 8> of_block(operands.begin(), operands.end());
    for (size_t i = 0; i < operands.size(); ++i) {
      if (epilogue_[i].is_of_channels()) {
        of_block[i] = operands[i].subspan(block.column, block.columns);
      } else if (epilogue_[i].kind == EpilogueStage::Kind::kAddElement) {
        of_block[i] = operands[i].subspan(at, block.size());
      }
    }
    if (output_ == OutputType::kFloat) {
      const absl::Span<float> elements = stored.As<float>();
      MultiplyCodes(block, x, y, scale, elements.data());
      Apply(epilogue_, of_block, elements);
    } else {
      float elements[kBlock];
      MultiplyCodes(block, x, y, scale, elements);
      Store(epilogue_, of_block, absl::MakeSpan(elements, block.size()), stored);
    }
  }

  void MultiplyCodes(const Block& block, ElementwiseCodes x, ElementwiseCodes y, float scale,
                     float* to) const {
    const auto with_types = [&](auto x_code, auto y_code) {
      const auto* const x_codes = reinterpret_cast<const decltype(x_code)*>(x.codes.data());
      const auto* const y_codes = reinterpret_cast<const decltype(y_code)*>(y.codes.data());
      WithLine(block.columns, [&](auto line) {
        Walk walk(levels_, block.row);
        const int64_t x_begin = line.X(block.column);
        const int64_t y_begin = line.Y(block.column);
        Vectorised(
            [=, next = &walk, rows = block.rows, x_zero = x.zero_point, y_zero = y.zero_point] {
              for (int64_t row = 0; row < rows; ++row, next->Next()) {
                const auto* const a = x_codes + next->x() + x_begin;
                const auto* const b = y_codes + next->y() + y_begin;
                float* const products = to + row * line.size;
                for (int64_t i = 0; i < line.size; ++i) {
                  const int32_t product = (a[line.X(i)] - x_zero) * (b[line.Y(i)] - y_zero);
                  products[i] = static_cast<float>(product) * scale;
                }
              }
            });
      });
    };
    const auto with_x = [&](auto x_code) {
      if (y_type_ == CodeType::kUint8) return with_types(x_code, uint8_t{});
      return with_types(x_code, int8_t{});
    };
    if (x_type_ == CodeType::kUint8) return with_x(uint8_t{});
    return with_x(int8_t{});
  }

  // Calls f with the form of all rows, of that size.
  template <typename F>
  void WithLine(int64_t size, const F& f) const {
    const Level& inner = levels_.front();
    if (inner.x_stride != 0 && inner.y_stride != 0) return f(LineOfBoth{size});
    if (inner.x_stride != 0) return f(LineOfX{size});
    return f(LineOfY{size});
  }

  const Dims out_dims_;
  const int64_t x_size_;
  const int64_t y_size_;
  const int64_t out_size_;
  const Levels levels_;
  const int64_t rows_;  // along the innermost level
  const CodeType x_type_;
  const CodeType y_type_;
  const Epilogue epilogue_;
  const OutputType output_;
};

}  // namespace

absl::StatusOr<std::unique_ptr<IntegerMultiplication>> IntegerMultiplication::Plan(
    const ElementwiseShape& shape, CodeType x, CodeType y, const Epilogue& epilogue,
    OutputType output) {
  ASSIGN_OR_RETURN(Broadcast broadcast, BroadcastOf(shape.x, shape.y, shape.axis));
  const auto rank = static_cast<int>(broadcast.out_dims.size());
  ASSIGN_OR_RETURN(const Dims x_dims, PlacedDims(shape.x, rank, shape.axis));
  ASSIGN_OR_RETURN(const Dims y_dims, PlacedDims(shape.y, rank, shape.axis));
  const bool has_channels =
      std::any_of(epilogue.begin(), epilogue.end(),
                  [](const EpilogueStage& stage) { return stage.is_of_channels(); });
  return std::make_unique<PlannedMultiplication>(
      std::move(broadcast), LevelsOf(x_dims, y_dims, has_channels), x, y, epilogue, output);
}

}  // namespace fixpoint::kernels
