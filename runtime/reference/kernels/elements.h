// Elements of arrays as the functions of runtime/boxes take them.

#ifndef FIXPOINT_RUNTIME_REFERENCE_KERNELS_ELEMENTS_H_
#define FIXPOINT_RUNTIME_REFERENCE_KERNELS_ELEMENTS_H_

#include <algorithm>
#include <cstdint>
#include <vector>

#include "absl/types/span.h"
#include "runtime/reference/array.h"

namespace fixpoint::reference {

// Exact for an array of a type that T holds. What compares numbers with thresholds decides as the
// reference does only in the type of its inputs.
template <typename T>
std::vector<T> ElementsOf(const Array& array) {
  return std::vector<T>(array.values.begin(), array.values.end());
}
inline std::vector<int64_t> IntegersOf(const Array& array) {
  std::vector<int64_t> integers;
  integers.reserve(array.values.size());
  for (const double value : array.values) integers.push_back(ToInt(value));
  return integers;
}

// An INT32 array. REQUIRES: as many values as dims have elements.
inline Array IntegerArray(const Dims& dims, const std::vector<int64_t>& values) {
  Array array(VarType::INT32, dims);
  std::copy(values.begin(), values.end(), array.values.begin());
  return array;
}

inline absl::Span<const double> Values(const Array& array) { return array.values; }
inline absl::Span<double> MutableValues(Array& array) { return absl::MakeSpan(array.values); }

// Calls f with a value of the type that an array's elements are declared as.
template <typename F>
auto InTypeOf(const Array& array, F f) {
  return array.dtype == VarType::FP64 ? f(double()) : f(float());
}

}  // namespace fixpoint::reference

#endif  // FIXPOINT_RUNTIME_REFERENCE_KERNELS_ELEMENTS_H_
