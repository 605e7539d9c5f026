// The tensors of a parameter file or folder, read without the program that it belongs to.

#ifndef FIXPOINT_RUNTIME_STORED_TENSORS_H_
#define FIXPOINT_RUNTIME_STORED_TENSORS_H_

#include <functional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "runtime/tensor.h"

namespace fixpoint {

using TensorVisitor = std::function<void(absl::string_view name, const Tensor& tensor)>;

// A file of a folder that begins with no tensor.
struct FileLeftOut {
  std::string name;  // its path in the folder
  absl::Status why;
};

// Visits the tensors of the combined file `path` in their order, with "" as the name, because such
// a file holds none; or those of a folder with one file for each, sub-folders included, with the
// paths in it as names, in ascending byte-wise order. Holds one tensor at a time. Returns the files
// of the folder that begin with no dense tensor, such as a program beside its parameters.
//
// Errors start with the file and the byte: those of ByteReader::Open and of tensor_stream.h, and
// kInvalidArgument for a folder without any tensor, or in which a tensor's file goes on after it.
absl::StatusOr<std::vector<FileLeftOut>> VisitStoredTensors(const std::string& path,
                                                            const TensorVisitor& visit);

}  // namespace fixpoint

#endif  // FIXPOINT_RUNTIME_STORED_TENSORS_H_
