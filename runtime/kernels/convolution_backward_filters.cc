// The gradient of a convolution's filters (convolution.h), in parts.

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/types/span.h"
#include "proto/base/status_macros.h"
#include "runtime/kernels/arithmetic.h"
#include "runtime/kernels/bfloat16.h"
#include "runtime/kernels/convolution.h"
#include "runtime/kernels/convolution_descs.h"
#include "runtime/kernels/convolution_parts.h"
#include "runtime/kernels/extents.h"
#include "runtime/kernels/onednn.h"
#include "runtime/kernels/threads.h"

namespace fixpoint::kernels {
namespace {

using dnnl::memory;

using Cut = ConvolutionParts::Cut;
using Desc = dnnl::convolution_backward_weights::primitive_desc;

// Parts begin at lines of the cache.
constexpr int64_t kLine = 64;
int64_t InLines(int64_t bytes) { return CeilDivide(bytes, kLine) * kLine; }

// A gradient as the primitive gives it, and as it is wanted.
class Unpacking {
 public:
  Unpacking(const memory::desc& packed, const ConvolutionShape& shape)
      : packed_(Operand::Elsewhere(packed)),
        dfilters_(Operand::Elsewhere(RowMajor(FilterDims(shape), memory::data_type::f32))),
        unpack_(Reordering(packed_, dfilters_)) {}

  void Run(absl::Span<const float> packed, absl::Span<float> dfilters) {
    packed_.PointTo(packed);
    dfilters_.PointTo(dfilters);
    unpack_.Run();
  }

 private:
  Operand packed_;
  Operand dfilters_;
  Execution unpack_;
};

// What one thread computes.
template <typename T>
class Part {
 public:
  Part(const ConvolutionParts::Part& part, const Desc& desc)
      : begin_(part),
        x_(Operand::Elsewhere(desc.src_desc())),
        dy_(Operand::Elsewhere(desc.diff_dst_desc())),
        packed_(Operand::Elsewhere(desc.diff_weights_desc())),
        convolve_(
            desc,
            {{DNNL_ARG_SRC, x_}, {DNNL_ARG_DIFF_DST, dy_}, {DNNL_ARG_DIFF_WEIGHTS, packed_}}) {}

  const ConvolutionShape& shape() const { return begin_.shape; }
  int64_t dy_bytes() const { return dy_.bytes(); }

  // `dy` is the part's.
  void Run(absl::Span<const T> x, absl::Span<const T> dy, absl::Span<float> packed) {
    x_.PointTo(x.subspan(begin_.x, x_.size<T>()));
    dy_.PointTo(dy);
    packed_.PointTo(packed);
    convolve_.Run();
  }
  absl::Span<const T> RowsOf(absl::Span<const T> dy) const {
    return dy.subspan(begin_.dy, dy_.size<T>());
  }
  absl::Span<const T> CopyFiltersOf(absl::Span<const T> dy, int64_t filters, T* to) const {
    const int64_t own = begin_.shape.filters;
    const T* from = dy.data() + begin_.dy;
    T* pixel = to;
    for (size_t i = 0; i < dy_.size<T>(); i += own, from += filters, pixel += own) {
      std::copy(from, from + own, pixel);
    }
    return {to, dy_.size<T>()};
  }

 private:
  const ConvolutionParts::Part begin_;
  Operand x_;
  Operand dy_;
  Operand packed_;
  Execution convolve_;
};

template <typename T>
class BackwardFilters final : public ConvolutionBackwardFilters<T> {
 public:
  // REQUIRES: HaveOneLayout(descs), one for each part.
  BackwardFilters(const ConvolutionShape& shape, const ConvolutionParts& parts,
                  const std::vector<Desc>& descs)
      : shape_(shape),
        cut_(parts.cut),
        implementation_(descs.front().impl_info_str()),
        packed_size_(descs.front().diff_weights_desc().get_size() / sizeof(float)) {
    const memory::desc packed = descs.front().diff_weights_desc();
    {
      const ThreadsInUse one(1);
      for (size_t i = 0; i < descs.size(); ++i) parts_.emplace_back(parts.parts[i], descs[i]);
      if (cut_ == Cut::kFilters) {
        for (const Part<T>& part : parts_) unpackings_.emplace_back(packed, part.shape());
      }
    }
    if (cut_ == Cut::kImages) unpackings_.emplace_back(packed, shape);
  }

  int64_t work_bytes() const override {
    return static_cast<int64_t>(parts_.size()) * bytes_of_part();
  }

  void Run(absl::Span<const T> x, absl::Span<const T> dy, absl::Span<uint8_t> work,
           absl::Span<float> dfilters) override {
    RunAlone(static_cast<int64_t>(parts_.size()), [&](int64_t i) {
      Part<T>& part = parts_[i];
      const absl::Span<float> packed = PackedOf(i, work);
      if (cut_ == Cut::kImages) return part.Run(x, part.RowsOf(dy), packed);
      auto* const copy = reinterpret_cast<T*>(packed.data() + packed.size());
      part.Run(x, part.CopyFiltersOf(dy, shape_.filters, copy), packed);
      const int64_t size = part.shape().filter_size();
      unpackings_[i].Run(packed, dfilters.subspan(i * size, size));
    });
    if (cut_ == Cut::kFilters) return;
    if (parts_.size() > 1) {
      std::vector<absl::Span<const float>> terms;
      for (size_t i = 0; i < parts_.size(); ++i) terms.push_back(PackedOf(i, work));
      AddAll(terms, PackedOf(0, work));
    }
    unpackings_.front().Run(PackedOf(0, work), dfilters);
  }

