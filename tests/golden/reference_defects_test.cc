// docs/reference_defects.md names goldens that are there, and every defect that a golden names.

#include <glog/logging.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <iterator>
#include <regex>
#include <set>
#include <string>

namespace fixpoint {
namespace {

std::string ReadFile(const std::filesystem::path& path) {
  std::ifstream file(path);
  CHECK(file.good()) << path;
  return std::string(std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>());
}

std::set<std::string> Matches(const std::string& text, const std::string& pattern) {
  const std::regex regex(pattern);
  std::set<std::string> found;
  for (std::sregex_iterator it(text.begin(), text.end(), regex), end; it != end; ++it) {
    found.insert((*it)[1]);
  }
  return found;
}

TEST(ReferenceDefects, NameGoldensThatAreThere) {
  const std::string page = ReadFile("docs/reference_defects.md");
  const std::set<std::string> goldens = Matches(page, "`(golden/[a-z_0-9/]+\\.txt)`");
  EXPECT_GT(goldens.size(), 40);
  for (const std::string& golden : goldens) {
    EXPECT_TRUE(std::filesystem::exists("tests/" + golden)) << golden;
  }
}

TEST(ReferenceDefects, OfGoldensAreAllOnThePage) {
  const std::set<std::string> defects =
      Matches(ReadFile("docs/reference_defects.md"), "\\n\\| (D[0-9]+) \\|");
  for (const auto& entry : std::filesystem::recursive_directory_iterator("tests/golden")) {
    if (entry.path().extension() != ".txt") continue;
    for (const std::string& defect : Matches(ReadFile(entry.path()), "\\b(D[0-9]+)\\b")) {
      EXPECT_THAT(defects, testing::Contains(defect)) << entry.path();
    }
  }
}

}  // namespace
}  // namespace fixpoint
