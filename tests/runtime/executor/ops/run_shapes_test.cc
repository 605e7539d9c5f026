// Values whose extents a run decides, on the executor and on the reference interpreter.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "proto/program/program.h"
#include "runtime/executor/executor.h"
#include "runtime/executor/plan.h"
#include "runtime/scope.h"
#include "tests/runtime/executor/both_backends.h"
#include "tests/testing/parameter_text.h"
#include "tests/testing/parsed_program.h"

namespace fixpoint::executor {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

constexpr char kCondition[] = "c bool[2,3] 1 0 1 0 0 1\n";

TEST(RunShapes, AreWhatIsTrue) {
  EXPECT_EQ(
      OpDifferences(R"(program version=2006002
      block 0 {
        where_index(Condition=c) -> (Out=all)
        where_index(Condition=none) -> (Out=empty)
        where_index(Condition=x) -> (Out=not_zero)
      })",
                    "c bool[2,3] 1 0 1 0 0 1\nnone i32[4] 0 0 0 0\nx f32[2,1,2] 0 nan -1 0\n"),
      "");
}

// Elements after the rows that there are count nowhere.
TEST(RunShapes, PassThroughOpsThatTakeThem) {
  EXPECT_EQ(OpDifferences(R"(program version=2006002
      block 0 {
        where_index(Condition=c) -> (Out=places)
        assign(X=places) -> (Out=assigned)
        scale(X=places) -> (Out=scaled) {scale=2.0, bias=1.0}
        cast(X=places) -> (Out=numbers) {in_dtype=3, out_dtype=5}
        scale(X=numbers) -> (Out=halved) {scale=0.5}
        relu(X=halved) -> (Out=positive)
        reciprocal(X=positive) -> (Out=inverse)
        slice(Input=places) -> (Out=column) {axes=[1], starts=[1], ends=[2]}
        slice(Input=places) -> (Out=row) {axes=[1], starts=[0], ends=[1], decrease_axis=[1]}
        shape(Input=places) -> (Out=extents)
        gather(X=table, Index=row) -> (Out=rows)
        gather(X=places, Index=first) -> (Out=some)
        gather(X=places, Index=row) -> (Out=picked)
      })",
                          std::string(kCondition) + "table f32[2,2] 1 2 3 4\nfirst i32[2] 1 0\n"),
            "");
}

TEST(RunShapes, MayHaveNoRows) {
  EXPECT_EQ(OpDifferences(R"(program version=2006002
      block 0 {
        where_index(Condition=c) -> (Out=places)
        cast(X=places) -> (Out=numbers) {in_dtype=3, out_dtype=5}
        exp(X=numbers) -> (Out=grown)
        slice(Input=places) -> (Out=row) {axes=[1], starts=[0], ends=[1], decrease_axis=[1]}
        gather(X=table, Index=row) -> (Out=rows)
      })",
                          "c i64[2,2] 0 0 0 0\ntable f32[2,2] 1 2 3 4\n"),
            "");
}

TEST(RunShapes, AreRefusedByOpsThatDoNotTakeThem) {
  EXPECT_THAT(OpDifferences(R"(program version=2006002
      block 0 {
        where_index(Condition=c) -> (Out=places)
        cast(X=places) -> (Out=numbers) {in_dtype=3, out_dtype=5}
        transpose2(X=numbers) -> (Out=y, XShape=s) {axis=[1, 0]}
      })",
                            kCondition),
              HasSubstr("block 0, op 2 (transpose2): \"numbers\" has extents that block 0, op 0 "
                        "(where_index) decides in a run; want ones that are known before, or "
                        "--backend=reference"));
}

TEST(RunShapes, AreNotKept) {
  EXPECT_THAT(OpDifferences(R"(program version=2006002
      block 0 {
        var places i64[-1,2] persistable
        where_index(Condition=c) -> (Out=places)
      })",
                            kCondition),
              HasSubstr("variable \"places\" is kept and block 0, op 0 (where_index) decides its "
                        "extents in a run; want a variable that is fetched"));
}

