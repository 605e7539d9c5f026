#include "runtime/kernels/recurrence.h"

#include <glog/logging.h>

#include <algorithm>
#include <cstddef>
#include <numeric>
#include <optional>
#include <utility>

#include "absl/strings/str_cat.h"
#include "proto/base/status_macros.h"
#include "runtime/kernels/packed_form.h"
#include "runtime/kernels/recurrence_steps.h"
#include "runtime/kernels/row_product.h"
#include "runtime/kernels/state_rounding.h"

namespace fixpoint::kernels {
namespace {

// Products of the first n rows of a batch with one matrix. They are planned for the batch and for
// parts of it, each half of the one before: a step of fewer rows computes the smallest that has
// them.
class RowProducts {
 public:
  static absl::StatusOr<RowProducts> Plan(const std::vector<int64_t>& rows, int64_t inner,
                                          int64_t columns, bool transpose_y) {
    constexpr size_t kMostParts = 4;
    RowProducts products(inner, columns);
    for (int64_t part = rows.front(); products.parts_.size() < kMostParts; part = (part + 1) / 2) {
      ASSIGN_OR_RETURN(std::unique_ptr<Product> product,
                       PlanPart(part, inner, columns, transpose_y));
      // What is packed begins where a cache line does.
      const int64_t bytes = (product->packed_bytes() + 63) / 64 * 64;
      products.parts_.push_back({part, products.packed_bytes_, std::move(product)});
      products.packed_bytes_ += bytes;
      if (part == 1 || (part + 1) / 2 < rows.back()) break;
    }
    return products;
  }

  int64_t weight_size() const { return inner_ * columns_; }
  int64_t packed_bytes() const { return packed_bytes_; }
  std::string implementation() const { return parts_.front().product->implementation(); }

  // The forms of all parts, one after another.
  std::string packed_form() const {
    std::string form;
    for (const Part& part : parts_) {
      const std::string of_part = PackedFormOf(*part.product);
      if (of_part.empty()) return "";
      absl::StrAppend(&form, of_part, ";");
    }
    return form;
  }

  void Pack(absl::Span<const float> weights, absl::Span<uint8_t> packed) {
    for (Part& part : parts_) {
      part.product->Pack(weights, packed.subspan(part.offset, part.product->packed_bytes()));
    }
  }

  // out = x * weights for the first `rows` rows; others of the batch may be computed too.
  void Run(int64_t rows, const float* x, absl::Span<const uint8_t> packed, float* out) {
    Part* part = &parts_.front();
    for (Part& smaller : parts_) {
      if (smaller.rows >= rows) part = &smaller;
    }
    part->product->Run({x, static_cast<size_t>(part->rows * inner_)},
                       packed.subspan(part->offset, part->product->packed_bytes()), {},
                       {out, static_cast<size_t>(part->rows * columns_)});
  }

 private:
  struct Part {
    int64_t rows;
    int64_t offset;
    std::unique_ptr<Product> product;
  };

  RowProducts(int64_t inner, int64_t columns) : inner_(inner), columns_(columns) {}

  static absl::StatusOr<std::unique_ptr<Product>> PlanPart(int64_t rows, int64_t inner,
                                                           int64_t columns, bool transpose_y) {
    ProductShape shape{1, rows, inner, columns};
    shape.transpose_y = transpose_y;
    RETURN_IF_ERROR(CheckShape(shape));
    std::unique_ptr<Product> of_row;
    if (rows == 1) of_row = PlanRowProduct(inner, columns, transpose_y);
    if (of_row != nullptr) return of_row;
    return Product::Plan(shape);
  }

  std::vector<Part> parts_;
  int64_t inner_;
  int64_t columns_;
  int64_t packed_bytes_ = 0;
};

// Up to two matrices, one after the other.
class PackedProducts {
 public:
  // Forth, with W; or back, with W^T.
  static absl::StatusOr<PackedProducts> Plan(const RecurrenceShape& shape, bool is_back) {
    const int64_t width = shape.cell.width;
    const int64_t columns = IsGru(shape) ? 2 * width : shape.cell.columns();
    const bool transpose_y = shape.is_transposed != is_back;
    PackedProducts products;
    const auto plan = [&](int64_t gates) {
      return is_back ? RowProducts::Plan(shape.rows, gates, width, transpose_y)
                     : RowProducts::Plan(shape.rows, width, gates, transpose_y);
    };
    ASSIGN_OR_RETURN(products.first_, plan(columns));
    if (IsGru(shape)) {
      ASSIGN_OR_RETURN(products.second_, plan(width));
    }
    return products;
  }

  int64_t packed_bytes() const {
    return first_->packed_bytes() + (second_ ? second_->packed_bytes() : 0);
  }
  std::string implementation() const { return first_->implementation(); }

  std::string packed_form() const {
    const std::string first = first_->packed_form();
    if (!second_ || first.empty()) return first;
    const std::string second = second_->packed_form();
    return second.empty() ? "" : absl::StrCat(first, "then ", second);
  }

  void Pack(absl::Span<const float> weights, absl::Span<uint8_t> packed) {
    first_->Pack(weights.subspan(0, first_->weight_size()),
                 packed.subspan(0, first_->packed_bytes()));
    if (!second_) return;
    second_->Pack(weights.subspan(first_->weight_size()), packed.subspan(first_->packed_bytes()));
  }

  void RunFirst(int64_t rows, const float* x, absl::Span<const uint8_t> packed, float* out) {
    first_->Run(rows, x, packed.subspan(0, first_->packed_bytes()), out);
  }
  void RunSecond(int64_t rows, const float* x, absl::Span<const uint8_t> packed, float* out) {
    second_->Run(rows, x, packed.subspan(first_->packed_bytes()), out);
  }

