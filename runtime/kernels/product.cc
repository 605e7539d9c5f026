#include "runtime/kernels/product.h"

#include <glog/logging.h>

#include "proto/status_macros.h"
#include "runtime/kernels/onednn.h"
#include "runtime/kernels/product_descs.h"

namespace fixpoint::kernels {
namespace {

using dnnl::memory;

class FloatProduct final : public Product {
 public:
  explicit FloatProduct(const ProductShape& shape)
      : desc_(ProductDesc(shape, memory::data_type::f32, memory::data_type::f32)),
        primitive_(desc_),
        x_(Anywhere(desc_.src_desc())),
        y_(Anywhere(YDesc(shape, memory::data_type::f32))),
        packed_(desc_.weights_desc(), Engine()),
        pack_(y_, packed_),
        out_(Anywhere(desc_.dst_desc())) {}

  void Run(absl::Span<const float> x, absl::Span<const float> y, absl::Span<float> out) override {
    Point(x_, x);
    Point(y_, y);
    Point(out_, out);
    pack_.execute(Stream(), y_, packed_);
    primitive_.execute(Stream(),
                       {{DNNL_ARG_SRC, x_}, {DNNL_ARG_WEIGHTS, packed_}, {DNNL_ARG_DST, out_}});
    Stream().wait();
  }

  std::string implementation() const override { return desc_.impl_info_str(); }

 private:
  dnnl::matmul::primitive_desc desc_;
  dnnl::matmul primitive_;
  memory x_;
  memory y_;
  memory packed_;
  dnnl::reorder pack_;
  memory out_;
};

}  // namespace

absl::StatusOr<std::unique_ptr<Product>> Product::Plan(const ProductShape& shape) {
  RETURN_IF_ERROR(CheckShape(shape));
  try {
    return std::make_unique<FloatProduct>(shape);
  } catch (const dnnl::error& error) {
    return CannotPlan("a product", error);
  }
}

}  // namespace fixpoint::kernels