// The path is as long as the longest sequence, so that its rows are shorter than in the plan.
TEST(RunShapes, AreRefusedWhereRowsAreShorter) {
  for (const char* reader :
       {"gather(X=p, Index=i) -> (Out=y)",
        "split_lod_tensor(X=p, Mask=m) -> (OutTrue=y, OutFalse=n) {level=0}",
        "write_to_array(X=p, I=i) -> (Out=a)\nread_from_array(X=a, I=i) -> (Out=b)\n"
        "gather(X=b, Index=i) -> (Out=y)",
        "slice(Input=p) -> (Out=y) {axes=[1], starts=[0], ends=[1]}",
        "cast(X=p) -> (Out=f) {in_dtype=3, out_dtype=5}\nsoftmax(X=f) -> (Out=y)",
        "cast(X=p) -> (Out=f) {in_dtype=3, out_dtype=5}\nlayer_norm(X=f) -> (Y=y, Mean=u, "
        "Variance=v) {begin_norm_axis=1}"}) {
    SCOPED_TRACE(reader);
    EXPECT_THAT(OpDifferences(absl::StrCat(R"(program version=2006002
      block 0 {
        var a tensor_array i64[-1,3]
        viterbi_decode(Input=x, Transition=t, Length=l) -> (Scores=s, Path=p) {
          include_bos_eos_tag=false}
        )",
                                           reader, "\n}"),
                              absl::StrCat(Drawn("x", {2, 3, 2}), Drawn("t", {2, 2}),
                                           "l i64[2] 1 2\ni i64[1] 0\nm bool[2] 0 1\n"),
                              0, {"y"}),
                HasSubstr("an input is [2, 2]; want rows of [3]"));
  }
}

// By the first op that reads them, in whichever slots.
TEST(RunShapes, HaveTheirRowsCheckedOnce) {
  const Program program = ParsedProgram(R"(program version=2006002
      block 0 {
        viterbi_decode(Input=x, Transition=t, Length=l) -> (Scores=s, Path=p) {
          include_bos_eos_tag=false}
        cast(X=p) -> (Out=f) {in_dtype=3, out_dtype=5}
        softmax(X=f) -> (Out=q)
        slice(Input=f) -> (Out=first) {axes=[1], starts=[0], ends=[1]}
        sum(X=[f, q, q]) -> (Out=y)
      })");
  Scope scope = *ParseParameters(
      absl::StrCat(Drawn("x", {2, 3, 2}), Drawn("t", {2, 2}), "l i64[2] 1 3\n"), "values");
  const auto executor = Executor::Create(program, &scope);
  ASSERT_TRUE(executor.ok()) << executor.status();
  const auto plan = (*executor)->PlanOf({}, {"first", "y"});
  ASSERT_TRUE(plan.ok()) << plan.status();
  std::vector<std::string> checks;
  for (const Step& step : (*plan)->steps) {
    if (step.name != "check rows") continue;
    checks.push_back(absl::StrJoin(step.reads, ", ", [&](std::string* text, Buffer read) {
      absl::StrAppend(text, (*plan)->buffers[read.index].name);
    }));
  }
  EXPECT_THAT(checks, ElementsAre("viterbi_decode.dims of Path",
                                  "viterbi_decode.dims of Path, softmax.dims of q"));
}

// Another tensor of the array has two levels.
TEST(RunShapes, MayHaveFewerLevelsInTheRun) {
  EXPECT_EQ(OpDifferences(R"(program version=2006002
      block 0 {
        var a tensor_array f32[-1,1]
        write_to_array(X=two, I=zero) -> (Out=a)
        write_to_array(X=one, I=first) -> (Out=a)
        read_from_array(X=a, I=first) -> (Out=y)
        lod_reset(X=x, Y=y) -> (Out=z)
        scale(X=z) -> (Out=w) {scale=2.0}
      })",
                          "two f32[2,1] lod={0,1}{0,2} 1 2\none f32[2,1] lod={0,1,2} 3 4\n"
                          "x f32[2,1] 5 6\nzero i64[1] 0\nfirst i64[1] 1\n",
                          0, {"z", "w"}),
            "");
}

TEST(RunShapes, AnIndexMayNotGoBeyondTheRowsThatThereAre) {
  EXPECT_THAT(OpDifferences(R"(program version=2006002
      block 0 {
        where_index(Condition=c) -> (Out=places)
        gather(X=places, Index=place) -> (Out=row)
      })",
                            std::string(kCondition) + "place i32[1] 3\n"),
              HasSubstr("Index has 3; want 0 to 2"));
}

}  // namespace
}  // namespace fixpoint::executor
