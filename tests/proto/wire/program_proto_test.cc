// The messages alone: what the reference wrote is read and written back byte for byte.

#include <gtest/gtest.h>

#include "absl/strings/match.h"
#include "proto/wire/program.pb.h"
#include "tests/testing/reference_data.h"

namespace fixpoint {
namespace {

TEST(ProgramProto, EveryReferenceProgramComesBackByteForByte) {
  SKIP_WITHOUT_REFERENCE_DATA();
  const std::vector<std::string> paths = ReferencePrograms();
  EXPECT_GE(paths.size(), 144u);
  for (const std::string& path : paths) {
    if (absl::StrContains(path, "NOT_PARSEABLE")) continue;  // the layout before February 2018
    const std::string bytes = ReadFileOrDie(path);
    ProgramDesc program;
    ASSERT_TRUE(program.ParseFromString(bytes)) << path;
    EXPECT_TRUE(program.SerializeAsString() == bytes) << path;
  }
}

}  // namespace
}  // namespace fixpoint
