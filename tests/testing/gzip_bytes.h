// Gzipped bytes for tests of what reads them.

#ifndef FIXPOINT_TESTS_TESTING_GZIP_BYTES_H_
#define FIXPOINT_TESTS_TESTING_GZIP_BYTES_H_

#include <string>

#include "absl/strings/string_view.h"

namespace fixpoint {

// One gzip member that expands to `bytes`.
std::string GzipBytes(absl::string_view bytes);

}  // namespace fixpoint

#endif  // FIXPOINT_TESTS_TESTING_GZIP_BYTES_H_
