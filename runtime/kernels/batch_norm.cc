#include "runtime/kernels/batch_norm.h"

#include "absl/strings/str_cat.h"
#include "proto/status_macros.h"
#include "runtime/kernels/extents.h"
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
        mask_size_(shape.relu ? static_cast<int64_t>(forward_desc_.workspace_desc().get_size())
                              : 0),
        x_(Operand::Elsewhere(forward_desc_.src_desc())),
        y_(Operand::Elsewhere(forward_desc_.dst_desc())),
        dx_(Operand::Elsewhere(backward_desc_.diff_src_desc())),
        scale_(OfChannels(shape)),
        bias_(OfChannels(shape)),
        mean_(OfChannels(shape)),
        variance_(OfChannels(shape)),
        dscale_(OfChannels(shape)),
        dbias_(OfChannels(shape)),
        mask_(Operand::Elsewhere(forward_desc_.workspace_desc())),
        forward_(dnnl::batch_normalization_forward(forward_desc_), {{DNNL_ARG_SRC, x_},
                                                                    {DNNL_ARG_DST, y_},
                                                                    {DNNL_ARG_SCALE, scale_},
                                                                    {DNNL_ARG_SHIFT, bias_},
                                                                    {DNNL_ARG_MEAN, mean_},
                                                                    {DNNL_ARG_VARIANCE, variance_},
                                                                    {DNNL_ARG_WORKSPACE, mask_}}),
        backward_(dnnl::batch_normalization_backward(backward_desc_),
                  {{DNNL_ARG_SRC, x_},
                   {DNNL_ARG_DIFF_DST, y_},
                   {DNNL_ARG_DIFF_SRC, dx_},
                   {DNNL_ARG_SCALE, scale_},
                   {DNNL_ARG_MEAN, mean_},
                   {DNNL_ARG_VARIANCE, variance_},
                   {DNNL_ARG_WORKSPACE, mask_},
                   {DNNL_ARG_DIFF_SCALE, dscale_},
                   {DNNL_ARG_DIFF_SHIFT, dbias_}}) {}

  int64_t mask_size() const override { return mask_size_; }

  void Forward(absl::Span<const float> x, absl::Span<const float> scale,
               absl::Span<const float> bias, absl::Span<float> y, absl::Span<float> mean,
               absl::Span<float> variance, absl::Span<uint8_t> mask) override {
    x_.PointTo(x);
    y_.PointTo(y);
    scale_.PointTo(scale);
    bias_.PointTo(bias);
    mean_.PointTo(mean);
    variance_.PointTo(variance);
    mask_.PointTo(mask);
    forward_.Run();
  }

  void Backward(absl::Span<const float> x, absl::Span<const float> dy,
                absl::Span<const float> scale, absl::Span<const float> mean,
                absl::Span<const float> variance, absl::Span<const uint8_t> mask,
                absl::Span<float> dx, absl::Span<float> dscale, absl::Span<float> dbias) override {
    x_.PointTo(x);
    y_.PointTo(dy);
    dx_.PointTo(dx);
    scale_.PointTo(scale);
    mean_.PointTo(mean);
    variance_.PointTo(variance);
    dscale_.PointTo(dscale);
    dbias_.PointTo(dbias);
    mask_.PointTo(mask);
    backward_.Run();
  }

  std::string implementation() const override {
    return absl::StrCat(forward_desc_.impl_info_str(), " ", backward_desc_.impl_info_str());
  }

 private:
  static Operand OfChannels(const BatchNormShape& shape) {
    return Operand::Elsewhere(RowMajor({shape.channels}, memory::data_type::f32));
  }

  dnnl::batch_normalization_forward::primitive_desc forward_desc_;
  dnnl::batch_normalization_backward::primitive_desc backward_desc_;
  const int64_t mask_size_;
  Operand x_;
  Operand y_;  // or its gradient
  Operand dx_;
  Operand scale_;
  Operand bias_;
  Operand mean_;
  Operand variance_;
  Operand dscale_;
  Operand dbias_;
  Operand mask_;
  Execution forward_;
  Execution backward_;
};

}  // namespace

absl::StatusOr<std::unique_ptr<BatchNorm>> BatchNorm::Plan(const BatchNormShape& shape) {
  RETURN_IF_ERROR(CheckExtents("images", {shape.batch, shape.channels, shape.height, shape.width}));
  return Planned("a batch normalization", [&]() -> std::unique_ptr<BatchNorm> {
    return std::make_unique<TrainingBatchNorm>(shape);
  });
}

}  // namespace fixpoint::kernels
