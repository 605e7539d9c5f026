// Makes every case of tests/hostile/cases a test. `./bazelw run //tests/hostile:update` writes them
// anew.

#include <gtest/gtest.h>

#include <algorithm>
#include <cctype>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "tests/hostile/hostile_case.h"

namespace fixpoint {
namespace {

struct Param {
  std::string file;
  HostileTable table;  // of one case
};

std::vector<Param> AllCases() {
  std::vector<Param> all;
  for (const auto& entry : std::filesystem::directory_iterator("tests/hostile/cases")) {
    std::ifstream file(entry.path());
    const std::string text((std::istreambuf_iterator<char>(file)),
                           std::istreambuf_iterator<char>());
    const absl::StatusOr<HostileTable> table = ParseHostileTable(text, entry.path().string());
    EXPECT_TRUE(table.ok()) << table.status();
    if (!table.ok()) continue;
    EXPECT_EQ(PrintHostileTable(*table), text) << entry.path();
    for (const HostileCase& c : table->cases) {
      all.push_back({entry.path().stem().string(), {"", table->common, {c}}});
    }
  }
  std::sort(all.begin(), all.end(), [](const Param& a, const Param& b) { return a.file < b.file; });
  return all;
}

std::string TestName(const testing::TestParamInfo<Param>& info) {
  std::string name = absl::StrCat(info.param.file, "_", info.param.table.cases[0].title);
  std::replace_if(
      name.begin(), name.end(), [](char c) { return std::isalnum(c) == 0; }, '_');
  return name;
}

class HostileTest : public testing::TestWithParam<Param> {};

TEST_P(HostileTest, IsRefusedAsWritten) {
  const HostileTable& wanted = GetParam().table;
  const absl::StatusOr<HostileCase> made = RunHostileCase(wanted, wanted.cases[0]);
  ASSERT_TRUE(made.ok()) << made.status();
  EXPECT_EQ(PrintHostileTable({"", {}, {*made}}), PrintHostileTable({"", {}, wanted.cases}))
      << "./bazelw run //tests/hostile:update makes it so";
  EXPECT_LE(made->exit_code, 5) << made->error;
}

INSTANTIATE_TEST_SUITE_P(Cases, HostileTest, testing::ValuesIn(AllCases()), TestName);

}  // namespace
}  // namespace fixpoint
