// Tensors outside plans, as plans know them: feeds, fetches, and variables of the scope.

#ifndef FIXPOINT_RUNTIME_EXECUTOR_OUTER_TENSORS_H_
#define FIXPOINT_RUNTIME_EXECUTOR_OUTER_TENSORS_H_

#include <variant>

#include "absl/strings/string_view.h"
#include "ops/dims.h"
#include "ops/lod.h"
#include "runtime/executor/plan.h"
#include "runtime/scope.h"
#include "runtime/tensor.h"

namespace fixpoint::executor {

// A scalar is [1] in plans.
inline TensorType TypeOf(const Tensor& tensor) {
  const bool is_scalar = tensor.dims().empty();
  return {tensor.dtype(), is_scalar ? Dims{1} : Dims(tensor.dims().begin(), tensor.dims().end())};
}

// A scalar has no rows that offsets could cut.
inline const LoD& LodOf(const Tensor& tensor) {
  static const LoD* const none = new LoD();
  return tensor.dims().empty() ? *none : tensor.lod();
}

inline GivenType GivenTypeOf(const Tensor& tensor) { return {TypeOf(tensor), LodOf(tensor)}; }

// Null if the scope has no tensor of that name.
inline const Tensor* FindTensor(const Scope& scope, absl::string_view name) {
  const Scope::Value* value = scope.FindOrNull(name);
  return value != nullptr ? std::get_if<Tensor>(value) : nullptr;
}

}  // namespace fixpoint::executor

#endif  // FIXPOINT_RUNTIME_EXECUTOR_OUTER_TENSORS_H_
