#include "runtime/kernels/coded_recurrence.h"

#include <algorithm>
#include <optional>
#include <utility>
#include <vector>

#include "proto/base/status_macros.h"
#include "runtime/kernels/integer_product.h"
#include "runtime/kernels/integer_sums.h"
#include "runtime/kernels/product_shape.h"
#include "runtime/kernels/recurrence_steps.h"
#include "runtime/kernels/state_rounding.h"
#include "runtime/kernels/wide_sums.h"

namespace fixpoint::kernels {
namespace {

constexpr int kBitsOfByte = 8;

class PlannedStateProduct final : public StateProduct {
 public:
  static absl::StatusOr<std::unique_ptr<PlannedStateProduct>> Plan(int bits,
                                                                   const ProductShape& shape) {
    auto product = std::make_unique<PlannedStateProduct>(bits, shape);
    if (bits <= kBitsOfByte) {
      ASSIGN_OR_RETURN(product->bytes_, PlanIntegerProduct(shape, CodeType::kInt8));
      product->codes_.resize(shape.x_size());
    } else {
      ASSIGN_OR_RETURN(product->wide_, WideSums::Plan(shape, {}));
      product->wide_codes_.resize(shape.x_size());
    }
    return product;
  }
  // Call Plan.
  PlannedStateProduct(int bits, const ProductShape& shape) : bits_(bits), shape_(shape) {}

  int64_t rows() const { return shape_.rows; }
  int64_t packed_bytes() const override {
    return bytes_ ? bytes_->packed_bytes() : wide_->packed_bytes();
  }
  std::string implementation() const override {
    return bytes_ ? bytes_->implementation() : wide_->implementation();
  }
  std::optional<double> beside_floats() const override {
    return bytes_ ? std::optional(bytes_->beside_floats()) : std::nullopt;
  }

  void Pack(absl::Span<const int8_t> weights, absl::Span<uint8_t> packed) override {
    if (bytes_) return bytes_->Pack(weights, packed);
    wide_->Pack(std::vector<int16_t>(weights.begin(), weights.end()), packed);
  }

  void Run(const float* states, absl::Span<const uint8_t> weights, absl::Span<const float> scales,
           float* out) override {
    const absl::Span<float> sums(out, shape_.out_size());
    if (bytes_) {
      StateCodes(bits_, shape_.x_size(), states, codes_.data());
      SumOperands operands;
      operands.inputs = {reinterpret_cast<const uint8_t*>(codes_.data()), codes_.size()};
      operands.weights = weights;
      operands.scales = scales;
      bytes_->Run(operands, sums);
    } else {
      StateCodes(bits_, shape_.x_size(), states, wide_codes_.data());
      wide_->Run({wide_codes_, weights, scales}, sums);
    }
  }

 private:
  const int bits_;
  const ProductShape shape_;
  std::unique_ptr<IntegerSums> bytes_;
  std::unique_ptr<WideSums> wide_;
  std::vector<int8_t> codes_;
  std::vector<int16_t> wide_codes_;
};

// Products of the first n rows of a batch with one matrix, planned for the batch and for parts of
// it, each half of the one before: a step of fewer rows computes the smallest that has them.
class RowProducts {
 public:
  static absl::StatusOr<RowProducts> Plan(const RecurrenceShape& shape, int64_t columns) {
    constexpr size_t kMostParts = 4;
    RowProducts products;
    products.weight_size_ = shape.cell.width * columns;
    for (int64_t part = shape.batch(); products.parts_.size() < kMostParts; part = (part + 1) / 2) {
      ProductShape of_part{1, part, shape.cell.width, columns};
      of_part.transpose_y = shape.is_transposed;
      ASSIGN_OR_RETURN(std::unique_ptr<PlannedStateProduct> product,
                       PlannedStateProduct::Plan(shape.state_bits, of_part));
      // What is packed begins where a cache line does.
      const int64_t bytes = (product->packed_bytes() + 63) / 64 * 64;
      products.parts_.push_back({products.packed_bytes_, std::move(product)});
      products.packed_bytes_ += bytes;
      if (part == 1 || (part + 1) / 2 < shape.rows.back()) break;
    }
    return products;
  }

  int64_t weight_size() const { return weight_size_; }
  int64_t packed_bytes() const { return packed_bytes_; }
  std::string implementation() const { return parts_.front().product->implementation(); }
  // The slowest of its kernels.
  std::optional<double> beside_floats() const {
    std::optional<double> slowest = parts_.front().product->beside_floats();
    for (const Part& part : parts_) slowest = std::min(slowest, part.product->beside_floats());
    return slowest;
  }

