// An array of which some rows are read at a time: one in memory, or a .npy file, which may be
// larger than memory. A file is read, not mapped: what was read does not count as memory of the
// process, and a file that is cut meanwhile is an error and no signal.

#ifndef FIXPOINT_RUNTIME_DATA_STORED_ARRAY_H_
#define FIXPOINT_RUNTIME_DATA_STORED_ARRAY_H_

#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "proto/wire/program.pb.h"
#include "runtime/tensor.h"

namespace fixpoint {

class StoredArray {
 public:
  // Elements in Fortran order and those of a pipe are read into memory. Errors, with the name of
  // the file: those of LoadNpy.
  static absl::StatusOr<StoredArray> Open(const std::string& path);

  // `place` is where the tensor was read from, for messages.
  StoredArray(std::string place, Tensor tensor);

  const std::string& place() const { return place_; }
  VarType::Type dtype() const { return dtype_; }
  const std::vector<int64_t>& dims() const { return dims_; }

  // Reads rows [begin, end) along the first axis. Errors, with the place: kDataLoss where the file
  // was cut since it was opened; kInvalidArgument for a BOOL that is neither 0 nor 1. REQUIRES: the
  // array has an axis and these rows, and `out` is as large as they are.
  absl::Status ReadRows(int64_t begin, int64_t end, absl::Span<uint8_t> out) const;

  // The whole array.
  absl::StatusOr<Tensor> Read() const;

 private:
  StoredArray(std::string path, VarType::Type dtype, std::vector<int64_t> dims);

  std::string place_;
  VarType::Type dtype_;
  std::vector<int64_t> dims_;
  std::shared_ptr<const Tensor> tensor_;  // null: the elements are in a file
  std::shared_ptr<const int> file_;       // its descriptor
  uint64_t elements_at_ = 0;              // the byte where its elements begin
};

}  // namespace fixpoint

#endif  // FIXPOINT_RUNTIME_DATA_STORED_ARRAY_H_
