#include "ops/unpooling.h"

#include "absl/strings/str_cat.h"
#include "proto/base/status_macros.h"

namespace fixpoint {
namespace {

absl::StatusOr<int64_t> UnpooledSize(int64_t size, int64_t window, int64_t stride, int64_t padding,
                                     int64_t wanted) {
  constexpr int64_t kLargest = 1 << 30;
  for (const int64_t value : {window, stride, padding, wanted}) {
    if (value >= 0 && value <= kLargest) continue;
    return absl::InvalidArgumentError(absl::StrCat("ksize, strides, paddings or output_size has ",
                                                   value, "; want 0 to ", kLargest));
  }
  if (wanted > 0) return wanted;
  if (size < 0) return kUnknownDim;
  int64_t unpooled;
  if (size < 1 || __builtin_mul_overflow(size - 1, stride, &unpooled) ||
      __builtin_add_overflow(unpooled, window - 2 * padding, &unpooled) || unpooled < 1) {
    return absl::InvalidArgumentError(absl::StrCat("windows of ", window, " at distances of ",
                                                   stride, " around ", size,
                                                   " maxima leave no image"));
  }
  return unpooled;
}

}  // namespace

absl::StatusOr<Dims> UnpooledDims(DimsView x, const std::vector<int64_t>& ksize,
                                  const std::vector<int64_t>& strides,
                                  const std::vector<int64_t>& paddings,
                                  std::vector<int64_t> output_size) {
  if (output_size.empty()) output_size = {0, 0};
  if (x.size() != 4 || ksize.size() != 2 || strides.size() != 2 || paddings.size() != 2 ||
      output_size.size() != 2) {
    return absl::InvalidArgumentError(
        absl::StrCat("X is ", DimsText(x),
                     "; want [N,C,H,W], and two values of each of ksize, strides, paddings and "
                     "output_size"));
  }
  Dims out(x.begin(), x.end());
  for (int i = 0; i < 2; ++i) {
    ASSIGN_OR_RETURN(out[2 + i],
                     UnpooledSize(out[2 + i], ksize[i], strides[i], paddings[i], output_size[i]));
  }
  RETURN_IF_ERROR(ElementCount(out).status());
  return out;
}

}  // namespace fixpoint
