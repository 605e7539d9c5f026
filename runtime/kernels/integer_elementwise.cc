#include "runtime/kernels/integer_elementwise.h"

#include <glog/logging.h>

#include <algorithm>
#include <cstring>
#include <optional>
#include <utility>

#include "absl/container/inlined_vector.h"
#include "ops/placed_dims.h"
#include "proto/base/status_macros.h"
#include "runtime/kernels/broadcast_loops.h"
#include "runtime/kernels/folded_epilogue.h"
#include "runtime/kernels/integer_elementwise_blocks.h"
#include "runtime/kernels/integer_elementwise_loops.h"
#include "runtime/kernels/machine.h"
#include "runtime/kernels/threads.h"
#include "runtime/kernels/vectorised.h"

namespace fixpoint::kernels {
namespace {

// The factors of a block where they do not lie one after the other in memory.
struct WrittenFactors {
  uint8_t x[kBlock];
  int32_t y[kBlock];
  int64_t stretch_of_y = -1;  // whose rows these are
  int64_t size_of_y = 0;
};

// What one run multiplies.
struct Factors {
  CodeFactor x;
  CodeFactor y;
  float scale;
};

CodeFactor FactorOf(const ElementwiseCodes& codes, CodeType type) {
  return {codes.codes.data(), type == CodeType::kInt8, codes.zero_point};
}

bool HasChannels(const Epilogue& epilogue) {
  return std::any_of(epilogue.begin(), epilogue.end(),
                     [](const EpilogueStage& stage) { return stage.is_of_channels(); });
}

std::optional<RoundedEpilogue> RoundedOf(const Epilogue& epilogue, OutputType output) {
  const std::optional<FoldedEpilogue> folded = Fold(epilogue, output);
  return folded ? RoundedEpilogue::Of(*folded) : std::nullopt;
}

// Two tensors of one rank, as they are in memory.
struct Tensors {
  Dims x;
  Dims y;
  CodeType x_type;
  CodeType y_type;
  bool are_swapped = false;  // so that x is not smaller than y
};

class PlannedMultiplication final : public IntegerMultiplication {
 public:
  // REQUIRES: sizes are counted in 64 bits.
  PlannedMultiplication(const Dims& out_dims, const Tensors& tensors, const Epilogue& epilogue,
                        OutputType output)
      : out_dims_(out_dims),
        are_swapped_(tensors.are_swapped),
        x_size_(*ElementCount(tensors.x)),
        y_size_(*ElementCount(tensors.y)),
        out_size_(*ElementCount(out_dims)),
        levels_(LevelsOf(tensors.x, tensors.y, HasChannels(epilogue))),
        blocks_(levels_),
        x_type_(tensors.x_type),
        y_type_(tensors.y_type),
        epilogue_(epilogue),
        rounded_(RoundedOf(epilogue, output)),
        output_(output) {}

  const Dims& out_dims() const override { return out_dims_; }

  void Run(ElementwiseCodes x, ElementwiseCodes y, float scale, EpilogueOperands operands,
           Output out) override {
    if (are_swapped_) std::swap(x, y);
    CHECK_EQ(static_cast<int64_t>(x.codes.size()), x_size_);
    CHECK_EQ(static_cast<int64_t>(y.codes.size()), y_size_);
    CHECK_EQ(static_cast<int64_t>(out.size()), out_size_);
    CHECK_EQ(operands.size(), epilogue_.size());
    CHECK(out.type() == output_);
    const Factors factors = {FactorOf(x, x_type_), FactorOf(y, y_type_), scale};
    const int64_t most_threads = std::min<int64_t>(
        GrantedThreads(), out_size_ * static_cast<int64_t>(sizeof(float)) / kBytesOfThread);
    const int threads = static_cast<int>(std::max<int64_t>(1, most_threads));
    RunOnThreads(threads, blocks_.size(), [&](int, int64_t begin, int64_t end) {
      WrittenFactors written;
      for (int64_t i = begin; i < end; ++i) RunBlock(blocks_[i], factors, operands, out, &written);
    });
  }

  std::string implementation() const override { return LoopsName(); }

 private:
  void RunBlock(const Block& block, const Factors& factors, EpilogueOperands operands, Output out,
                WrittenFactors* written) const {
    const CodeFactor x = XOf(block, factors.x, written);
    if (IsContiguous(block, y_size_, levels_.front().y_stride)) {
      const int64_t begin = Walk(levels_, block.row).y() + block.column;
      Multiply(block, x, factors.y.Of(factors.y.codes() + begin), factors.scale, operands, out);
    } else {
      WriteY(block, factors.y, written);
      Multiply(block, x, static_cast<const int32_t*>(written->y), factors.scale, operands, out);
    }
  }

