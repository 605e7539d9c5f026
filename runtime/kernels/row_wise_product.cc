#include "runtime/kernels/row_wise_product.h"

#include <glog/logging.h>

#include <algorithm>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "proto/status_macros.h"
#include "runtime/kernels/instruction_set.h"
#include "runtime/kernels/integer_sums_plan.h"
#include "runtime/kernels/onednn.h"
#include "runtime/kernels/product_descs.h"

namespace fixpoint::kernels {
namespace {

using dnnl::memory;

// sum(x * y), in 32 bits.
class Sums : public PacksWeights<int8_t> {
 public:
  virtual void Run(absl::Span<const uint8_t> x, absl::Span<const uint8_t> y,
                   absl::Span<int32_t> sums) = 0;
  virtual std::string implementation() const = 0;
};

// By instructions that add products of 8 bits in 32.
class SumsByInstructions final : public Sums {
 public:
  // Null: there are none.
  static std::unique_ptr<Sums> Plan(const ProductShape& shape, CodeType x) {
    if (!HasExactIntegerProducts()) return nullptr;
    auto desc = ProductDesc(shape, DataTypeOf(x), memory::data_type::s8, memory::data_type::s32);
    if (!ChooseExact(&desc)) return nullptr;
    return std::unique_ptr<Sums>(new SumsByInstructions(shape, DataTypeOf(x), desc));
  }

  int64_t packed_bytes() const override { return weights_.bytes(); }
  void Pack(absl::Span<const int8_t> codes, absl::Span<uint8_t> packed) override {
    plain_weights_.PointTo(codes);
    weights_.PointTo(packed);
    pack_.Run();
  }
  void Run(absl::Span<const uint8_t> x, absl::Span<const uint8_t> y,
           absl::Span<int32_t> sums) override {
    x_.PointTo(x);
    weights_.PointTo(y);
    sums_.PointTo(sums);
    add_up_.Run();
  }
  std::string implementation() const override { return implementation_; }

 private:
  SumsByInstructions(const ProductShape& shape, memory::data_type x,
                     const dnnl::matmul::primitive_desc& desc)
      : implementation_(desc.impl_info_str()),
        plain_weights_(Operand::Elsewhere(YDesc(shape, memory::data_type::s8))),
        weights_(Operand::Elsewhere(desc.weights_desc())),
        x_(Operand::Elsewhere(XDesc(shape, x))),
        sums_(Operand::Elsewhere(desc.dst_desc())),
        pack_(Reordering(plain_weights_, weights_)),
        add_up_(desc, {{DNNL_ARG_SRC, x_}, {DNNL_ARG_WEIGHTS, weights_}, {DNNL_ARG_DST, sums_}}) {}

  std::string implementation_;
  Operand plain_weights_;
  Operand weights_;
  Operand x_;
  Operand sums_;
  Execution pack_;
  Execution add_up_;
};

// By loops, of weights [inner, columns].
class SumsByLoops final : public Sums {
 public:
  SumsByLoops(const ProductShape& shape, CodeType x) : shape_(shape), x_(x) {}

  int64_t packed_bytes() const override { return shape_.y_size(); }
  void Pack(absl::Span<const int8_t> codes, absl::Span<uint8_t> packed) override {
    for (int64_t k = 0; k < shape_.inner; ++k) {
      for (int64_t c = 0; c < shape_.columns; ++c) {
        const int64_t from = shape_.transpose_y ? c * shape_.inner + k : k * shape_.columns + c;
        packed[k * shape_.columns + c] = static_cast<uint8_t>(codes[from]);
      }
    }
  }
  void Run(absl::Span<const uint8_t> x, absl::Span<const uint8_t> y,
           absl::Span<int32_t> sums) override {
    AddProducts(x, x_, {reinterpret_cast<const int8_t*>(y.data()), y.size()}, shape_.columns, sums);
  }
  std::string implementation() const override { return "loops"; }

