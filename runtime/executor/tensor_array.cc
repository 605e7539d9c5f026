#include "runtime/executor/tensor_array.h"

#include <algorithm>

namespace fixpoint::executor {

void TensorArray::Clear() {
  for (Element& element : elements_) element.is_set = false;
  size_ = 0;
}

const TensorArray::Element* TensorArray::Find(int64_t place) const {
  const bool is_there = place >= 0 && place < size_ && elements_[place].is_set;
  return is_there ? &elements_[place] : nullptr;
}

TensorArray::Element& TensorArray::Set(int64_t place) {
  if (place >= static_cast<int64_t>(elements_.size())) elements_.resize(place + 1);
  size_ = std::max(size_, place + 1);
  Element& element = elements_[place];
  element.is_set = true;
  return element;
}

}  // namespace fixpoint::executor
