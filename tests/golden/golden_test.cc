// Makes every golden file a test named by its path. `./bazelw run //tests/golden:update` writes
// them anew.

#include "tests/testing/golden.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cctype>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <vector>

namespace fixpoint {
namespace {

std::vector<std::string> GoldenFiles() {
  std::vector<std::string> files;
  for (const auto& entry : std::filesystem::recursive_directory_iterator("tests/golden")) {
    if (entry.path().extension() == ".txt") files.push_back(entry.path().string());
  }
  std::sort(files.begin(), files.end());
  return files;
}

std::string TestName(const testing::TestParamInfo<std::string>& info) {
  std::string name = std::filesystem::path(info.param).stem().string();
  std::replace_if(
      name.begin(), name.end(), [](char c) { return std::isalnum(c) == 0; }, '_');
  return name;
}

// Whether there is anything to compare.
bool ShowsWhatIsMade(const Golden& golden) {
  return std::any_of(golden.sections.begin(), golden.sections.end(), [](const auto& section) {
    return section.first != "program" && section.first != "startup" &&
           section.first != "parameters";
  });
}

class GoldenTest : public testing::TestWithParam<std::string> {};

TEST_P(GoldenTest, IsWhatTheCodeMakes) {
  std::ifstream file(GetParam());
  const std::string text((std::istreambuf_iterator<char>(file)), std::istreambuf_iterator<char>());
  const absl::StatusOr<Golden> golden = ParseGolden(text, GetParam());
  ASSERT_TRUE(golden.ok()) << golden.status();
  EXPECT_TRUE(ShowsWhatIsMade(*golden)) << "want a section that the code makes, such as becomes";
  const absl::StatusOr<Golden> made = Regenerate(*golden, GetParam());
  ASSERT_TRUE(made.ok()) << made.status();
  EXPECT_EQ(PrintGolden(*made), text) << "./bazelw run //tests/golden:update makes it so";
}

INSTANTIATE_TEST_SUITE_P(Files, GoldenTest, testing::ValuesIn(GoldenFiles()), TestName);

}  // namespace
}  // namespace fixpoint
