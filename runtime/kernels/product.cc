#include "runtime/kernels/product.h"

#include <glog/logging.h>

#include <algorithm>
#include <cstddef>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "proto/base/status_macros.h"
#include "runtime/kernels/epilogue_post_ops.h"
#include "runtime/kernels/many_shapes.h"
#include "runtime/kernels/onednn.h"
#include "runtime/kernels/onednn_packed_form.h"
#include "runtime/kernels/packed_form.h"
#include "runtime/kernels/product_descs.h"
#include "runtime/kernels/product_parts.h"
#include "runtime/kernels/tiled_product.h"

namespace fixpoint::kernels {
namespace {

using dnnl::memory;

constexpr auto kFloat = memory::data_type::f32;

class FloatProduct final : public Product, public HasPackedForm {
 public:
  // The primitive computes `epilogue`, and loops after it compute `after`; one of the two is empty.
  FloatProduct(const ProductShape& shape, const Epilogue& epilogue, const Epilogue& after)
      : epilogue_(epilogue, OutDesc(shape), kColumnAxis),
        after_(after),
        desc_(ProductDesc(shape, kFloat, kFloat, kFloat, epilogue_.attr())),
        x_(Operand::Elsewhere(desc_.src_desc())),
        y_(Operand::Elsewhere(YDesc(shape, memory::data_type::f32))),
        packed_(Operand::Elsewhere(desc_.weights_desc())),
        out_(Operand::Elsewhere(desc_.dst_desc())),
        pack_(Reordering(y_, packed_)),
        multiply_(desc_,
                  epilogue_.With(
                      {{DNNL_ARG_SRC, x_}, {DNNL_ARG_WEIGHTS, packed_}, {DNNL_ARG_DST, out_}})) {}

  int64_t packed_bytes() const override { return packed_.bytes(); }
  std::string packed_form() const override {
    return FormOfReordering(y_.memory().get_desc(), packed_.memory().get_desc());
  }
  bool reads_plain_weights() const override {
    return packed_.memory().get_desc() == y_.memory().get_desc();
  }
  void Pack(absl::Span<const float> y, absl::Span<uint8_t> packed) override {
    y_.PointTo(y);
    packed_.PointTo(packed);
    pack_.Run();
  }

  void Run(absl::Span<const float> x, absl::Span<const uint8_t> y, EpilogueOperands operands,
           absl::Span<float> out) override {
    x_.PointTo(x);
    packed_.PointTo(y);
    if (after_.empty()) epilogue_.PointTo(operands);
    out_.PointTo(out);
    multiply_.Run();
    if (!after_.empty()) Apply(after_, operands, out);
  }

  std::string implementation() const override {
    return absl::StrCat(desc_.impl_info_str(), after_.empty() ? "" : "+loops");
  }

 private:
  EpiloguePostOps epilogue_;
  const Epilogue after_;
  dnnl::matmul::primitive_desc desc_;
  Operand x_;
  Operand y_;
  Operand packed_;
  Operand out_;
  Execution pack_;
  Execution multiply_;
};

// In parts, which read y as it lies.
class FloatProductInParts final : public Product, public HasPackedForm {
 public:
  FloatProductInParts(const ProductShape& shape, const Epilogue& after)
      : y_(YDesc(shape, kFloat)), y_size_(shape.y_size()), after_(after), parts_(shape, kFloat) {}

  int64_t packed_bytes() const override { return y_size_ * static_cast<int64_t>(sizeof(float)); }
  std::string packed_form() const override { return FormOfReordering(y_, y_); }
  bool reads_plain_weights() const override { return true; }
  void Pack(absl::Span<const float> y, absl::Span<uint8_t> packed) override {
    CHECK_EQ(static_cast<int64_t>(packed.size()), packed_bytes());
    std::copy(y.begin(), y.end(), reinterpret_cast<float*>(packed.data()));
  }

  void Run(absl::Span<const float> x, absl::Span<const uint8_t> y, EpilogueOperands operands,
           absl::Span<float> out) override {
    CHECK_EQ(static_cast<int64_t>(y.size()), packed_bytes());
    const auto* const numbers = reinterpret_cast<const float*>(y.data());
    parts_.Run<float>(x, {numbers, static_cast<size_t>(y_size_)}, out);
    if (!after_.empty()) Apply(after_, operands, out);
  }

  std::string implementation() const override {
    return absl::StrCat(parts_.implementation(), after_.empty() ? "" : "+loops");
  }

 private:
  const memory::desc y_;
  const int64_t y_size_;
  const Epilogue after_;
  ProductParts parts_;
};

}  // namespace

absl::StatusOr<std::unique_ptr<Product>> Product::Plan(const ProductShape& shape,
                                                       const Epilogue& epilogue) {
  RETURN_IF_ERROR(CheckShape(shape));
  if (AreForManyShapes() && HasTiles(shape)) {
    auto tiled = PlanTiledProduct(shape, epilogue);
    if (!absl::IsUnimplemented(tiled.status())) return tiled;
  }
  const auto plan = [&](const Epilogue& stages, const Epilogue& after) {
    return Planned("a product", [&]() -> std::unique_ptr<Product> {
      return std::make_unique<FloatProduct>(shape, stages, after);
    });
  };
  ASSIGN_OR_RETURN(const bool splits_sums, Planned("a product", [&] {
                     return SplitsSums(shape, ProductDesc(shape, kFloat, kFloat, kFloat));
                   }));
  if (splits_sums) {
    return Planned("a product", [&]() -> std::unique_ptr<Product> {
      return std::make_unique<FloatProductInParts>(shape, epilogue);
    });
  }
  auto fused = CheckFused(epilogue, plan(epilogue, {}));
  if (!absl::IsUnimplemented(fused.status()) || epilogue.empty()) return fused;
  return plan({}, epilogue);
}

}  // namespace fixpoint::kernels
