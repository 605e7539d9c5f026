// What the stages of an epilogue read, on the executor and on the reference interpreter.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "absl/strings/str_cat.h"
#include "tests/runtime/executor/both_backends.h"

namespace fixpoint::executor {
namespace {

constexpr char kCodes[] = "q u8[2,2] 255 1 0 200\nw i8[2,3] 127 -127 5 0 64 -1\n";

// Of a product of codes with one stage and its operand.
std::string DifferencesOf(const std::string& stage, const std::string& a, const std::string& scale,
                          const std::string& operand) {
  return OpDifferences(
      absl::StrCat("program version=2006002\nblock 0 {\n",
                   "integer_mul(X=q, Y=w, Scales=s, Operands=b) -> (Out=y) {epilogue=[\"", stage,
                   "\"], epilogue_a=[", a, "], epilogue_b=[0.0]}\n}"),
      absl::StrCat(kCodes, "s f32[1] ", scale, "\nb ", operand, "\n"), 0);
}

TEST(EpilogueOperands, SumsSaturateBeforeTheyAreRequantized) {
  for (const char* roundings : {"1.0", "2.0"}) {
    for (const char* scale : {"1", "1000000", "1e15", "-1e30", "inf", "nan"}) {
      for (const char* factors : {"0.5 0.25 0.00390625", "536870912 0 1", "1e-30 0.75 0.3"}) {
        EXPECT_EQ(DifferencesOf("requantize", roundings, scale, absl::StrCat("f32[3] ", factors)),
                  "")
            << scale << ", " << factors;
      }
    }
  }
}

TEST(EpilogueOperands, FactorsAreNumbersThatMultipliersHave) {
  for (const char* factor : {"-0.5", "1e9", "inf", "nan"}) {
    const std::string said =
        DifferencesOf("requantize", "1.0", "1", absl::StrCat("f32[3] 0.5 ", factor, " 1"));
    EXPECT_THAT(said, testing::ContainsRegex(
                          "executor: .*a factor of requantize is .*; want 0 to 2\\^29\n"
                          "interpreter: .*a factor of requantize is .*; want 0 to 2\\^29"))
        << factor;
  }
}

TEST(EpilogueOperands, CodesOfABiasAreAddedToChannelsAlone) {
  EXPECT_EQ(DifferencesOf("add_channel", "0.0", "1", "i32[3] -1000 33 1073741824"), "");
  EXPECT_THAT(DifferencesOf("add_channel", "0.0", "1", "i32[3] -1000 33 16777217"),
              testing::ContainsRegex("executor: .*a bias is 16777217; want .*\n"
                                     "interpreter: .*a bias is 16777217; want "));
  for (const char* stage : {"multiply_channel", "requantize"}) {
    const std::string want = absl::StrCat(".*the operand of ", stage, " is INT32; want FP32");
    EXPECT_THAT(DifferencesOf(stage, "1.0", "1", "i32[3] 1 2 3"),
                testing::ContainsRegex(absl::StrCat("executor: ", want)));
  }
  EXPECT_THAT(DifferencesOf("add_element", "0.0", "1", "i32[2,3] 1 2 3 4 5 6"),
              testing::ContainsRegex("executor: .*the operand of add_element is INT32; want FP32"));
}

}  // namespace
}  // namespace fixpoint::executor
