// A tensor as the interpreter computes with it: every element a double, whatever its type; or a
// table of selected rows, or an array of tensors.

#ifndef FIXPOINT_RUNTIME_REFERENCE_ARRAY_H_
#define FIXPOINT_RUNTIME_REFERENCE_ARRAY_H_

#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "absl/status/statusor.h"
#include "ops/dims.h"
#include "proto/wire/program.pb.h"
#include "runtime/tensor.h"

namespace fixpoint::reference {

// Rows of a table: of row `ids[i]`, elements i * width to (i + 1) * width of `values`. An id may be
// there more than once.
struct TableRows {
  std::vector<int64_t> ids;
  std::vector<double> values;
};

// Row major. A double holds every value of the supported types, except that INT64 and SIZE_T are
// exact only up to 2^53 in magnitude; larger ones are rounded to a multiple of a power of two.
struct Array {
  Array() = default;
  // Zeros. Throws std::length_error or std::bad_alloc if there is no memory for them, which the
  // interpreter turns into an error of the op. Without elements the other extents are limited too,
  // to 2^28 together, because loops run over them.
  Array(VarType::Type dtype, DimsView dims);

  // Changes the dims. Throws as above. REQUIRES: the number of elements stays the same.
  void Reshape(DimsView dims);

  int64_t size() const { return static_cast<int64_t>(values.size()); }
  int rank() const { return static_cast<int>(dims.size()); }
  double& operator[](int64_t i) { return values[i]; }
  double operator[](int64_t i) const { return values[i]; }

  VarType::Type dtype = VarType::FP32;
  Dims dims;
  LoD lod;
  std::vector<double> values;
  // The rows that it was made of, if it is a table of selected rows (selected_rows.h): those of one
  // id are added up in `values`, and all others are 0.
  std::shared_ptr<const TableRows> rows;
  // Of an array of tensors, which has nothing else: null where none was written.
  std::optional<std::vector<std::shared_ptr<const Array>>> elements;
};

// The product of the extents, none of which is negative; the largest int64 where it is more.
int64_t Volume(DimsView dims);

// BOOL, integers of 8 to 64 bits, SIZE_T, FP32, FP64.
bool IsSupported(VarType::Type dtype);
bool IsFloatingPoint(VarType::Type dtype);

// `value` converted to that type. Floating point: the nearest, ties to even. Integers: towards
// zero, clamped to the type's range, NaN to 0. BOOL: whether it is not 0. REQUIRES:
// IsSupported(dtype).
double Rounded(double value, VarType::Type dtype);

// A float as a double, and its bits again: those of a NaN too, whose payload a conversion keeps and
// whose first fraction bit it may set. Rows of codes are declared as floats and hold any bits.
double Widened(float value);
uint32_t FloatBits(double value);

// The integer that an element holds, rounded as to INT64.
int64_t ToInt(double value);

// Errors: kUnimplemented: an element type that is not supported; kFailedPrecondition: no memory.
absl::StatusOr<Array> ArrayOf(const Tensor& tensor);
// REQUIRES: IsSupported(array.dtype), and its values are of that type. Error
// (kFailedPrecondition): no memory.
absl::StatusOr<Tensor> TensorOf(const Array& array);

}  // namespace fixpoint::reference

#endif  // FIXPOINT_RUNTIME_REFERENCE_ARRAY_H_
