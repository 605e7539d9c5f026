#include "runtime/data/data_file.h"

#include <algorithm>
#include <cstddef>

#include "proto/base/status_macros.h"
#include "proto/file/gzip.h"
#include "proto/file/input_file.h"

namespace fixpoint {

absl::StatusOr<std::string> ReadDataFile(const std::string& path) {
  constexpr size_t kMaxBytes = size_t{1} << 32;
  ASSIGN_OR_RETURN(std::string bytes, ReadInputFile(path, kMaxBytes));
  if (!IsGzip(bytes)) return bytes;
  return Gunzip(bytes, std::min(kMaxBytes, MostExpandedBytes(bytes.size())), InputName(path));
}

}  // namespace fixpoint
