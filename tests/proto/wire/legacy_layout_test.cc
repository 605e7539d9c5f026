#include "proto/wire/legacy_layout.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "proto/text/program_text.h"
#include "proto/wire/legacy_layout.pb.h"
#include "proto/wire/program.pb.h"
#include "tests/testing/reference_data.h"
#include "tests/testing/text_format.h"

namespace fixpoint {
namespace {

using ::testing::HasSubstr;
using ::testing::StartsWith;

// The bytes of a program with one block that has one variable of an old layout.
template <typename OldVarDesc>
std::string OldProgram(const std::string& var) {
  LegacyProgramDesc program = FromTextFormat<LegacyProgramDesc>("blocks { idx: 0 parent_idx: -1 }");
  program.mutable_blocks(0)->add_vars(FromTextFormat<OldVarDesc>(var).SerializePartialAsString());
  return program.SerializeAsString();
}

ProgramDesc ParsedAsToday(const std::string& bytes) {
  ProgramDesc program;
  EXPECT_TRUE(program.ParsePartialFromString(bytes));
  return program;
}

// The converted program as text, or the error.
std::string Converted(const std::string& bytes) {
  const absl::StatusOr<ProgramDesc> program = ConvertLegacyLayout(bytes, "old");
  if (program.ok()) return PrintProgram(*program);
  EXPECT_EQ(program.status().code(), absl::StatusCode::kInvalidArgument);
  return std::string(program.status().message());
}

std::string BlockOf(const std::string& var) {
  return absl::StrCat("program\nblock 0 {\n  ", var, "\n}\n");
}

TEST(LegacyLayout, ProgramsOfRelease011AreConverted) {
  const std::pair<const char*, const char*> kCases[] = {
      {"type: 1 lod_tensor { tensor { data_type: FP32 dims: -1 dims: 4 } lod_level: 0 }",
       "var x f32[-1,4] lod=0"},
      {"type: 1 lod_tensor { tensor { data_type: INT64 dims: 1 } } persistable: true",
       "var x i64[1] persistable"},
      {"type: 2 selected_rows { data_type: FP32 dims: 9 } persistable: false",
       "var x selected_rows f32[9] persistable=false"},
      {"type: 3", "var x feed_minibatch"},
      {"type: 4", "var x fetch_list"},
      {"type: 5", "var x step_scopes"},
      {"type: 6", "var x lod_rank_table"},
      {"type: 7 tensor_array { tensor { data_type: FP64 } lod_level: 1 }",
       "var x tensor_array f64[] lod=1"},
      {"type: 8", "var x place_list"},
  };
  for (const auto& [var, text] : kCases) {
    const std::string bytes = OldProgram<LegacyVarDesc>(absl::StrCat("name: 'x' ", var));
    EXPECT_TRUE(HasLegacyLayout(ParsedAsToday(bytes))) << var;
    EXPECT_EQ(Converted(bytes), BlockOf(text)) << var;
  }
}

TEST(LegacyLayout, ProgramsOfTheWeekBetweenAreConverted) {
  const std::pair<const char*, const char*> kCases[] = {
      {"type: 1 lod_tensor { tensor { data_type: FP32 dims: 4 } } persistable: true",
       "var x f32[4] persistable"},
      {"type: 2 selected_rows { data_type: FP32 dims: 9 } persistable: false",
       "var x selected_rows f32[9] persistable=false"},
      {"type: 7 tensor_array { tensor { data_type: BOOL } } persistable: false",
       "var x tensor_array bool[] persistable=false"},
      {"type: 9 reader { lod_tensor { tensor { data_type: FP32 } } "
       "lod_tensor { tensor { data_type: INT64 dims: 1 } lod_level: 1 } }",
       "var x reader(f32[], i64[1] lod=1)"},
  };
  for (const auto& [var, text] : kCases) {
    const std::string bytes = OldProgram<TransitionalVarDesc>(absl::StrCat("name: 'x' ", var));
    EXPECT_TRUE(HasLegacyLayout(ParsedAsToday(bytes))) << var;
    EXPECT_EQ(Converted(bytes), BlockOf(text)) << var;
  }
}

TEST(LegacyLayout, TodaysProgramsAreNotLegacy) {
  const absl::StatusOr<ProgramDesc> program =
      ParseProgramText("var x f32[1]\nvar y raw persistable", "today");
  ASSERT_TRUE(program.ok()) << program.status();
  EXPECT_FALSE(HasLegacyLayout(*program));
  EXPECT_FALSE(HasLegacyLayout(ProgramDesc()));
}

TEST(LegacyLayout, WhatNeitherLayoutHasIsRefused) {
  const std::string neither =
      "old: block 0, variable 0 is laid out neither as it was before February 2018 nor as it is "
      "since; expected one of the two";
  EXPECT_EQ(Converted(OldProgram<LegacyVarDesc>("name: 'x'")), neither);
  EXPECT_EQ(Converted(OldProgram<LegacyVarDesc>("type: 1")), neither);
  EXPECT_EQ(Converted(OldProgram<VarDesc>("name: 'x' type { type: RAW }")), neither);
  EXPECT_EQ(
      Converted(OldProgram<LegacyVarDesc>("name: 'x' type: 0")),
      "old: block 0, variable 0 \"x\" is of type 0; expected 1 to 9, as before February 2018");
  EXPECT_EQ(
      Converted(OldProgram<LegacyVarDesc>("name: 'x' type: 10")),
      "old: block 0, variable 0 \"x\" is of type 10; expected 1 to 9, as before February 2018");
  const std::string later =
      "old: block 0, variable 0 \"x\" has elements of a type that came later; expected bool to "
      "f64, as before February 2018";
  for (const char* var : {"type: 1 lod_tensor { tensor { data_type: INT8 } }",
                          "type: 1 lod_tensor { tensor { dims: 1 } }", "type: 1 lod_tensor {}",
                          "type: 2 selected_rows { data_type: UINT8 }",
                          "type: 7 tensor_array { tensor { data_type: LOD_TENSOR } }"}) {
    EXPECT_EQ(Converted(OldProgram<LegacyVarDesc>(absl::StrCat("name: 'x' ", var))), later) << var;
  }
  EXPECT_EQ(Converted(OldProgram<TransitionalVarDesc>(
                "name: 'x' type: 9 reader { lod_tensor { tensor { data_type: BF16 } } }")),
            later);
}

TEST(LegacyLayout, FieldsThatCameLaterAreRefused) {
  EXPECT_EQ(Converted(FromTextFormat<ProgramDesc>("version { version: 0 }").SerializeAsString()),
            "old: has fields that a program before February 2018 does not; expected blocks");
  EXPECT_EQ(Converted(FromTextFormat<ProgramDesc>(
                          "blocks { idx: 0 parent_idx: -1 forward_block_idx: -1 }")
                          .SerializeAsString()),
            "old: block 0 has fields that no block had before February 2018; expected idx, "
            "parent_idx, vars and ops");
  EXPECT_EQ(Converted("\xff"),
            "old: is not a program as it was before February 2018; expected one");
}

TEST(LegacyLayout, ARealProgramOfJanuary2018IsConverted) {
  SKIP_WITHOUT_REFERENCE_DATA();
  const std::string bytes =
      ReadFileOrDie(ReferencePath("models/legacy_2018-01_mlp_train_NOT_PARSEABLE.__model__"));
  EXPECT_TRUE(HasLegacyLayout(ParsedAsToday(bytes)));
  const std::string text = Converted(bytes);
  EXPECT_THAT(text, StartsWith("program\nblock 0 {\n  var fc_2.tmp_2@GRAD f32[-1,10] lod=0\n"));
  EXPECT_THAT(text, HasSubstr("\n  var fc_1.w_0 f32[200,200] persistable\n"));
  EXPECT_THAT(text, HasSubstr("\n  mul(X=img, Y=fc_0.w_0) -> (Out=fc_0.tmp_0) "
                              "{y_num_col_dims=1, x_num_col_dims=1}\n"));
  EXPECT_THAT(text, HasSubstr("\n  softmax(X=fc_2.tmp_1) -> (Out=fc_2.tmp_2) is_target\n"));
}

TEST(LegacyLayout, NoOtherReferenceProgramIsLegacy) {
  SKIP_WITHOUT_REFERENCE_DATA();
  for (const std::string& path : ReferencePrograms()) {
    if (absl::StrContains(path, "NOT_PARSEABLE")) continue;
    EXPECT_FALSE(HasLegacyLayout(ParsedAsToday(ReadFileOrDie(path)))) << path;
  }
}

}  // namespace
}  // namespace fixpoint
