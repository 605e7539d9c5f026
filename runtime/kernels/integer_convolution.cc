#include "runtime/kernels/integer_convolution.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "proto/status_macros.h"
#include "runtime/kernels/convolution_descs.h"
#include "runtime/kernels/instruction_set.h"
#include "runtime/kernels/onednn.h"

namespace fixpoint::kernels {
namespace {

using dnnl::memory;

// By instructions that add products of 8 bits in 32.
class ExactPrimitive final : public IntegerConvolution {
 public:
  ExactPrimitive(const ConvolutionShape& shape, CodeType images)
      : desc_(DescOf(shape, images)),
        plain_filters_(Operand::Elsewhere(RowMajor(FilterDims(shape), memory::data_type::s8))),
        filters_(Operand::Own(desc_.weights_desc())),
        images_(Operand::Elsewhere(desc_.src_desc())),
        scales_(Operand::Elsewhere(RowMajor({shape.filters}, memory::data_type::f32))),
        y_(Operand::Elsewhere(desc_.dst_desc())),
        pack_(Reordering(plain_filters_, filters_)),
        convolve_(dnnl::convolution_forward(desc_),
                  {{DNNL_ARG_SRC, images_},
                   {DNNL_ARG_WEIGHTS, filters_},
                   {DNNL_ARG_ATTR_SCALES | DNNL_ARG_WEIGHTS, scales_},
                   {DNNL_ARG_DST, y_}}) {}

  void SetFilters(absl::Span<const int8_t> codes) override {
    plain_filters_.PointTo(codes);
    pack_.Run();
  }

  void Run(absl::Span<const uint8_t> images, absl::Span<const float> scales,
           absl::Span<float> y) override {
    images_.PointTo(images);
    scales_.PointTo(scales);
    y_.PointTo(y);
    convolve_.Run();
  }

  std::string implementation() const override { return desc_.impl_info_str(); }

 private:
  static dnnl::convolution_forward::primitive_desc DescOf(const ConvolutionShape& shape,
                                                          CodeType images) {
    dnnl::primitive_attr attr;
    attr.set_scales_mask(DNNL_ARG_WEIGHTS, shape.groups == 1 ? 1 : 3);
    return ForwardDesc(shape,
                       images == CodeType::kUint8 ? memory::data_type::u8 : memory::data_type::s8,
                       memory::data_type::s8, attr);
  }

  dnnl::convolution_forward::primitive_desc desc_;
  Operand plain_filters_;
  Operand filters_;
  Operand images_;
  Operand scales_;
  Operand y_;
  Execution pack_;
  Execution convolve_;
};

// Of codes as floats, which add integers exactly up to 2^24. Where the products of a filter can be
// more, its taps are shared out to several convolutions, whose sums are added as integers.
class ExactFloats final : public IntegerConvolution {
 public:
  ExactFloats(const ConvolutionShape& shape, CodeType images)
      : shape_(shape),
        images_type_(images),
        desc_(ForwardDesc(shape, memory::data_type::f32, memory::data_type::f32)),
        plain_filters_(Operand::Own(RowMajor(FilterDims(shape), memory::data_type::f32))),
        images_(Operand::Own(desc_.src_desc())),
        y_(Operand::Elsewhere(desc_.dst_desc())),
        parts_(shape.filter_size(), 0) {}

  void SetFilters(absl::Span<const int8_t> codes) override {
    part_count_ = 1;
    for (int64_t f = 0; f < shape_.filters; ++f) {
      part_count_ = std::max(part_count_, ShareOut(codes, f * shape_.taps(), 1, shape_.taps(),
                                                   images_type_, absl::MakeSpan(parts_)));
    }
    while (static_cast<int>(convolutions_.size()) < part_count_) {
      const Operand filters = Operand::Own(desc_.weights_desc());
      convolutions_.push_back(
          {Reordering(plain_filters_, filters),
           Execution(dnnl::convolution_forward(desc_),
                     {{DNNL_ARG_SRC, images_}, {DNNL_ARG_WEIGHTS, filters}, {DNNL_ARG_DST, y_}})});
    }
    float* const plain = plain_filters_.data<float>();
    for (int part = 0; part < part_count_; ++part) {
      for (size_t i = 0; i < codes.size(); ++i) plain[i] = parts_[i] == part ? codes[i] : 0;
      convolutions_[part].pack.Run();
    }
    if (part_count_ > 1) sums_.resize(shape_.output_size());
  }

  void Run(absl::Span<const uint8_t> images, absl::Span<const float> scales,
           absl::Span<float> y) override {
    CodesAsFloats(images, images_type_, images_.data<float>());
    y_.PointTo(y);
    for (int part = 0; part < part_count_; ++part) {
      convolutions_[part].convolve.Run();
      if (part_count_ > 1) AddPart(part, part_count_, y, absl::MakeSpan(sums_));
    }
    ScaleColumns(scales, y);
  }

  std::string implementation() const override { return desc_.impl_info_str(); }

 private:
  // With filters of its own.
  struct PartConvolution {
    Execution pack;
    Execution convolve;
  };

  ConvolutionShape shape_;
  CodeType images_type_;
  dnnl::convolution_forward::primitive_desc desc_;
  Operand plain_filters_;
  Operand images_;
  Operand y_;
  std::vector<int> parts_;                     // that each tap of each filter belongs to
  std::vector<PartConvolution> convolutions_;  // of each part
  int part_count_ = 0;
  std::vector<int32_t> sums_;
};

}  // namespace

absl::StatusOr<std::unique_ptr<IntegerConvolution>> IntegerConvolution::Plan(ConvolutionShape shape,
                                                                             CodeType images) {
  RETURN_IF_ERROR(CompleteShape(&shape));
  if (!SumsFit(shape.taps(), images)) {
    return absl::InvalidArgumentError(absl::StrCat(
        "a convolution with ", shape.taps(),
        " products in a sum; want fewer, so that a sum of products of codes fits in 32 bits"));
  }
  try {
    if (HasExactIntegerProducts()) return std::make_unique<ExactPrimitive>(shape, images);
    return std::make_unique<ExactFloats>(shape, images);
  } catch (const dnnl::error& error) {
    return CannotPlan("a convolution of codes", error);
  }
}

}  // namespace fixpoint::kernels