  void Pack(absl::Span<const int8_t> weights, absl::Span<uint8_t> packed) {
    for (const Part& part : parts_) {
      part.product->Pack(weights, packed.subspan(part.offset, part.product->packed_bytes()));
    }
  }

  // Others of the batch may be computed too.
  void Run(int64_t rows, const float* x, absl::Span<const uint8_t> packed,
           absl::Span<const float> scales, float* out) {
    const Part* part = &parts_.front();
    for (const Part& smaller : parts_) {
      if (smaller.product->rows() >= rows) part = &smaller;
    }
    part->product->Run(x, packed.subspan(part->offset, part->product->packed_bytes()), scales, out);
  }

 private:
  struct Part {
    int64_t offset;
    std::unique_ptr<PlannedStateProduct> product;
  };

  std::vector<Part> parts_;
  int64_t weight_size_ = 0;
  int64_t packed_bytes_ = 0;
};

class PlannedCodedRecurrence final : public CodedRecurrence {
 public:
  static absl::StatusOr<std::unique_ptr<PlannedCodedRecurrence>> Plan(
      const RecurrenceShape& shape) {
    auto planned = std::make_unique<PlannedCodedRecurrence>(shape);
    const int64_t width = shape.cell.width;
    ASSIGN_OR_RETURN(planned->first_,
                     RowProducts::Plan(shape, IsGru(shape) ? 2 * width : shape.cell.columns()));
    if (IsGru(shape)) {
      ASSIGN_OR_RETURN(planned->second_, RowProducts::Plan(shape, width));
    }
    return planned;
  }
  // Call Plan.
  explicit PlannedCodedRecurrence(const RecurrenceShape& shape) : steps_(shape) {}

  int64_t scratch_size() const override { return steps_.scratch_size(); }
  int64_t packed_bytes() const override {
    return first_->packed_bytes() + (second_ ? second_->packed_bytes() : 0);
  }
  std::string implementation() const override { return first_->implementation(); }
  std::optional<double> beside_floats() const override {
    const std::optional<double> of_first = first_->beside_floats();
    return second_ ? std::min(of_first, second_->beside_floats()) : of_first;
  }

  void Pack(absl::Span<const int8_t> weights, absl::Span<uint8_t> packed) override {
    first_->Pack(weights.subspan(0, first_->weight_size()),
                 packed.subspan(0, first_->packed_bytes()));
    if (!second_) return;
    second_->Pack(weights.subspan(first_->weight_size()), packed.subspan(first_->packed_bytes()));
  }

  void Run(absl::Span<const float> sums, absl::Span<const uint8_t> weights,
           absl::Span<const float> scales, const RecurrenceInputs& inputs,
           const RecurrenceStates& states, absl::Span<float> scratch) override {
    const int64_t columns_of_first =
        second_ ? 2 * steps_.shape().cell.width : static_cast<int64_t>(scales.size());
    RunSteps(
        steps_, sums, inputs, states, scratch,
        [&](int64_t rows, const float* x, float* out) {
          first_->Run(rows, x, weights.subspan(0, first_->packed_bytes()),
                      scales.subspan(0, columns_of_first), out);
        },
        [&](int64_t rows, const float* x, float* out) {
          second_->Run(rows, x, weights.subspan(first_->packed_bytes()),
                       scales.subspan(columns_of_first), out);
        });
  }

 private:
  const Steps steps_;
  std::optional<RowProducts> first_;
  std::optional<RowProducts> second_;
};

}  // namespace

absl::StatusOr<std::unique_ptr<CodedRecurrence>> CodedRecurrence::Plan(
    const RecurrenceShape& shape) {
  CheckSteps(shape);
  ASSIGN_OR_RETURN(std::unique_ptr<CodedRecurrence> planned, PlannedCodedRecurrence::Plan(shape));
  return planned;
}

absl::StatusOr<std::unique_ptr<StateProduct>> StateProduct::Plan(int state_bits, int64_t rows,
                                                                 int64_t inner, int64_t columns) {
  ProductShape shape{1, rows, inner, columns};
  shape.transpose_y = true;
  ASSIGN_OR_RETURN(std::unique_ptr<StateProduct> planned,
                   PlannedStateProduct::Plan(state_bits, shape));
  return planned;
}

}  // namespace fixpoint::kernels
