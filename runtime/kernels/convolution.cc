#include "runtime/kernels/convolution.h"

#include <string>

#include "proto/status_macros.h"
#include "runtime/kernels/convolution_descs.h"
#include "runtime/kernels/onednn.h"

namespace fixpoint::kernels {
namespace {

using dnnl::memory;

memory RowMajorFilters(const ConvolutionShape& shape) {
  return Anywhere(RowMajor(FilterDims(shape), memory::data_type::f32));
}

class Forward final : public ConvolutionForward {
 public:
  explicit Forward(const ConvolutionShape& shape)
      : desc_(ForwardDesc(shape, memory::data_type::f32, memory::data_type::f32)),
        primitive_(desc_),
        filters_(RowMajorFilters(shape)),
        packed_(desc_.weights_desc(), Engine()),
        pack_(filters_, packed_),
        x_(Anywhere(desc_.src_desc())),
        y_(Anywhere(desc_.dst_desc())) {}

  void Run(absl::Span<const float> x, absl::Span<const float> filters,
           absl::Span<float> y) override {
    Point(x_, x);
    Point(filters_, filters);
    Point(y_, y);
    pack_.execute(Stream(), filters_, packed_);
    primitive_.execute(Stream(),
                       {{DNNL_ARG_SRC, x_}, {DNNL_ARG_WEIGHTS, packed_}, {DNNL_ARG_DST, y_}});
    Stream().wait();
  }

  std::string implementation() const override { return desc_.impl_info_str(); }

 private:
  dnnl::convolution_forward::primitive_desc desc_;
  dnnl::convolution_forward primitive_;
  memory filters_;
  memory packed_;
  dnnl::reorder pack_;
  memory x_;
  memory y_;
};

class BackwardImages final : public ConvolutionBackwardImages {
 public:
  explicit BackwardImages(const ConvolutionShape& shape)
      : desc_(BackwardImagesDesc(shape)),
        primitive_(desc_),
        filters_(RowMajorFilters(shape)),
        packed_(desc_.weights_desc(), Engine()),
        pack_(filters_, packed_),
        dy_(Anywhere(desc_.diff_dst_desc())),
        dx_(Anywhere(desc_.diff_src_desc())) {}

  void Run(absl::Span<const float> dy, absl::Span<const float> filters,
           absl::Span<float> dx) override {
    Point(dy_, dy);
    Point(filters_, filters);
    Point(dx_, dx);
    pack_.execute(Stream(), filters_, packed_);
    primitive_.execute(
        Stream(),
        {{DNNL_ARG_DIFF_DST, dy_}, {DNNL_ARG_WEIGHTS, packed_}, {DNNL_ARG_DIFF_SRC, dx_}});
    Stream().wait();
  }

  std::string implementation() const override { return desc_.impl_info_str(); }

 private:
  dnnl::convolution_backward_data::primitive_desc desc_;
  dnnl::convolution_backward_data primitive_;
  memory filters_;
  memory packed_;
  dnnl::reorder pack_;
  memory dy_;
  memory dx_;
};

class BackwardFilters final : public ConvolutionBackwardFilters {
 public:
  explicit BackwardFilters(const ConvolutionShape& shape)
      : desc_(BackwardFiltersDesc(shape)),
        primitive_(desc_),
        dfilters_(RowMajorFilters(shape)),
        packed_(desc_.diff_weights_desc(), Engine()),
        unpack_(packed_, dfilters_),
        x_(Anywhere(desc_.src_desc())),
        dy_(Anywhere(desc_.diff_dst_desc())) {}

  void Run(absl::Span<const float> x, absl::Span<const float> dy,
           absl::Span<float> dfilters) override {
    Point(x_, x);
    Point(dy_, dy);
    Point(dfilters_, dfilters);
    primitive_.execute(
        Stream(), {{DNNL_ARG_SRC, x_}, {DNNL_ARG_DIFF_DST, dy_}, {DNNL_ARG_DIFF_WEIGHTS, packed_}});
    unpack_.execute(Stream(), packed_, dfilters_);
    Stream().wait();
  }

  std::string implementation() const override { return desc_.impl_info_str(); }

 private:
  dnnl::convolution_backward_weights::primitive_desc desc_;
  dnnl::convolution_backward_weights primitive_;
  memory dfilters_;
  memory packed_;
  dnnl::reorder unpack_;
  memory x_;
  memory dy_;
};

template <typename Kernel, typename Made>
absl::StatusOr<std::unique_ptr<Kernel>> PlanFor(ConvolutionShape& shape) {
  RETURN_IF_ERROR(CompleteShape(&shape));
  try {
    return std::make_unique<Made>(shape);
  } catch (const dnnl::error& error) {
    return CannotPlan("a convolution", error);
  }
}

}  // namespace

absl::StatusOr<std::unique_ptr<ConvolutionForward>> ConvolutionForward::Plan(
    ConvolutionShape shape) {
  return PlanFor<ConvolutionForward, Forward>(shape);
}

absl::StatusOr<std::unique_ptr<ConvolutionBackwardImages>> ConvolutionBackwardImages::Plan(
    ConvolutionShape shape) {
  return PlanFor<ConvolutionBackwardImages, BackwardImages>(shape);
}

absl::StatusOr<std::unique_ptr<ConvolutionBackwardFilters>> ConvolutionBackwardFilters::Plan(
    ConvolutionShape shape) {
  return PlanFor<ConvolutionBackwardFilters, BackwardFilters>(shape);
}

}  // namespace fixpoint::kernels
