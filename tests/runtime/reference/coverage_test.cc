// Which op types of the reference programs have a kernel.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <set>
#include <string>

#include "absl/strings/match.h"
#include "absl/strings/string_view.h"
#include "proto/file/program_file.h"
#include "runtime/reference/kernels.h"
#include "tests/testing/reference_data.h"

namespace fixpoint::reference {
namespace {

using ::testing::ElementsAre;

// The op types without a kernel in the programs below a folder of models.
std::set<std::string> WithoutKernel(absl::string_view folder) {
  std::set<std::string> missing;
  for (const std::string& path : ReferencePrograms()) {
    if (!absl::StrContains(path, folder)) continue;
    const absl::StatusOr<LoadedProgram> loaded = LoadProgram(path);
    EXPECT_TRUE(loaded.ok()) << loaded.status();
    for (const BlockDesc& block : loaded->program->blocks()) {
      for (const OpDesc& op : block.ops()) {
        const bool is_known =
            op.type() == "feed" || op.type() == "fetch" || FindKernel(op.type()) != nullptr;
        if (!is_known) missing.insert(op.type());
      }
    }
  }
  return missing;
}

TEST(Kernels, OfGeneratedProgramsAreAllThere) {
  SKIP_WITHOUT_REFERENCE_DATA();
  EXPECT_THAT(WithoutKernel("models/generated/"), ElementsAre());
}

TEST(Kernels, OfNetworksWithParametersAreAllThere) {
  SKIP_WITHOUT_REFERENCE_DATA();
  EXPECT_THAT(WithoutKernel("models/with_params/"), ElementsAre());
}

}  // namespace
}  // namespace fixpoint::reference
