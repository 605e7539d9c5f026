// Programs that need more memory than there is.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "proto/program/program.h"
#include "runtime/executor/executor.h"
#include "runtime/scope.h"
#include "tests/runtime/executor/both_backends.h"
#include "tests/testing/parameter_text.h"
#include "tests/testing/parsed_program.h"

namespace fixpoint::executor {
namespace {

using ::testing::HasSubstr;

absl::Status StatusOf(absl::string_view ops) {
  const Program program =
      ParsedProgram(absl::StrCat("program version=2006002\nblock 0 {\n", ops, "\n}\n"));
  Scope scope = *ParseParameters("x f32[2,3] 1 2 3 4 5 6\n", "scope");
  const auto executor = Executor::Create(program, &scope);
  EXPECT_TRUE(executor.ok()) << executor.status();
  return (*executor)->Run({}, {"y"}, 0).status();
}

// More bytes, or elements, than an int64 counts.
TEST(Memory, IsRefusedWhereItsSizeOverflows) {
  for (const char* op : {
           "fill_constant() -> (Out=y) {shape=[2147483647L, 2147483647L], dtype=5, value=1.0}",
           "fill_constant() -> (Out=y) {"
           "shape=[2147483647L, 2147483647L, 2147483647L, 4L], dtype=5, value=1.0}",
           "uniform_random() -> (Out=y) {shape=[2147483647L, 2147483647L], dtype=5}",
           "gaussian_random() -> (Out=y) {shape=[2147483647L, 2147483647L], dtype=5}",
       }) {
    const absl::Status status = StatusOf(op);
    EXPECT_EQ(status.code(), absl::StatusCode::kFailedPrecondition) << op << status;
    EXPECT_THAT(status.message(), HasSubstr("there is no memory for \"y\"")) << op;
  }
}

// A plan that runs keeps its memory where there is none for another.
TEST(Memory, ThatIsNotThereLeavesOtherPlansAsTheyAre) {
  const Program program = ParsedProgram(R"(program version=2006002
    block 0 {
      relu(X=x) -> (Out=a)
      sigmoid(X=a) -> (Out=y)
      fill_constant() -> (Out=large) {shape=[2147483647L, 131072L], dtype=5, value=1.0}
      mean(X=large) -> (Out=z)
    })");
  Scope scope = *ParseParameters("x f32[3] 1 2 3\n", "scope");
  const auto executor = Executor::Create(program, &scope);
  ASSERT_TRUE(executor.ok()) << executor.status();
  const auto before = (*executor)->Run({}, {"y"}, 0);
  const absl::Status refused = (*executor)->Run({}, {"z"}, 0).status();
  const auto after = (*executor)->Run({}, {"y"}, 0);
  ASSERT_TRUE(before.ok() && after.ok());
  EXPECT_EQ(refused.code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_THAT(refused.message(), HasSubstr("there is no memory for \"large\""));
  EXPECT_EQ((*after)[0].bytes(), (*before)[0].bytes());
}

// References to types stay valid while the plan writes other values.
TEST(Memory, OfTypesStaysWhileOthersAreWritten) {
  std::string ops = "var n i64[1] persistable\n";
  std::vector<std::string> fetches;
  std::string last = "x";
  for (int i = 0; i < 40; ++i) {
    const std::string zeros = absl::StrCat("a", i);
    const std::string selected = absl::StrCat("b", i);
    absl::StrAppend(&ops, "fill_zeros_like(X=", last, ") -> (Out=", zeros, ")\n",
                    "select_from_step(X=", zeros, ", Step=n) -> (Out=", selected,
                    ") {from_step=9L}\n");
    fetches.insert(fetches.end(), {zeros, selected});
    last = selected;
  }
  EXPECT_EQ(OpDifferences(absl::StrCat("program version=2006002\nblock 0 {\n", ops, "}\n"),
                          "x f32[2,2] 1 2 3 4\nn i64[1] 3\n", 0, fetches),
            "");
}

}  // namespace
}  // namespace fixpoint::executor
