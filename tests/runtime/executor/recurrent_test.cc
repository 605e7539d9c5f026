// A block that runs for each step of a sequence, on the executor and on the reference interpreter.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "tests/runtime/executor/both_backends.h"

namespace fixpoint::executor {
namespace {

// Running sums of the steps of x, which begin with m.
constexpr char kSums[] = R"(program version=2006002
  block 0 {
    var x f32[3,2]
    var m f32[2]
    var sums f32[3,2]
    var scopes step_scopes
    recurrent(inputs=x, initial_states=m) -> (outputs=sums, step_scopes=scopes) {
      sub_block=block(1), ex_states=["before"], states=["after"], has_states=true}
    scale(X=sums) -> (Out=out) {scale=1.0}
  }
  block 1 parent=0 {
    var x f32[2]
    var before f32[2]
    var after f32[2]
    var sums f32[2]
    elementwise_add(X=x, Y=before) -> (Out=after)
    assign(X=after) -> (Out=sums)
  })";
constexpr char kValues[] = "x f32[3,2] 1 2 3 4 5 6\nm f32[2] 10 20\n";

TEST(Recurrent, CarriesItsStateFromStepToStep) {
  for (const char* reverse : {"false", "true"}) {
    const std::string program = absl::StrReplaceAll(
        kSums, {{"has_states=true", absl::StrCat("has_states=true, reverse=", reverse)},
                {"scale=1.0", absl::StrCat("scale=", 2.0)}});
    EXPECT_EQ(OpDifferences(program, kValues, 0, {"sums", "out"}), "") << reverse;
  }
}

// What depends neither on a step nor on a state is computed before the first step.
TEST(Recurrent, ComputesOnceWhatNoStepChanges) {
  const std::string program = absl::StrReplaceAll(
      kSums,
      {{"var m f32[2]\n", "var m f32[2]\n    var k f32[2]\n"},
       {"elementwise_add(X=x, Y=before) -> (Out=after)",
        "scale(X=k) -> (Out=k3) {scale=3.0}\n    elementwise_mul(X=k3, Y=before) -> (Out=b)\n"
        "    elementwise_add(X=x, Y=b) -> (Out=after)"}});
  EXPECT_EQ(OpDifferences(program, absl::StrCat(kValues, "k f32[2] 0.5 -1\n"), 0, {"sums", "out"}),
            "");
}

// What one state leaves is what another one finds.
TEST(Recurrent, ExchangesStates) {
  const std::string program =
      absl::StrReplaceAll(kSums, {{"initial_states=m", "initial_states=[m, m]"},
                                  {"[\"before\"]", "[\"before\", \"other\"]"},
                                  {"[\"after\"]", "[\"copy\", \"after\"]"},
                                  {"var after f32[2]",
                                   "var after f32[2]\nvar other f32[2]\n"
                                   "var copy f32[2]\n"
                                   "assign(X=other) -> (Out=copy)"}});
  EXPECT_EQ(OpDifferences(program, kValues, 0, {"sums", "out"}), "");
}

TEST(Recurrent, AnErrorSaysWhatIsWrongWithItsStepsOrStates) {
  struct Case {
    const char* from;
    const char* to;
    const char* values;
    const char* error;
  };
  const Case kCases[] = {
      {"", "", "x f32[0,2]\nm f32[2] 10 20\n", "want one or more steps along the first axis"},
      {"", "", "x f32[3,2] 1 2 3 4 5 6\n", "has no value"},
      {"[\"before\"]", "[\"nowhere\"]", kValues, "block 1 declares no \"nowhere\""},
      {"[\"after\"]", "[\"after\", \"after\"]", kValues, "want one in each for each"},
      {"[\"after\"]", "[\"x\"]", kValues, "has no value after a step"},
      {"inputs=x, ", "", kValues, "want"},
  };
  for (const Case& c : kCases) {
    std::string program = kSums;
    if (*c.from != '\0') program = absl::StrReplaceAll(program, {{c.from, c.to}});
    EXPECT_THAT(OpDifferences(program, c.values, 0, {"sums"}), testing::HasSubstr(c.error))
        << c.from << " " << c.to;
  }
}

}  // namespace
}  // namespace fixpoint::executor
