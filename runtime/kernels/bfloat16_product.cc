#include "runtime/kernels/bfloat16_product.h"

#include <glog/logging.h>

#include <algorithm>
#include <cstddef>

#include "proto/base/status_macros.h"
#include "runtime/kernels/onednn.h"
#include "runtime/kernels/product_descs.h"
#include "runtime/kernels/product_parts.h"

namespace fixpoint::kernels {
namespace {

constexpr auto kBfloat16 = dnnl::memory::data_type::bf16;

dnnl::matmul::primitive_desc DescOf(const ProductShape& shape) {
  return ProductDesc(shape, kBfloat16, kBfloat16, dnnl::memory::data_type::f32);
}

class PlannedProduct final : public Bfloat16Product {
 public:
  explicit PlannedProduct(const ProductShape& shape)
      : desc_(DescOf(shape)),
        x_(Operand::Elsewhere(desc_.src_desc())),
        y_(Operand::Elsewhere(YDesc(shape, kBfloat16))),
        packed_(Operand::Elsewhere(desc_.weights_desc())),
        out_(Operand::Elsewhere(desc_.dst_desc())),
        pack_(Reordering(y_, packed_)),
        multiply_(desc_, {{DNNL_ARG_SRC, x_}, {DNNL_ARG_WEIGHTS, packed_}, {DNNL_ARG_DST, out_}}) {}

  int64_t packed_bytes() const override { return packed_.bytes(); }
  bool reads_plain_weights() const override {
    return packed_.memory().get_desc() == y_.memory().get_desc();
  }
  void Pack(absl::Span<const Bfloat16> y, absl::Span<uint8_t> packed) override {
    y_.PointTo(y);
    packed_.PointTo(packed);
    pack_.Run();
  }

  void Run(absl::Span<const Bfloat16> x, absl::Span<const uint8_t> y,
           absl::Span<float> out) override {
    x_.PointTo(x);
    packed_.PointTo(y);
    out_.PointTo(out);
    multiply_.Run();
  }

  std::string implementation() const override { return desc_.impl_info_str(); }

 private:
  dnnl::matmul::primitive_desc desc_;
  Operand x_;
  Operand y_;
  Operand packed_;
  Operand out_;
  Execution pack_;
  Execution multiply_;
};

// In parts, which read y as it lies.
class ProductInParts final : public Bfloat16Product {
 public:
  explicit ProductInParts(const ProductShape& shape)
      : y_size_(shape.y_size()), parts_(shape, kBfloat16) {}

  int64_t packed_bytes() const override { return y_size_ * static_cast<int64_t>(sizeof(Bfloat16)); }
  bool reads_plain_weights() const override { return true; }
  void Pack(absl::Span<const Bfloat16> y, absl::Span<uint8_t> packed) override {
    CHECK_EQ(static_cast<int64_t>(packed.size()), packed_bytes());
    std::copy(y.begin(), y.end(), reinterpret_cast<Bfloat16*>(packed.data()));
  }

  void Run(absl::Span<const Bfloat16> x, absl::Span<const uint8_t> y,
           absl::Span<float> out) override {
    CHECK_EQ(static_cast<int64_t>(y.size()), packed_bytes());
    const auto* const numbers = reinterpret_cast<const Bfloat16*>(y.data());
    parts_.Run<Bfloat16>(x, {numbers, static_cast<size_t>(y_size_)}, out);
  }

  std::string implementation() const override { return parts_.implementation(); }

 private:
  const int64_t y_size_;
  ProductParts parts_;
};

}  // namespace

absl::StatusOr<std::unique_ptr<Bfloat16Product>> Bfloat16Product::Plan(const ProductShape& shape) {
  RETURN_IF_ERROR(CheckShape(shape));
  // oneDNN computes them without the instructions too, slowly.
  RETURN_IF_ERROR(CheckBfloat16Products());
  return Planned("a product", [&]() -> std::unique_ptr<Bfloat16Product> {
    if (SplitsSums(shape, DescOf(shape))) return std::make_unique<ProductInParts>(shape);
    return std::make_unique<PlannedProduct>(shape);
  });
}

}  // namespace fixpoint::kernels
