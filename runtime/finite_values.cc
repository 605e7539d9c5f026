#include "runtime/finite_values.h"

#include <algorithm>
#include <cmath>

#include "absl/strings/str_cat.h"
#include "absl/types/span.h"
#include "runtime/backend.h"

namespace fixpoint {
namespace {

template <typename T>
absl::Status CheckSpan(absl::Span<const T> values) {
  const auto found =
      std::find_if(values.begin(), values.end(), [](T value) { return !std::isfinite(value); });
  if (found == values.end()) return absl::OkStatus();
  return NotFiniteError(
      absl::StrCat("element ", found - values.begin(), " is ", *found, "; want finite numbers"));
}

}  // namespace

absl::Status CheckFinite(const Tensor& tensor) {
  if (tensor.dtype() == VarType::FP32) return CheckSpan(tensor.data<float>());
  if (tensor.dtype() == VarType::FP64) return CheckSpan(tensor.data<double>());
  return absl::OkStatus();
}

}  // namespace fixpoint
