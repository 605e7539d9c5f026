#include "runtime/reference/kernels/array_sum.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "ops/dims.h"
#include "proto/base/status_macros.h"

namespace fixpoint::reference {
namespace {

std::string Described(const Array& array) {
  return array.elements ? "an array of tensors" : DimsText(array.dims);
}

}  // namespace

absl::Status AddTo(const Array& part, Array* sum) {
  if (part.elements.has_value() != sum->elements.has_value() || part.dims != sum->dims) {
    return absl::InvalidArgumentError(absl::StrCat("a term is ", Described(part), " and another ",
                                                   Described(*sum), "; want the same"));
  }
  for (int64_t i = 0; i < part.size(); ++i) {
    (*sum)[i] = Rounded((*sum)[i] + part[i], sum->dtype);
  }
  if (!part.elements) return absl::OkStatus();
  auto& sums = *sum->elements;
  sums.resize(std::max(sums.size(), part.elements->size()));
  for (size_t i = 0; i < part.elements->size(); ++i) {
    const std::shared_ptr<const Array>& element = (*part.elements)[i];
    if (element == nullptr) continue;
    if (sums[i] == nullptr) {
      sums[i] = element;
      continue;
    }
    Array added = *sums[i];
    RETURN_IF_ERROR(AddTo(*element, &added));
    sums[i] = std::make_shared<const Array>(std::move(added));
  }
  return absl::OkStatus();
}

}  // namespace fixpoint::reference
