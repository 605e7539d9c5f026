// The real programs and data sets that may stand beside a checkout
// (third_party/reference_data.bzl).

#ifndef FIXPOINT_TESTS_TESTING_REFERENCE_DATA_H_
#define FIXPOINT_TESTS_TESTING_REFERENCE_DATA_H_

#include <string>
#include <vector>

#include "absl/strings/string_view.h"

namespace fixpoint {

// The path of `name` ("models/resnet50_v3_0.pdmodel") in a test's runfiles, or "" where the
// reference data is absent. The test's target names what it reads as data.
std::string ReferencePath(absl::string_view name);

// Every file below models/ that holds a program, gzipped ones too, sorted. Empty where absent.
std::vector<std::string> ReferencePrograms();

// The bytes of a file; gunzipped where the name ends in ".gz".
std::string ReadFileOrDie(const std::string& path);

// Ends a test that needs the programs of the reference data where they are absent.
#define SKIP_WITHOUT_REFERENCE_DATA() SKIP_WITHOUT_REFERENCE_PATH("models")

// The same for the path `name`, which the test's target names as data.
#define SKIP_WITHOUT_REFERENCE_PATH(name)                                                \
  if (::fixpoint::ReferencePath(name).empty()) {                                         \
    GTEST_SKIP() << "no reference data beside this checkout (FIXPOINT_REFERENCE_DATA): " \
                 << (name);                                                              \
  }                                                                                      \
  static_assert(true, "")

}  // namespace fixpoint

#endif  // FIXPOINT_TESTS_TESTING_REFERENCE_DATA_H_
