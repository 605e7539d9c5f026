#include "runtime/kernels/convolution.h"

#include <algorithm>
#include <string>
#include <type_traits>
#include <utility>

#include "absl/strings/str_cat.h"
#include "proto/base/status_macros.h"
#include "runtime/kernels/convolution_descs.h"
#include "runtime/kernels/epilogue_post_ops.h"
#include "runtime/kernels/float_depthwise.h"
#include "runtime/kernels/many_shapes.h"
#include "runtime/kernels/onednn.h"
#include "runtime/kernels/onednn_packed_form.h"
#include "runtime/kernels/packed_form.h"
#include "runtime/kernels/product.h"
#include "runtime/kernels/product_shape.h"
#include "runtime/kernels/tiled_product.h"

namespace fixpoint::kernels {
namespace {

using dnnl::memory;

constexpr auto kFloat = memory::data_type::f32;

Operand RowMajorFilters(const ConvolutionShape& shape) {
  return Operand::Elsewhere(RowMajor(FilterDims(shape), memory::data_type::f32));
}

class Forward final : public ConvolutionForward, public HasPackedForm {
 public:
  // The primitive computes `epilogue`, and loops after it compute `after`; one of the two is empty.
  Forward(const ConvolutionShape& shape, const Epilogue& epilogue, bool adds_to_output,
          const Epilogue& after)
      : epilogue_(epilogue, OutputDesc(shape), kChannelAxis, adds_to_output),
        after_(after),
        desc_(ForwardDesc(shape, kFloat, kFloat, kFloat, epilogue_.attr())),
        filters_(RowMajorFilters(shape)),
        packed_(Operand::Elsewhere(desc_.weights_desc())),
        x_(Operand::Elsewhere(desc_.src_desc())),
        y_(Operand::Elsewhere(desc_.dst_desc())),
        pack_(Reordering(filters_, packed_)),
        convolve_(
            desc_,
            epilogue_.With({{DNNL_ARG_SRC, x_}, {DNNL_ARG_WEIGHTS, packed_}, {DNNL_ARG_DST, y_}})) {
  }

  int64_t packed_bytes() const override { return packed_.bytes(); }
  std::string packed_form() const override {
    return FormOfReordering(filters_.memory().get_desc(), packed_.memory().get_desc());
  }
  void Pack(absl::Span<const float> filters, absl::Span<uint8_t> packed) override {
    filters_.PointTo(filters);
    packed_.PointTo(packed);
    pack_.Run();
  }

  void Run(absl::Span<const float> x, absl::Span<const uint8_t> filters, EpilogueOperands operands,
           absl::Span<float> y) override {
    x_.PointTo(x);
    packed_.PointTo(filters);
    if (after_.empty()) epilogue_.PointTo(operands);
    y_.PointTo(y);
    convolve_.Run();
    if (!after_.empty()) Apply(after_, operands, y);
  }

  std::string implementation() const override {
    return absl::StrCat(desc_.impl_info_str(), after_.empty() ? "" : "+loops");
  }

 private:
  EpiloguePostOps epilogue_;
  const Epilogue after_;
  dnnl::convolution_forward::primitive_desc desc_;
  Operand filters_;
  Operand packed_;
  Operand x_;
  Operand y_;
  Execution pack_;
  Execution convolve_;
};

template <typename T>
class BackwardImages final : public ConvolutionBackwardImages<T> {
 public:
  explicit BackwardImages(const ConvolutionShape& shape)
      : desc_(BackwardImagesDesc(shape, kTypeOf<T>)),
        filters_(RowMajorFilters(shape)),
        packed_(Operand::Elsewhere(desc_.weights_desc())),
        dy_(Operand::Elsewhere(desc_.diff_dst_desc())),
        dx_(Operand::Elsewhere(desc_.diff_src_desc())),
        pack_(Reordering(filters_, packed_)),
        convolve_(
            desc_,
            {{DNNL_ARG_DIFF_DST, dy_}, {DNNL_ARG_WEIGHTS, packed_}, {DNNL_ARG_DIFF_SRC, dx_}}) {}

  int64_t packed_bytes() const override { return packed_.bytes(); }
  void Pack(absl::Span<const float> filters, absl::Span<uint8_t> packed) override {
    filters_.PointTo(filters);
    packed_.PointTo(packed);
    pack_.Run();
  }

  void Run(absl::Span<const T> dy, absl::Span<const uint8_t> filters,
           absl::Span<float> dx) override {
    dy_.PointTo(dy);
    packed_.PointTo(filters);
    dx_.PointTo(dx);
    convolve_.Run();
  }

  std::string implementation() const override { return desc_.impl_info_str(); }

