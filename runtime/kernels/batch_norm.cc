#include "runtime/kernels/batch_norm.h"

#include "absl/strings/str_cat.h"
#include "ops/dims.h"
#include "proto/status_macros.h"
#include "runtime/kernels/onednn.h"

namespace fixpoint::kernels {
namespace {

using dnnl::memory;
using dnnl::normalization_flags;

memory::desc ImagesOf(const BatchNormShape& shape) {
  return ChannelsLast({shape.batch, shape.channels, shape.height, shape.width},
                      memory::data_type::f32);
}

normalization_flags FlagsOf(const BatchNormShape& shape) {
  normalization_flags flags = normalization_flags::use_scale | normalization_flags::use_shift;
  return shape.relu ? flags | normalization_flags::fuse_norm_relu : flags;
}

class TrainingBatchNorm final : public BatchNorm {
 public:
  explicit TrainingBatchNorm(const BatchNormShape& shape)
      : forward_desc_(Engine(), dnnl::prop_kind::forward_training, ImagesOf(shape), ImagesOf(shape),
                      shape.epsilon, FlagsOf(shape)),
        backward_desc_(Engine(), dnnl::prop_kind::backward, ImagesOf(shape), ImagesOf(shape),
                       ImagesOf(shape), shape.epsilon, FlagsOf(shape), forward_desc_),
        forward_(forward_desc_),
        backward_(backward_desc_),
        mask_size_(shape.relu ? static_cast<int64_t>(forward_desc_.workspace_desc().get_size())
                              : 0),
        x_(Anywhere(forward_desc_.src_desc())),
        y_(Anywhere(forward_desc_.dst_desc())),
        dx_(Anywhere(backward_desc_.diff_src_desc())),
        scale_(OfChannels(shape)),
        bias_(OfChannels(shape)),
        mean_(OfChannels(shape)),
        variance_(OfChannels(shape)),
        dscale_(OfChannels(shape)),
        dbias_(OfChannels(shape)),
        mask_(Anywhere(forward_desc_.workspace_desc())) {}

  int64_t mask_size() const override { return mask_size_; }

  void Forward(absl::Span<const float> x, absl::Span<const float> scale,
               absl::Span<const float> bias, absl::Span<float> y, absl::Span<float> mean,
               absl::Span<float> variance, absl::Span<uint8_t> mask) override {
    Point(x_, x);
    Point(y_, y);
    Point(scale_, scale);
    Point(bias_, bias);
    Point(mean_, mean);
    Point(variance_, variance);
    if (mask_size_ > 0) Point(mask_, mask);
    forward_.execute(Stream(), {{DNNL_ARG_SRC, x_},
                                {DNNL_ARG_DST, y_},
                                {DNNL_ARG_SCALE, scale_},
                                {DNNL_ARG_SHIFT, bias_},
                                {DNNL_ARG_MEAN, mean_},
                                {DNNL_ARG_VARIANCE, variance_},
                                {DNNL_ARG_WORKSPACE, mask_}});
    Stream().wait();
  }

  void Backward(absl::Span<const float> x, absl::Span<const float> dy,
                absl::Span<const float> scale, absl::Span<const float> mean,
                absl::Span<const float> variance, absl::Span<const uint8_t> mask,
                absl::Span<float> dx, absl::Span<float> dscale, absl::Span<float> dbias) override {
    Point(x_, x);
    Point(y_, dy);
    Point(dx_, dx);
    Point(scale_, scale);
    Point(mean_, mean);
    Point(variance_, variance);
    Point(dscale_, dscale);
    Point(dbias_, dbias);
    if (mask_size_ > 0) Point(mask_, mask);
    backward_.execute(Stream(), {{DNNL_ARG_SRC, x_},
                                 {DNNL_ARG_DIFF_DST, y_},
                                 {DNNL_ARG_DIFF_SRC, dx_},
                                 {DNNL_ARG_SCALE, scale_},
                                 {DNNL_ARG_MEAN, mean_},
                                 {DNNL_ARG_VARIANCE, variance_},
                                 {DNNL_ARG_WORKSPACE, mask_},
                                 {DNNL_ARG_DIFF_SCALE, dscale_},
                                 {DNNL_ARG_DIFF_SHIFT, dbias_}});
    Stream().wait();
  }

  std::string implementation() const override {
    return absl::StrCat(forward_desc_.impl_info_str(), " ", backward_desc_.impl_info_str());
  }

 private:
  static memory OfChannels(const BatchNormShape& shape) {
    return Anywhere(RowMajor({shape.channels}, memory::data_type::f32));
  }

  dnnl::batch_normalization_forward::primitive_desc forward_desc_;
  dnnl::batch_normalization_backward::primitive_desc backward_desc_;
  dnnl::batch_normalization_forward forward_;
  dnnl::batch_normalization_backward backward_;
  const int64_t mask_size_;
  memory x_;
  memory y_;  // or its gradient
  memory dx_;
  memory scale_;
  memory bias_;
  memory mean_;
  memory variance_;
  memory dscale_;
  memory dbias_;
  memory mask_;
};

}  // namespace

absl::StatusOr<std::unique_ptr<BatchNorm>> BatchNorm::Plan(const BatchNormShape& shape) {
  const Dims dims = {shape.batch, shape.channels, shape.height, shape.width};
  ASSIGN_OR_RETURN(const int64_t size, ElementCount(dims));
  if (size < 1) {
    return absl::InvalidArgumentError(
        absl::StrCat("a batch normalization of ", DimsText(dims), "; want 1 or more of each"));
  }
  try {
    return std::make_unique<TrainingBatchNorm>(shape);
  } catch (const dnnl::error& error) {
    return CannotPlan("a batch normalization", error);
  }
}

}  // namespace fixpoint::kernels
