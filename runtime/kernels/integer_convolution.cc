#include "runtime/kernels/integer_convolution.h"

#include <algorithm>
#include <cstdlib>
#include <limits>
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

// oneDNN takes memory that it only reads as writable too.
template <typename T>
void* Handle(absl::Span<const T> data) {
  return const_cast<T*>(data.data());
}

int LargestMagnitude(CodeType images) { return images == CodeType::kUint8 ? 255 : 128; }

// By instructions that add products of 8 bits in 32.
class ExactPrimitive final : public IntegerConvolution {
 public:
  ExactPrimitive(const ConvolutionShape& shape, CodeType images)
      : desc_(DescOf(shape, images)),
        primitive_(desc_),
        plain_filters_(RowMajor(FilterDims(shape), memory::data_type::s8), Engine(), nullptr),
        filters_(desc_.weights_desc(), Engine()),
        pack_(plain_filters_, filters_),
        images_(desc_.src_desc(), Engine(), nullptr),
        scales_(RowMajor({shape.filters}, memory::data_type::f32), Engine(), nullptr),
        y_(desc_.dst_desc(), Engine(), nullptr) {}

  void SetFilters(absl::Span<const int8_t> codes) override {
    plain_filters_.set_data_handle(Handle(codes));
    pack_.execute(Stream(), plain_filters_, filters_);
  }

  void Run(absl::Span<const uint8_t> images, absl::Span<const float> scales,
           absl::Span<float> y) override {
    images_.set_data_handle(Handle(images));
    scales_.set_data_handle(Handle(scales));
    y_.set_data_handle(y.data());
    primitive_.execute(Stream(), {{DNNL_ARG_SRC, images_},
                                  {DNNL_ARG_WEIGHTS, filters_},
                                  {DNNL_ARG_ATTR_SCALES | DNNL_ARG_WEIGHTS, scales_},
                                  {DNNL_ARG_DST, y_}});
    Stream().wait();
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
  dnnl::convolution_forward primitive_;
  memory plain_filters_;
  memory filters_;
  dnnl::reorder pack_;
  memory images_;
  memory scales_;
  memory y_;
};

// Of codes as floats, which add integers exactly up to 2^24. Where the products of a filter can be
// more, its taps are shared out to several convolutions, whose sums are added as integers.
class ExactFloats final : public IntegerConvolution {
 public:
  ExactFloats(const ConvolutionShape& shape, CodeType images)
      : shape_(shape),
        images_type_(images),
        desc_(ForwardDesc(shape, memory::data_type::f32, memory::data_type::f32)),
        primitive_(desc_),
        plain_filters_(RowMajor(FilterDims(shape), memory::data_type::f32), Engine()),
        pack_(plain_filters_, memory(desc_.weights_desc(), Engine(), nullptr)),
        images_(desc_.src_desc(), Engine()),
        y_(desc_.dst_desc(), Engine(), nullptr) {}

  void SetFilters(absl::Span<const int8_t> codes) override {
    const std::vector<int> parts = ShareOut(codes);
    part_count_ = 1 + *std::max_element(parts.begin(), parts.end());
    while (static_cast<int>(filters_.size()) < part_count_) {
      filters_.emplace_back(desc_.weights_desc(), Engine());
    }
    float* const plain = static_cast<float*>(plain_filters_.get_data_handle());
    for (int part = 0; part < part_count_; ++part) {
      for (size_t i = 0; i < codes.size(); ++i) plain[i] = parts[i] == part ? codes[i] : 0;
      pack_.execute(Stream(), plain_filters_, filters_[part]);
    }
    if (part_count_ > 1) sums_.resize(shape_.output_size());
  }

  void Run(absl::Span<const uint8_t> images, absl::Span<const float> scales,
           absl::Span<float> y) override {
    float* const values = static_cast<float*>(images_.get_data_handle());
    if (images_type_ == CodeType::kUint8) {
      std::copy(images.begin(), images.end(), values);
    } else {
      std::transform(images.begin(), images.end(), values,
                     [](uint8_t code) { return static_cast<float>(static_cast<int8_t>(code)); });
    }
    y_.set_data_handle(y.data());
    for (int part = 0; part < part_count_; ++part) {
      primitive_.execute(
          Stream(),
          {{DNNL_ARG_SRC, images_}, {DNNL_ARG_WEIGHTS, filters_[part]}, {DNNL_ARG_DST, y_}});
      Stream().wait();
      if (part_count_ > 1) AddPart(part, y);
    }
    const int64_t filters = shape_.filters;
    for (int64_t i = 0; i < shape_.output_size(); i += filters) {
      for (int64_t f = 0; f < filters; ++f) y[i + f] *= scales[f];
    }
  }

  std::string implementation() const override { return desc_.impl_info_str(); }

 private:
  // For each tap of each filter, which convolution it belongs to.
  std::vector<int> ShareOut(absl::Span<const int8_t> codes) const {
    constexpr int64_t kExact = int64_t{1} << 24;
    std::vector<int> parts(codes.size(), 0);
    const int64_t taps = shape_.taps();
    for (size_t begin = 0; begin < codes.size(); begin += taps) {
      int64_t sum = 0;
      int part = 0;
      for (size_t i = begin; i < begin + taps; ++i) {
        const int64_t most = std::abs(int{codes[i]}) * LargestMagnitude(images_type_);
        if (sum + most > kExact) {
          sum = 0;
          ++part;
        }
        sum += most;
        parts[i] = part;
      }
    }
    return parts;
  }

  // Adds what y holds of one part to the others; after the last, y is the sum.
  void AddPart(int part, absl::Span<float> y) {
    for (size_t i = 0; i < sums_.size(); ++i) {
      sums_[i] = (part == 0 ? 0 : sums_[i]) + static_cast<int32_t>(y[i]);
    }
    if (part + 1 < part_count_) return;
    std::copy(sums_.begin(), sums_.end(), y.begin());
  }

  ConvolutionShape shape_;
  CodeType images_type_;
  dnnl::convolution_forward::primitive_desc desc_;
  dnnl::convolution_forward primitive_;
  memory plain_filters_;
  dnnl::reorder pack_;
  memory images_;
  memory y_;
  std::vector<memory> filters_;  // of each part
  int part_count_ = 0;
  std::vector<int32_t> sums_;
};

}  // namespace

absl::StatusOr<std::unique_ptr<IntegerConvolution>> IntegerConvolution::Plan(ConvolutionShape shape,
                                                                             CodeType images) {
  RETURN_IF_ERROR(CompleteShape(&shape));
  if (shape.taps() > std::numeric_limits<int32_t>::max() / (128 * LargestMagnitude(images))) {
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
