#include "runtime/reference/array.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <new>
#include <stdexcept>
#include <type_traits>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "proto/base/status_macros.h"
#include "proto/program/type_names.h"

namespace fixpoint::reference {
namespace {

template <typename T>
double RoundedTo(double value) {
  if (std::isnan(value)) return 0;
  // The largest INT64 is not a double; converting the double above it is not defined.
  constexpr double kLowest = static_cast<double>(std::numeric_limits<T>::lowest());
  constexpr double kLargest = static_cast<double>(std::numeric_limits<T>::max());
  return std::clamp(std::trunc(value), kLowest, kLargest);
}

template <typename T>
T Element(double value) {
  constexpr double kLargest = static_cast<double>(std::numeric_limits<T>::max());
  if (std::numeric_limits<T>::is_integer && value >= kLargest) return std::numeric_limits<T>::max();
  return static_cast<T>(value);
}

// Calls f with a value of the C++ type of `dtype`. REQUIRES: IsSupported(dtype).
template <typename F>
auto WithType(VarType::Type dtype, F f) {
  switch (dtype) {
    case VarType::BOOL:
      return f(bool());
    case VarType::INT8:
      return f(int8_t());
    case VarType::UINT8:
      return f(uint8_t());
    case VarType::INT16:
      return f(int16_t());
    case VarType::INT32:
      return f(int32_t());
    case VarType::INT64:
      return f(int64_t());
    case VarType::SIZE_T:
      return f(uint64_t());
    case VarType::FP64:
      return f(double());
    default:
      return f(float());
  }
}

// The product of the extents that are not 0; the largest int64 if the product exceeds it.
int64_t ProductOfOthers(DimsView dims) {
  int64_t product = 1;
  bool too_many = false;
  for (const int64_t dim : dims) {
    if (dim != 0) too_many |= __builtin_mul_overflow(product, dim, &product);
  }
  return too_many ? std::numeric_limits<int64_t>::max() : product;
}

void CheckExtents(DimsView dims) {
  constexpr int64_t kMostOfEmpty = int64_t{1} << 28;
  if (Volume(dims) == 0 && ProductOfOthers(dims) > kMostOfEmpty) {
    throw std::length_error("extents of no elements");
  }
}

}  // namespace

int64_t Volume(DimsView dims) {
  const bool is_empty = std::find(dims.begin(), dims.end(), 0) != dims.end();
  return is_empty ? 0 : ProductOfOthers(dims);
}

Array::Array(VarType::Type dtype, DimsView dims)
    : dtype(dtype), dims(dims.begin(), dims.end()), values(Volume(dims)) {
  CheckExtents(dims);
}

void Array::Reshape(DimsView wanted) {
  CheckExtents(wanted);
  dims.assign(wanted.begin(), wanted.end());
}

bool IsFloatingPoint(VarType::Type dtype) {
  return dtype == VarType::FP32 || dtype == VarType::FP64;
}

bool IsSupported(VarType::Type dtype) {
  switch (dtype) {
    case VarType::BOOL:
    case VarType::INT8:
    case VarType::UINT8:
    case VarType::INT16:
    case VarType::INT32:
    case VarType::INT64:
    case VarType::SIZE_T:
      return true;
    default:
      return IsFloatingPoint(dtype);
  }
}

double Rounded(double value, VarType::Type dtype) {
  if (dtype == VarType::FP64) return value;
  if (dtype == VarType::FP32) return static_cast<float>(value);
  if (dtype == VarType::BOOL) return value != 0 ? 1 : 0;
  return WithType(dtype, [value](auto type) { return RoundedTo<decltype(type)>(value); });
}

double Widened(float value) {
  if (!std::isnan(value)) return value;
  uint32_t narrow;
  std::memcpy(&narrow, &value, sizeof(narrow));
  const uint64_t sign = uint64_t{narrow >> 31} << 63;
  const uint64_t wide = sign | uint64_t{0x7ff} << 52 | uint64_t{narrow & 0x7fffff} << 29;
  double widened;
  std::memcpy(&widened, &wide, sizeof(widened));
  return widened;
}

uint32_t FloatBits(double value) {
  uint32_t narrow;
  if (!std::isnan(value)) {
    const auto as_float = static_cast<float>(value);
    std::memcpy(&narrow, &as_float, sizeof(narrow));
    return narrow;
  }
  uint64_t wide;
  std::memcpy(&wide, &value, sizeof(wide));
  return static_cast<uint32_t>(wide >> 63 << 31) | 0x7f800000U |
         static_cast<uint32_t>(wide >> 29 & 0x7fffff);
}

int64_t ToInt(double value) { return Element<int64_t>(RoundedTo<int64_t>(value)); }

absl::StatusOr<Array> ArrayOf(const Tensor& tensor) {
  if (!IsSupported(tensor.dtype())) {
    return absl::UnimplementedError(absl::StrCat("elements of type ", TypeName(tensor.dtype()),
                                                 "; want bool, an integer, f32 or f64"));
  }
  try {
    Array array(tensor.dtype(), tensor.dims());
    array.lod = tensor.lod();
    WithType(tensor.dtype(), [&](auto type) {
      const auto elements = tensor.data<decltype(type)>();
      if constexpr (std::is_same_v<decltype(type), float>) {
        std::transform(elements.begin(), elements.end(), array.values.begin(), Widened);
      } else {
        std::copy(elements.begin(), elements.end(), array.values.begin());
      }
    });
    return array;
  } catch (const std::bad_alloc&) {
  } catch (const std::length_error&) {
  }
  return absl::FailedPreconditionError(absl::StrCat(
      "elements ", DimsText(tensor.dims()), ", and there is no memory for them as doubles"));
}

absl::StatusOr<Tensor> TensorOf(const Array& array) {
  ASSIGN_OR_RETURN(Tensor tensor,
                   Tensor::Allocate(array.dtype, {array.dims.begin(), array.dims.end()}));
  tensor.set_lod(array.lod);
  WithType(array.dtype, [&](auto type) {
    using T = decltype(type);
    std::transform(array.values.begin(), array.values.end(), tensor.mutable_data<T>().begin(),
                   Element<T>);
  });
  return tensor;
}

}  // namespace fixpoint::reference
