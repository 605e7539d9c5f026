// From an element type to its C++ type.

#ifndef FIXPOINT_RUNTIME_EXECUTOR_OPS_ELEMENT_TYPES_H_
#define FIXPOINT_RUNTIME_EXECUTOR_OPS_ELEMENT_TYPES_H_

#include <cstdint>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "proto/program/type_names.h"
#include "proto/wire/program.pb.h"

namespace fixpoint::executor {

// Calls f with a value of the C++ type, and returns its result. Error (kUnimplemented): the type is
// not BOOL, INT8, UINT8, INT32, INT64, FP32 or FP64.
template <typename F>
absl::Status WithElementType(VarType::Type dtype, F f) {
  switch (dtype) {
    case VarType::BOOL:
      return f(bool());
    case VarType::INT8:
      return f(int8_t());
    case VarType::UINT8:
      return f(uint8_t());
    case VarType::INT32:
      return f(int32_t());
    case VarType::INT64:
      return f(int64_t());
    case VarType::FP32:
      return f(float());
    case VarType::FP64:
      return f(double());
    default:
      return absl::UnimplementedError(absl::StrCat("elements of ", TypeName(dtype),
                                                   "; want bool, i8, u8, i32, i64, f32 or f64"));
  }
}

// The same with an integer of the elements' size, for code that only moves elements.
template <typename F>
absl::Status WithElementOfSizeOf(VarType::Type dtype, F f) {
  return WithElementType(dtype, [&](auto element) {
    if constexpr (sizeof(element) == sizeof(uint8_t)) {
      return f(uint8_t());
    } else if constexpr (sizeof(element) == sizeof(int32_t)) {
      return f(int32_t());
    } else {
      static_assert(sizeof(element) == sizeof(int64_t));
      return f(int64_t());
    }
  });
}

}  // namespace fixpoint::executor

#endif  // FIXPOINT_RUNTIME_EXECUTOR_OPS_ELEMENT_TYPES_H_