  // Whether the elements of a tensor for a block lie one after the other.
  bool IsContiguous(const Block& block, int64_t size, int64_t inner_stride) const {
    return size == out_size_ || (block.rows == 1 && inner_stride != 0);
  }

  CodeFactor XOf(const Block& block, CodeFactor x, WrittenFactors* written) const {
    const int64_t stride = levels_.front().x_stride;
    Walk walk(levels_, block.row);
    if (IsContiguous(block, x_size_, stride)) return x.Of(x.codes() + walk.x() + block.column);
    for (int64_t row = 0; row < block.rows; ++row, walk.Next()) {
      uint8_t* const to = written->x + row * block.columns;
      const uint8_t* const from = x.codes() + walk.x();
      if (stride != 0) {
        std::memcpy(to, from + block.column, block.columns);
      } else {
        std::memset(to, *from, block.columns);
      }
    }
    return x.Of(written->x);
  }

  // Rows that repeat are written once, for all blocks of a stretch.
  void WriteY(const Block& block, CodeFactor y, WrittenFactors* written) const {
    const int64_t stretch = blocks_.StretchOf(block);
    const int64_t size = block.size();
    if (blocks_.repeats_y() && written->stretch_of_y == stretch && written->size_of_y >= size) {
      return;
    }
    written->stretch_of_y = stretch;
    written->size_of_y = size;
    Walk walk(levels_, block.row);
    int64_t done = 0;
    for (; done < (blocks_.repeats_y() ? block.columns : size);
         done += block.columns, walk.Next()) {
      const CodeFactor row = y.Of(y.codes() + walk.y());
      if (levels_.front().y_stride != 0) {
        WriteIntegers(row.Of(row.codes() + block.column),
                      absl::MakeSpan(written->y + done, block.columns));
      } else {
        std::fill_n(written->y + done, block.columns, row[0]);
      }
    }
    while (done < size) {
      const int64_t more = std::min(done, size - done);
      std::copy_n(written->y, more, written->y + done);
      done += more;
    }
  }

  // The products of a block, and the epilogue.
  template <typename Y>
  void Multiply(const Block& block, CodeFactor x, Y y, float scale, EpilogueOperands operands,
                Output out) const {
    const int64_t begin = blocks_.BeginOf(block);
    const Output stored = out.Part(begin, block.size());
    if (rounded_ && rounded_->IsFor(scale)) {
      return rounded_->Multiply(x, y, scale, stored.As<uint8_t>());
    }
    absl::InlinedVector<absl::Span<const float>, 8> of_block(operands.begin(), operands.end());
    for (size_t i = 0; i < operands.size(); ++i) {
      if (epilogue_[i].is_of_channels()) {
        of_block[i] = operands[i].subspan(block.column, block.columns);
      } else if (epilogue_[i].kind == EpilogueStage::Kind::kAddElement) {
        of_block[i] = operands[i].subspan(begin, block.size());
      }
    }
    if (output_ == OutputType::kFloat) {
      MultiplyToFloats(x, y, scale, stored.As<float>());
      Apply(epilogue_, of_block, stored.As<float>());
    } else {
      float products[kBlock];
      const auto of_products = absl::MakeSpan(products, block.size());
      MultiplyToFloats(x, y, scale, of_products);
      Store(epilogue_, of_block, of_products, stored);
    }
  }

  const Dims out_dims_;
  const bool are_swapped_;
  const int64_t x_size_;
  const int64_t y_size_;
  const int64_t out_size_;
  const Levels levels_;
  const Blocks blocks_;
  const CodeType x_type_;
  const CodeType y_type_;
  const Epilogue epilogue_;
  const std::optional<RoundedEpilogue> rounded_;
  const OutputType output_;
};

}  // namespace

absl::StatusOr<std::unique_ptr<IntegerMultiplication>> IntegerMultiplication::Plan(
    const ElementwiseShape& shape, CodeType x, CodeType y, const Epilogue& epilogue,
    OutputType output) {
  ASSIGN_OR_RETURN(const Broadcast broadcast, BroadcastOf(shape.x, shape.y, shape.axis));
  const auto rank = static_cast<int>(broadcast.out_dims.size());
  Tensors tensors = {{}, {}, x, y};
  ASSIGN_OR_RETURN(tensors.x, PlacedDims(shape.x, rank, shape.axis));
  ASSIGN_OR_RETURN(tensors.y, PlacedDims(shape.y, rank, shape.axis));
  if (broadcast.loops.x_size() < broadcast.loops.y_size()) {
    std::swap(tensors.x, tensors.y);
    std::swap(tensors.x_type, tensors.y_type);
    tensors.are_swapped = true;
  }
  return std::make_unique<PlannedMultiplication>(broadcast.out_dims, tensors, epilogue, output);
}

}  // namespace fixpoint::kernels
