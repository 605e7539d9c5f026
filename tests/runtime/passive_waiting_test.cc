// A process whose threads are to wait passively begins anew with that in its environment, once.

#include "runtime/passive_waiting.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <fstream>
#include <iterator>
#include <string>
#include <utility>

#include "absl/strings/str_split.h"
#include "absl/types/span.h"

namespace fixpoint {
namespace {

// What googletest leaves of those of main.
absl::Span<char* const> arguments;

// What the process was begun with, whatever it has set since.
std::string AtTheBeginning(const std::string& name) {
  std::ifstream file("/proc/self/environ");
  const std::string all{std::istreambuf_iterator<char>(file), {}};
  for (const absl::string_view entry : absl::StrSplit(all, '\0')) {
    const std::pair<absl::string_view, absl::string_view> variable =
        absl::StrSplit(entry, absl::MaxSplits('=', 1));
    if (variable.first == name) return std::string(variable.second);
  }
  return "";
}

TEST(PassiveWaiting, IsInTheEnvironmentUnlessThatSaysOtherwise) {
  EXPECT_EQ(AtTheBeginning("OMP_WAIT_POLICY"), arguments[1]);
  EXPECT_EQ(AtTheBeginning("GOMP_SPINCOUNT"), arguments[2]);
}

TEST(PassiveWaiting, KeepsArguments) {
  EXPECT_EQ(arguments.size(), 4);
  EXPECT_STREQ(arguments[3], "two words");
}

}  // namespace
}  // namespace fixpoint

int main(int argc, char** argv) {
  fixpoint::WaitPassively(argv);
  testing::InitGoogleTest(&argc, argv);
  fixpoint::arguments = absl::MakeConstSpan(argv, argc);
  return RUN_ALL_TESTS();
}
