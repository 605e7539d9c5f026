#include "runtime/kernels/integer_product.h"

#include <algorithm>
#include <vector>

#include "absl/strings/str_cat.h"
#include "proto/status_macros.h"
#include "runtime/kernels/instruction_set.h"
#include "runtime/kernels/onednn.h"
#include "runtime/kernels/product_descs.h"

namespace fixpoint::kernels {
namespace {

using dnnl::memory;

// By instructions that add products of 8 bits in 32.
class ExactPrimitive final : public IntegerProduct {
 public:
  ExactPrimitive(const ProductShape& shape, CodeType x)
      : desc_(DescOf(shape, x)),
        plain_y_(Operand::Elsewhere(YDesc(shape, memory::data_type::s8))),
        y_(Operand::Own(desc_.weights_desc())),
        x_(Operand::Elsewhere(desc_.src_desc())),
        scales_(Operand::Elsewhere(RowMajor({shape.columns}, memory::data_type::f32))),
        out_(Operand::Elsewhere(desc_.dst_desc())),
        pack_(Reordering(plain_y_, y_)),
        multiply_(dnnl::matmul(desc_), {{DNNL_ARG_SRC, x_},
                                        {DNNL_ARG_WEIGHTS, y_},
                                        {DNNL_ARG_ATTR_SCALES | DNNL_ARG_WEIGHTS, scales_},
                                        {DNNL_ARG_DST, out_}}) {}

  void SetY(absl::Span<const int8_t> codes) override {
    plain_y_.PointTo(codes);
    pack_.Run();
  }

  void Run(absl::Span<const uint8_t> x, absl::Span<const float> scales,
           absl::Span<float> out) override {
    x_.PointTo(x);
    scales_.PointTo(scales);
    out_.PointTo(out);
    multiply_.Run();
  }

  std::string implementation() const override { return desc_.impl_info_str(); }

 private:
  static dnnl::matmul::primitive_desc DescOf(const ProductShape& shape, CodeType x) {
    dnnl::primitive_attr attr;
    attr.set_scales_mask(DNNL_ARG_WEIGHTS, 1 << 2);
    return ProductDesc(shape, x == CodeType::kUint8 ? memory::data_type::u8 : memory::data_type::s8,
                       memory::data_type::s8, attr);
  }

  dnnl::matmul::primitive_desc desc_;
  Operand plain_y_;
  Operand y_;
  Operand x_;
  Operand scales_;
  Operand out_;
  Execution pack_;
  Execution multiply_;
};

// Of codes as floats, the terms of a sum shared out so that none is rounded.
class ExactFloats final : public IntegerProduct {
 public:
  ExactFloats(const ProductShape& shape, CodeType x)
      : shape_(shape),
        x_type_(x),
        desc_(ProductDesc(shape, memory::data_type::f32, memory::data_type::f32)),
        plain_y_(Operand::Own(YDesc(shape, memory::data_type::f32))),
        x_(Operand::Own(desc_.src_desc())),
        out_(Operand::Elsewhere(desc_.dst_desc())),
        parts_(shape.y_size(), 0) {}

  void SetY(absl::Span<const int8_t> codes) override {
    const int64_t row = shape_.transpose_y ? 1 : shape_.columns;
    const int64_t column = shape_.transpose_y ? shape_.inner : 1;
    part_count_ = 1;
    for (int64_t b = 0; b < shape_.batch; ++b) {
      for (int64_t c = 0; c < shape_.columns; ++c) {
        const int64_t begin = b * shape_.inner * shape_.columns + c * column;
        part_count_ = std::max(part_count_, ShareOut(codes, begin, row, shape_.inner, x_type_,
                                                     absl::MakeSpan(parts_)));
      }
    }
    while (static_cast<int>(products_.size()) < part_count_) {
      const Operand y = Operand::Own(desc_.weights_desc());
      products_.push_back(
          {Reordering(plain_y_, y),
           Execution(dnnl::matmul(desc_),
                     {{DNNL_ARG_SRC, x_}, {DNNL_ARG_WEIGHTS, y}, {DNNL_ARG_DST, out_}})});
    }
    float* const plain = plain_y_.data<float>();
    for (int part = 0; part < part_count_; ++part) {
      for (size_t i = 0; i < codes.size(); ++i) plain[i] = parts_[i] == part ? codes[i] : 0;
      products_[part].pack.Run();
    }
    if (part_count_ > 1) sums_.resize(shape_.out_size());
  }

  void Run(absl::Span<const uint8_t> x, absl::Span<const float> scales,
           absl::Span<float> out) override {
    CodesAsFloats(x, x_type_, x_.data<float>());
    out_.PointTo(out);
    for (int part = 0; part < part_count_; ++part) {
      products_[part].multiply.Run();
      if (part_count_ > 1) AddPart(part, part_count_, out, absl::MakeSpan(sums_));
    }
    ScaleColumns(scales, out);
  }

  std::string implementation() const override { return desc_.impl_info_str(); }

 private:
  // With a y of its own.
  struct PartProduct {
    Execution pack;
    Execution multiply;
  };

  ProductShape shape_;
  CodeType x_type_;
  dnnl::matmul::primitive_desc desc_;
  Operand plain_y_;
  Operand x_;
  Operand out_;
  std::vector<int> parts_;             // that each element of y belongs to
  std::vector<PartProduct> products_;  // of each part
  int part_count_ = 0;
  std::vector<int32_t> sums_;
};

}  // namespace

absl::StatusOr<std::unique_ptr<IntegerProduct>> IntegerProduct::Plan(const ProductShape& shape,
                                                                     CodeType x) {
  RETURN_IF_ERROR(CheckShape(shape));
  if (!SumsFit(shape.inner, x)) {
    return absl::InvalidArgumentError(absl::StrCat(
        "a product with ", shape.inner,
        " products in a sum; want fewer, so that a sum of products of codes fits in 32 bits"));
  }
  try {
    if (HasExactIntegerProducts()) return std::make_unique<ExactPrimitive>(shape, x);
    return std::make_unique<ExactFloats>(shape, x);
  } catch (const dnnl::error& error) {
    return CannotPlan("a product of codes", error);
  }
}

}  // namespace fixpoint::kernels
