#include "runtime/executor/ops/array_contents.h"

#include <algorithm>
#include <utility>

#include "runtime/executor/tensor_array.h"

namespace fixpoint::executor {
namespace {

// Of the places whose tensors a plan knows.
constexpr int64_t kMostKnown = 4096;

std::optional<int64_t> Largest(std::optional<int64_t> a, std::optional<int64_t> b) {
  return a && b ? std::optional(std::max(*a, *b)) : std::nullopt;
}

}  // namespace

ArrayContents ArrayContents::Of(std::vector<Dims> tensors) {
  const auto size = static_cast<int64_t>(tensors.size());
  if (size > kMostKnown) return {size, std::nullopt};
  return {size, std::move(tensors)};
}

void ArrayContents::Write(std::optional<int64_t> place, const std::optional<Dims>& dims) {
  if (!place || *place < 0 || *place >= TensorArray::kMostElements) {
    *this = {};
    return;
  }
  most_size = Largest(most_size, *place + 1);
  if (!tensors) return;
  if (!dims || *place >= kMostKnown) {
    tensors.reset();
    return;
  }
  if (*place >= static_cast<int64_t>(tensors->size())) tensors->resize(*place + 1);
  (*tensors)[*place] = *dims;
}

ArrayContents OneOf(const ArrayContents& a, const ArrayContents& b) {
  return {Largest(a.most_size, b.most_size), a.tensors == b.tensors ? a.tensors : std::nullopt};
}

ArrayContents Union(const ArrayContents& a, const ArrayContents& b) {
  ArrayContents both{Largest(a.most_size, b.most_size), std::nullopt};
  if (!a.tensors || !b.tensors) return both;
  both.tensors = a.tensors;
  both.tensors->resize(*both.most_size);
  for (size_t i = 0; i < b.tensors->size(); ++i) {
    if ((*both.tensors)[i].empty()) (*both.tensors)[i] = (*b.tensors)[i];
  }
  return both;
}

}  // namespace fixpoint::executor
