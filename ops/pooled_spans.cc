#include "ops/pooled_spans.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "proto/base/status_macros.h"

namespace fixpoint {
namespace {

absl::Status CheckKernel(const std::vector<int64_t>& ksize, size_t axes) {
  const bool positive = std::all_of(ksize.begin(), ksize.end(), [](int64_t k) { return k > 0; });
  if (positive && ksize.size() == axes) return absl::OkStatus();
  return absl::InvalidArgumentError(absl::StrCat("ksize is [", absl::StrJoin(ksize, ", "),
                                                 "]; want ", axes, " positive numbers"));
}

absl::StatusOr<WindowAxes> WindowOf(const PoolingAttrs& attrs, DimsView sizes) {
  const WindowAttrs window{attrs.strides, attrs.paddings, std::vector<int64_t>(sizes.size(), 1),
                           attrs.padding_algorithm};
  return MakeWindowAxes(window, attrs.ksize, sizes);
}

PooledSpan PartOf(int64_t size, int64_t i, int64_t count) {
  const int64_t begin = i * size / count;
  const int64_t end = ((i + 1) * size + count - 1) / count;
  return {begin, end, end - begin};
}

PooledSpan WindowAt(int64_t size, int64_t i, const WindowAxis& axis, Era era) {
  const int64_t start = i * axis.stride - axis.pad_before;
  const int64_t end = start + axis.kernel;
  const int64_t last = era == Era::kPaddle2 ? std::min(end, size + axis.pad_after) : end;
  const int64_t begin = std::clamp<int64_t>(start, 0, size);
  return {begin, std::max(std::min(end, size), begin), last - start};
}

}  // namespace

absl::StatusOr<Dims> PooledSizes(const PoolingAttrs& attrs, DimsView sizes) {
  Dims counts(sizes.size(), 1);
  if (attrs.is_global) return counts;
  RETURN_IF_ERROR(CheckKernel(attrs.ksize, sizes.size()));
  if (attrs.is_adaptive) return Dims(attrs.ksize.begin(), attrs.ksize.end());
  ASSIGN_OR_RETURN(const WindowAxes window, WindowOf(attrs, sizes));
  for (size_t i = 0; i < sizes.size(); ++i) {
    ASSIGN_OR_RETURN(counts[i], WindowCount(sizes[i], window[i], attrs.ceil_mode));
  }
  return counts;
}

absl::StatusOr<std::vector<std::vector<PooledSpan>>> PooledSpans(const PoolingAttrs& attrs,
                                                                 DimsView sizes, Era era) {
  ASSIGN_OR_RETURN(const Dims counts, PooledSizes(attrs, sizes));
  const bool is_cut = attrs.is_global || attrs.is_adaptive;
  WindowAxes window;
  if (!is_cut) {
    ASSIGN_OR_RETURN(window, WindowOf(attrs, sizes));
  }
  std::vector<std::vector<PooledSpan>> spans(sizes.size());
  for (size_t axis = 0; axis < sizes.size(); ++axis) {
    for (int64_t i = 0; i < counts[axis]; ++i) {
      spans[axis].push_back(is_cut ? PartOf(sizes[axis], i, counts[axis])
                                   : WindowAt(sizes[axis], i, window[axis], era));
    }
  }
  return spans;
}

}  // namespace fixpoint
