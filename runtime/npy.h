// NumPy array files (.npy): "\x93NUMPY", a version, the length of a header, the header
// (runtime/npy_header.h) and the elements. docs/data_files.md says what is read and written.

#ifndef FIXPOINT_RUNTIME_NPY_H_
#define FIXPOINT_RUNTIME_NPY_H_

#include <string>

#include "absl/status/statusor.h"
#include "runtime/byte_reader.h"
#include "runtime/npy_header.h"
#include "runtime/tensor.h"

namespace fixpoint {

// Reads what stands before the elements of an array. Errors as below.
absl::StatusOr<NpyHeader> ReadNpyHeader(ByteReader& reader);

// Reads one array, of version 1.0, 2.0 or 3.0, up to its last element. Elements in Fortran order
// are put into C order, for which both orders are in memory for a moment; else no more memory is
// taken than bytes are there. Errors name the byte:
//   kDataLoss         the bytes end too early
//   kInvalidArgument  they are no array, or contradict each other
//   kUnimplemented    another version, or elements that no tensor has: big endian, records, text,
//                     Python objects
absl::StatusOr<Tensor> ReadNpy(ByteReader& reader);

// The same for an array after which nothing may follow.
absl::StatusOr<Tensor> ReadWholeNpy(ByteReader& reader);

// Reads the file at `path`, which has to end with the array. Errors as above, with the name of the
// file, and kNotFound.
absl::StatusOr<Tensor> LoadNpy(const std::string& path);

// The bytes before the elements in a file of version 1.0, padded with blanks so that the elements
// start at a multiple of 64. Later releases of NumPy leave more of them after a long header.
// Errors: as NpyHeaderText; kUnimplemented for offsets of sequences, which an array does not have.
absl::StatusOr<std::string> NpyPreamble(const Tensor& tensor);

// A whole file. Errors as above.
absl::StatusOr<std::string> NpyBytes(const Tensor& tensor);

}  // namespace fixpoint

#endif  // FIXPOINT_RUNTIME_NPY_H_