 private:
  dnnl::convolution_backward_data::primitive_desc desc_;
  Operand filters_;
  Operand packed_;
  Operand dy_;
  Operand dx_;
  Execution pack_;
  Execution convolve_;
};

// A convolution whose windows are one pixel each, as a product of pixels in tiles.
class ForwardInTiles final : public ConvolutionForward, public HasPackedForm {
 public:
  explicit ForwardInTiles(std::unique_ptr<Product> product) : product_(std::move(product)) {}

  int64_t packed_bytes() const override { return product_->packed_bytes(); }
  std::string packed_form() const override { return PackedFormOf(*product_); }
  void Pack(absl::Span<const float> filters, absl::Span<uint8_t> packed) override {
    product_->Pack(filters, packed);
  }
  void Run(absl::Span<const float> x, absl::Span<const uint8_t> filters, EpilogueOperands operands,
           absl::Span<float> y) override {
    product_->Run(x, filters, operands, y);
  }
  std::string implementation() const override { return product_->implementation(); }

 private:
  const std::unique_ptr<Product> product_;
};

// Of more channels than this oneDNN's convolutions of windows of one pixel add up blocks, where its
// products add all in one order.
constexpr int64_t kMostChannelsInOneOrder = 512;

// Error (kUnimplemented): there is none.
absl::StatusOr<std::unique_ptr<ConvolutionForward>> PlanForManyShapes(const ConvolutionShape& shape,
                                                                      const Epilogue& epilogue,
                                                                      bool adds_to_output) {
  // oneDNN begins the sums of dilated windows with the elements that it adds to.
  const bool is_dilated = std::any_of(shape.window.begin(), shape.window.end(),
                                      [](const WindowAxis& axis) { return axis.dilation != 1; });
  if (HasFloatDepthwise(shape, epilogue) && !(adds_to_output && is_dilated)) {
    return PlanFloatDepthwise(shape, epilogue, adds_to_output);
  }
  ProductShape pixels;
  pixels.rows = shape.batch * shape.height * shape.width;
  pixels.inner = shape.channels;
  pixels.columns = shape.filters;
  pixels.transpose_y = true;
  if (!shape.is_pointwise() || shape.groups != 1 || shape.channels > kMostChannelsInOneOrder ||
      !HasTiles(pixels)) {
    return absl::UnimplementedError("the kernel is for one shape");
  }
  ASSIGN_OR_RETURN(std::unique_ptr<Product> product,
                   PlanTiledProduct(pixels, epilogue, adds_to_output));
  return std::unique_ptr<ConvolutionForward>(new ForwardInTiles(std::move(product)));
}

template <typename Kernel, typename Made, typename... More>
absl::StatusOr<std::unique_ptr<Kernel>> PlanFor(ConvolutionShape& shape, const More&... more) {
  RETURN_IF_ERROR(CompleteShape(&shape));
  return Planned("a convolution", [&]() -> std::unique_ptr<Kernel> {
    return std::make_unique<Made>(shape, more...);
  });
}

// oneDNN computes products of bfloat16 without the instructions for them too, slowly.
template <typename T>
absl::Status CheckHasProducts() {
  return std::is_same_v<T, float> ? absl::OkStatus() : CheckBfloat16Products();
}

}  // namespace

absl::StatusOr<std::unique_ptr<ConvolutionForward>> ConvolutionForward::Plan(
    ConvolutionShape shape, const Epilogue& epilogue, bool adds_to_output) {
  RETURN_IF_ERROR(CompleteShape(&shape));
  if (HasFloatDepthwise(shape, epilogue) && IsFasterAsFloatDepthwise(shape)) {
    return PlanFloatDepthwise(shape, epilogue, adds_to_output);
  }
  if (AreForManyShapes()) {
    auto planned = PlanForManyShapes(shape, epilogue, adds_to_output);
    if (!absl::IsUnimplemented(planned.status())) return planned;
  }
  auto fused =
      CheckFused(epilogue, PlanFor<ConvolutionForward, Forward>(shape, epilogue, adds_to_output,
                                                                /*after=*/Epilogue()));
  if (!absl::IsUnimplemented(fused.status()) || epilogue.empty() || adds_to_output) return fused;
  return PlanFor<ConvolutionForward, Forward>(shape, Epilogue(), false, epilogue);
}

template <typename T>
absl::StatusOr<std::unique_ptr<ConvolutionBackwardImages<T>>> ConvolutionBackwardImages<T>::Plan(
    ConvolutionShape shape) {
  RETURN_IF_ERROR(CheckHasProducts<T>());
  return PlanFor<ConvolutionBackwardImages, BackwardImages<T>>(shape);
}
template class ConvolutionBackwardImages<float>;
template class ConvolutionBackwardImages<Bfloat16>;

}  // namespace fixpoint::kernels
