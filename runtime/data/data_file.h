// The files of data sets, which are gzipped or not.

#ifndef FIXPOINT_RUNTIME_DATA_DATA_FILE_H_
#define FIXPOINT_RUNTIME_DATA_DATA_FILE_H_

#include <string>

#include "absl/status/statusor.h"

namespace fixpoint {

// The bytes of the file at `path`, "-" for standard input; of a gzipped one, those that it expands
// to. Errors: kNotFound; kInvalidArgument for what cannot be read, and for more than 4 GiB as it is
// or expanded, or more than MostExpandedBytes (proto/file/gzip.h); kDataLoss for a gzip stream that
// is damaged.
absl::StatusOr<std::string> ReadDataFile(const std::string& path);

}  // namespace fixpoint

#endif  // FIXPOINT_RUNTIME_DATA_DATA_FILE_H_
