// The description at the head of a NumPy array file: a Python dictionary as text,
//
//   {'descr': '<f4', 'fortran_order': False, 'shape': (2, 3), }
//
// Source: NEP 1, "A Simple File Format for NumPy Arrays", and numpy.lib.format.

#ifndef FIXPOINT_RUNTIME_NPY_HEADER_H_
#define FIXPOINT_RUNTIME_NPY_HEADER_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "proto/wire/program.pb.h"
#include "runtime/tensor.h"

namespace fixpoint {

struct NpyHeader {
  VarType::Type dtype;
  bool fortran_order;  // The first index runs fastest, not the last.
  std::vector<int64_t> dims;
};

// The keys may stand in any order, as Python reads them. `position` is that of `text` in its file,
// for errors, which name the byte: kInvalidArgument for what is no such dictionary, kUnimplemented
// for elements that a tensor does not have, and for more than kMostDims dimensions.
absl::StatusOr<NpyHeader> ParseNpyHeader(absl::string_view text, uint64_t position);

// Without padding. kUnimplemented for BF16, which NumPy does not have, and for more than kMostDims
// dimensions.
absl::StatusOr<std::string> NpyHeaderText(const Tensor& tensor);

}  // namespace fixpoint

#endif  // FIXPOINT_RUNTIME_NPY_HEADER_H_