 private:
  ProductShape shape_;
  CodeType x_;
};

class ExactRowWiseProduct final : public RowWiseProduct {
 public:
  ExactRowWiseProduct(const ProductShape& shape, CodeType x, std::unique_ptr<Sums> sums,
                      const Epilogue& epilogue, OutputType output)
      : x_(x),
        columns_(shape.columns),
        sums_(std::move(sums)),
        epilogue_(epilogue),
        output_(output),
        products_(shape.out_size()),
        row_sums_(shape.rows),
        elements_(shape.out_size()) {}

  int64_t packed_bytes() const override { return sums_->packed_bytes(); }
  void Pack(absl::Span<const int8_t> weights, absl::Span<uint8_t> packed) override {
    sums_->Pack(weights, packed);
  }

  void Run(absl::Span<const uint8_t> x, absl::Span<const uint8_t> y, const WeightColumns& columns,
           EpilogueOperands operands, Output out) override {
    CHECK(out.type() == output_);
    CHECK_EQ(static_cast<int64_t>(columns.scales.size()), columns_);
    CHECK_EQ(static_cast<int64_t>(columns.zero_points.size()), columns_);
    CHECK(columns.bias.empty() || static_cast<int64_t>(columns.bias.size()) == columns_);
    CHECK(columns.addends.empty() || static_cast<int64_t>(columns.addends.size()) == columns_);
    sums_->Run(x, y, absl::MakeSpan(products_));
    AddRows(x, x_, absl::MakeSpan(row_sums_));
    const absl::Span<float> elements = absl::MakeSpan(elements_);
    TakeOffZeroPoints(products_, row_sums_, columns, elements);
    Store(epilogue_, operands, elements, out);
  }

  std::string implementation() const override { return sums_->implementation(); }

 private:
  const CodeType x_;
  const int64_t columns_;
  const std::unique_ptr<Sums> sums_;
  const Epilogue epilogue_;
  const OutputType output_;
  std::vector<int32_t> products_;
  std::vector<int32_t> row_sums_;
  std::vector<float> elements_;
};

}  // namespace

int64_t LargestRowWiseSum(int64_t products, CodeType type) {
  return products * 255 * LargestMagnitude(type);
}

bool RowWiseSumsFit(int64_t products, CodeType type) {
  return products <= INT32_MAX / LargestRowWiseSum(1, type);
}

absl::Status CheckColumns(const WeightColumns& columns, int64_t largest_sum) {
  for (const int32_t zero_point : columns.zero_points) {
    if (zero_point >= -128 && zero_point <= 127) continue;
    return absl::InvalidArgumentError(
        absl::StrCat("a zero point is ", zero_point, "; want codes, -128 to 127"));
  }
  const int64_t limit = INT32_MAX - largest_sum;
  for (const int32_t bias : columns.bias) {
    if (bias >= -limit && bias <= limit) continue;
    return absl::InvalidArgumentError(absl::StrCat("a bias is ", bias, "; want ", -limit, " to ",
                                                   limit, ", which fit in 32 bits beside sums"));
  }
  return absl::OkStatus();
}

absl::StatusOr<std::unique_ptr<RowWiseProduct>> RowWiseProduct::Plan(const ProductShape& shape,
                                                                     CodeType x,
                                                                     const Epilogue& epilogue,
                                                                     OutputType output) {
  RETURN_IF_ERROR(CheckShape(shape));
  if (shape.batch != 1 || shape.transpose_x) {
    return absl::InvalidArgumentError("a row-wise product of several matrices; want one of each");
  }
  if (!RowWiseSumsFit(shape.inner, x)) {
    return absl::InvalidArgumentError(absl::StrCat(
        "a row-wise product with ", shape.inner,
        " products in a sum; want fewer, so that a sum of products of codes fits in 32 bits"));
  }
  return Planned("a row-wise product", [&]() -> std::unique_ptr<RowWiseProduct> {
    std::unique_ptr<Sums> sums = SumsByInstructions::Plan(shape, x);
    if (sums == nullptr) sums = std::make_unique<SumsByLoops>(shape, x);
    return std::make_unique<ExactRowWiseProduct>(shape, x, std::move(sums), epilogue, output);
  });
}

}  // namespace fixpoint::kernels