 private:
  std::optional<RowProducts> first_;
  std::optional<RowProducts> second_;
};

class PlannedRecurrence final : public Recurrence, public HasPackedForm {
 public:
  PlannedRecurrence(const RecurrenceShape& shape, PackedProducts products)
      : steps_(shape), products_(std::move(products)) {}

  int64_t scratch_size() const override { return steps_.scratch_size(); }
  int64_t packed_bytes() const override { return products_.packed_bytes(); }
  std::string packed_form() const override { return products_.packed_form(); }
  void Pack(absl::Span<const float> weights, absl::Span<uint8_t> packed) override {
    products_.Pack(weights, packed);
  }
  std::string implementation() const override { return products_.implementation(); }

  void Run(absl::Span<const float> sums, absl::Span<const uint8_t> weights,
           const RecurrenceInputs& inputs, const RecurrenceStates& states,
           absl::Span<float> scratch) override {
    RunSteps(
        steps_, sums, inputs, states, scratch,
        [&](int64_t rows, const float* x, float* out) {
          products_.RunFirst(rows, AsMultiplied(rows, x), weights, out);
        },
        [&](int64_t rows, const float* x, float* out) {
          products_.RunSecond(rows, AsMultiplied(rows, x), weights, out);
        });
  }

 private:
  // The state as W reads it.
  const float* AsMultiplied(int64_t rows, const float* state) {
    const RecurrenceShape& shape = steps_.shape();
    if (shape.state_bits == 0) return state;
    rounded_.resize(shape.batch() * shape.cell.width);
    RoundStates(shape.state_bits, rows * shape.cell.width, state, rounded_.data());
    return rounded_.data();
  }

  const Steps steps_;
  PackedProducts products_;
  std::vector<float> rounded_;
};

class PlannedGradient final : public RecurrenceGradient {
 public:
  PlannedGradient(const RecurrenceShape& shape, PackedProducts products)
      : steps_(shape), products_(std::move(products)) {}

  int64_t scratch_size() const override { return steps_.scratch_size(); }
  int64_t packed_bytes() const override { return products_.packed_bytes(); }
  void Pack(absl::Span<const float> weights, absl::Span<uint8_t> packed) override {
    products_.Pack(weights, packed);
  }
  std::string implementation() const override { return products_.implementation(); }

  void Run(absl::Span<const uint8_t> weights, const RecurrenceInputs& inputs,
           const RecurrenceStates& states, const RecurrenceGradients& gradients,
           absl::Span<float> scratch) override {
    const RecurrenceShape& shape = steps_.shape();
    const RecurrentCell& cell = shape.cell;
    const int64_t width = cell.width;
    CHECK_EQ(static_cast<int64_t>(scratch.size()), scratch_size());
    float* const of_state = scratch.data();
    float* const dproducts = of_state + shape.batch() * width;
    std::fill(scratch.begin(), scratch.end(), 0.0f);
    float* const dhidden = gradients.dlast.data();
    for (size_t i = steps_.count(); i-- > 0;) {
      const int64_t offset = steps_.OffsetOf(i);
      CellStepBack step;
      step.step = steps_.At(i);
      step.rows = shape.rows[step.step];
      step.lengths = inputs.lengths.data();
      step.gates = states.gates.data() + offset * cell.columns();
      step.cells = steps_.FromRow(states.cells, offset);
      step.inner = steps_.FromRow(states.inner, offset);
      step.peepholes = inputs.peepholes.data();
      step.hidden_before = steps_.Before(i, inputs.first_hidden, states.hidden);
      step.cell_before = steps_.Before(i, inputs.first_cell, states.cells);
      step.dstates = gradients.dhidden.data() + offset * width;
      step.dhidden = dhidden;
      step.dcell = gradients.dcell.data();
      step.dproducts = dproducts;
      step.dsums = gradients.dsums.data() + offset * cell.columns();
      step.dpeepholes = steps_.FromRow(gradients.dpeepholes, 3 * offset);
      float* const before = gradients.before.data() + offset * width;
      if (shape.state_bits != 0) {
        RoundStates(shape.state_bits, step.rows * width, step.hidden_before, before);
      } else {
        std::copy_n(step.hidden_before, step.rows * width, before);
      }
      if (IsGru(shape)) {
        RunGruStateBack(cell, step);
        products_.RunSecond(step.rows, dproducts, weights, of_state);
        RunGruGatesBack(cell, step, of_state);
      } else {
        RunCellBack(cell, step);
        if (!gradients.dproducts.empty()) {
          std::copy_n(dproducts, step.rows * cell.columns(),
                      gradients.dproducts.data() + offset * cell.columns());
        }
      }
      products_.RunFirst(step.rows, dproducts, weights, of_state);
      AddUp(step.rows * width, dhidden, of_state, dhidden);
    }
  }

 private:
  const Steps steps_;
  PackedProducts products_;
};

}  // namespace

int64_t RecurrenceShape::all_rows() const {
  return std::accumulate(rows.begin(), rows.end(), int64_t{0});
}

absl::StatusOr<std::unique_ptr<Recurrence>> Recurrence::Plan(const RecurrenceShape& shape) {
  CheckSteps(shape);
  ASSIGN_OR_RETURN(PackedProducts products, PackedProducts::Plan(shape, /*is_back=*/false));
  return std::make_unique<PlannedRecurrence>(shape, std::move(products));
}

absl::StatusOr<std::unique_ptr<RecurrenceGradient>> RecurrenceGradient::Plan(
    const RecurrenceShape& shape) {
  CheckSteps(shape);
  ASSIGN_OR_RETURN(PackedProducts products, PackedProducts::Plan(shape, /*is_back=*/true));
  return std::make_unique<PlannedGradient>(shape, std::move(products));
}

}  // namespace fixpoint::kernels