  std::string implementation() const override { return implementation_; }

 private:
  // Its gradient and, if it reads filters of its own, their output.
  int64_t bytes_of_part() const {
    const int64_t bytes = packed_size_ * static_cast<int64_t>(sizeof(float));
    return InLines(bytes + (cut_ == Cut::kFilters ? parts_.front().dy_bytes() : 0));
  }
  absl::Span<float> PackedOf(int64_t part, absl::Span<uint8_t> work) const {
    return {reinterpret_cast<float*>(work.data() + part * bytes_of_part()),
            static_cast<size_t>(packed_size_)};
  }

  const ConvolutionShape shape_;
  const Cut cut_;
  const std::string implementation_;
  const int64_t packed_size_;  // of a part
  std::vector<Part<T>> parts_;
  std::vector<Unpacking> unpackings_;  // of each part, or of what they add up to
};

// Of what cuts change.
bool IsSame(const ConvolutionShape& a, const ConvolutionShape& b) {
  return a.batch == b.batch && a.height == b.height && a.filters == b.filters &&
         a.window[0].pad_before == b.window[0].pad_before &&
         a.window[0].pad_after == b.window[0].pad_after;
}

// One for each part; neighbours of one shape share it.
std::vector<Desc> DescsOf(const ConvolutionParts& parts, memory::data_type operands) {
  const ThreadsInUse one(1);
  std::vector<Desc> descs;
  const ConvolutionShape* last = nullptr;
  for (const ConvolutionParts::Part& part : parts.parts) {
    const bool is_new = last == nullptr || !IsSame(*last, part.shape);
    descs.push_back(is_new ? BackwardFiltersDesc(part.shape, operands) : descs.back());
    last = &part.shape;
  }
  return descs;
}

bool HaveOneLayout(const std::vector<Desc>& descs) {
  return std::all_of(descs.begin(), descs.end(), [&](const Desc& desc) {
    return desc.diff_weights_desc() == descs.front().diff_weights_desc();
  });
}

// In as many parts as have one layout: oneDNN has other kernels for a few rows than for many.
template <typename T>
std::unique_ptr<ConvolutionBackwardFilters<T>> PlanInParts(const ConvolutionShape& shape) {
  ConvolutionParts parts = PartsOfFilterGradient(shape);
  std::vector<Desc> descs = DescsOf(parts, kTypeOf<T>);
  while (!HaveOneLayout(descs)) {
    parts = PartsOfFilterGradient(shape, static_cast<int64_t>(descs.size()) / 2);
    descs = DescsOf(parts, kTypeOf<T>);
  }
  return std::make_unique<BackwardFilters<T>>(shape, parts, descs);
}

// Whether there is a column of the filters that no window has inside the image.
bool HasColumnInPadding(const ConvolutionShape& shape) {
  const WindowAxis& axis = shape.window[1];
  for (int64_t i = 0; i < axis.kernel; ++i) {
    const int64_t first = i * axis.dilation - axis.pad_before;
    const int64_t window = first < 0 ? (axis.stride - 1 - first) / axis.stride : 0;
    if (window >= shape.out_width || first + window * axis.stride >= shape.width) return true;
  }
  return false;
}

}  // namespace

GradientsInBfloat16 GradientsForBfloat16(const ConvolutionShape& shape) {
  const auto& [rows, columns] = shape.window;
  const bool steps = rows.stride > 1 || columns.stride > 1;
  GradientsInBfloat16 gradients;
  // Where filters of one pixel step over the images, most of what is written is zeros.
  gradients.images = !(steps && rows.kernel == 1 && columns.kernel == 1);
  // oneDNN's jit_bf16:avx512_core_bf16 computes that of filters of memory that nothing has set,
  // where windows step along a row and no window has some column of the filters inside the image.
  gradients.filters = !(columns.stride > 1 && HasColumnInPadding(shape));
  return gradients;
}

template <typename T>
absl::StatusOr<std::unique_ptr<ConvolutionBackwardFilters<T>>> ConvolutionBackwardFilters<T>::Plan(
    ConvolutionShape shape) {
  constexpr bool kIsBfloat16 = std::is_same_v<T, Bfloat16>;
  if (kIsBfloat16) RETURN_IF_ERROR(CheckBfloat16Products());
  RETURN_IF_ERROR(CompleteShape(&shape));
  if (kIsBfloat16 && !GradientsForBfloat16(shape).filters) {
    return absl::UnimplementedError(
        "a column of the filters meets nothing but padding, which bf16 is not for; want f32");
  }
  return Planned("a convolution", [&] { return PlanInParts<T>(shape); });
}
template class ConvolutionBackwardFilters<float>;
template class ConvolutionBackwardFilters<Bfloat16>;

}  // namespace fixpoint::kernels
